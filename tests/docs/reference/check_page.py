"""check_page.py index.html: elements nest, each id is unique, each link leads to an id, the page loads
nothing from elsewhere, no placeholder of the build is left, and the page begins with runtime.h."""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

EMPTY = {"meta", "input", "br", "link"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.findings = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in EMPTY:
            self.open.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "p" and "p" in self.open[:-1]:
            self.findings.append(f"line {self.getpos()[0]}: a paragraph in a paragraph")
        if "href" in attributes:
            self.links.append(attributes["href"])
        if "src" in attributes or tag == "link":
            self.findings.append(f"line {self.getpos()[0]}: <{tag}> loads something")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.findings.append(f"line {self.getpos()[0]}: </{tag}> closes another element")

    def close(self):
        super().close()
        self.findings += [f"<{tag}> is not closed" for tag in self.open]
        self.findings += [f"the id {name} stands twice" for name in set(self.ids) if self.ids.count(name) > 1]
        self.findings += [f"the link {link} leads nowhere" for link in sorted(set(self.links))
                          if link[1:] not in self.ids]
        if len(self.ids) < 100:
            self.findings.append(f"there are only {len(self.ids)} ids: is this the reference?")


text = Path(sys.argv[1]).read_text()
page = Page()
page.feed(text)
page.close()
page.findings += [f"{name} is what the build fills in" for name in re.findall(r"@[A-Z_]\w*@", text)]
if not re.search(r"Start with <a href=\"#tickwheel/runtime\.h\">.*?<article id=\"tickwheel/runtime\.h\">", text, re.S) or \
        text.index("<article") != text.index('<article id="tickwheel/runtime.h">'):
    page.findings.append("the page does not begin with runtime.h, and a sentence that says so")
print("\n".join(page.findings) if page.findings else f"the page is right: {len(page.ids)} places, {len(page.links)} links")
sys.exit(bool(page.findings))
