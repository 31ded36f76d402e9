"""check_phone.py index.html: on a phone, in Chromium, the sticky header covers no title that the reader has
jumped to, by a link or from the search."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "docs/report"))

from chromium import Chromium  # noqa: E402: the path above

WIDTH = 390

HIDDEN = """(place => {
  const element = document.getElementById(place);
  const title = element.closest("section, article").querySelector("h2, h4");
  const head = document.querySelector("body > header");
  const covered = getComputedStyle(head).position === "sticky" ? head.getBoundingClientRect().bottom : 0;
  return covered - title.getBoundingClientRect().top;
})"""


def main():
    findings = []
    with Chromium() as browser:
        browser.size(WIDTH)
        browser.open(Path(sys.argv[1]).resolve())
        for place in ("tw_runtime_postpone", "tw_arm_at", "tickwheel/timers.h"):
            browser.value(f"location.hash = '#{place}'")
            by_link = browser.value(f"new Promise(done => setTimeout(() => done({HIDDEN}('{place}')), 100))")
            browser.value("""(query.value = '%s', query.dispatchEvent(new Event('input')),
                          results.querySelector('a').click())""" % place)
            by_search = browser.value(f"new Promise(done => setTimeout(() => done({HIDDEN}('{place}')), 100))")
            for way, hidden in (("a link", by_link), ("the search", by_search)):
                if hidden > 0:
                    findings.append(f"{place}, by {way}: the header covers the title's first {hidden:.0f} px")
        wide = browser.value("document.documentElement.scrollWidth")
        if wide > WIDTH:
            findings.append(f"the page is {wide} px wide")
        findings += browser.complaints
    print("\n".join(findings) if findings else f"the page is right on a phone of {WIDTH} px")
    return bool(findings)


sys.exit(main())
