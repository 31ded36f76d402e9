"""The HTML reference: all headers on one page, which searches itself and needs nothing from elsewhere."""
import html
import json
import re
from pathlib import Path
from string import Template

HERE = Path(__file__).resolve().parent
WORD = re.compile(r"`([^`]*)`|(?<![\w.-])(-E[A-Z0-9]+)|\b([a-z_]+(?:/[a-z_]+)?\.hpp|[a-z_]+(?:/[a-z_]+)?\.h)\b|\b(\w{3,})\b")
KINDS = {"alias": "type", "enumerator": "constant", "member": "constant"}


class Linker:
    """Knows what has a place on the page."""

    def __init__(self, headers):
        self.places = {}
        for header in headers:
            self.places.setdefault(header.path.removeprefix("tickwheel/"), header.path)
            for item in header.items:
                self.add(item, place_of(item, header))

    def add(self, item, place):
        if item.name and (item.name.startswith(("tw_", "TW_")) or item.kind == "type"):
            if item.comment.blocks or item.name not in self.places:
                self.places[item.name] = place
        if item.declaration.startswith("enum"):
            for member in item.members:
                self.places.setdefault(member.name, place)

    def linked(self, name, here):
        place = self.places.get(name)
        shown = html.escape(name, quote=False)
        return f'<a href="#{place}">{shown}</a>' if place and place != here else shown

    def words(self, text, here=""):
        """Words of a comment, with code marked and names linked."""
        result, at = "", 0
        for found in WORD.finditer(text):
            code, error, header, name = found.groups()
            result += html.escape(text[at:found.start()], quote=False)
            if code is not None:
                result += f"<code>{self.linked(code, here)}</code>"
            elif error:
                result += f"<code>{error}</code>"
            elif header or name.startswith(("tw_", "TW_")):
                result += f"<code>{self.linked(header or name, here)}</code>"
            else:
                result += html.escape(found[0], quote=False)
            at = found.end()
        return result + html.escape(text[at:], quote=False)

    def code(self, text, here=""):
        return re.sub(r"\b(?:tw|TW)_\w+", lambda found: self.linked(found[0], here), html.escape(text, quote=False))

    def blocks(self, blocks, here=""):
        result, last = "", ""
        for kind, *content in blocks:
            if (kind == "define") != (last == "define"):
                result += "<dl>" if kind == "define" else "</dl>" if last else ""
            if kind == "text":
                result += f"<p>{self.words(content[0], here)}</p>"
            elif kind == "code":
                result += f"<pre>{self.code(content[0], here)}</pre>"
            else:
                result += f"<dt>{self.words(content[0], here)}</dt><dd>{self.words(content[1], here)}</dd>"
            last = kind
        return result + ("</dl>" if last == "define" else "")


def place_of(item, header):
    unique = item.name if header.path.endswith(".h") and header.path.count("/") == 1 else ""
    return unique or f"{header.path}-{item.line}"


def show_members(item, link, here):
    if not item.members:
        return ""
    rows = ""
    for member in item.members:
        mark = "<p class=note>The compiler warns if the result is ignored.</p>" if member.must_check else ""
        rows += f'<dt id="{here}-{member.line}-{member.name}"><code>{link.code(member.declaration, here)}</code></dt>'
        rows += f"<dd>{link.blocks(member.comment.blocks, here) if not member.shares else ''}{mark}"
        rows += show_members(member, link, here) + "</dd>"
    return f"<dl class=members>{rows}</dl>"


def show_item(group, header, link):
    item, here = group[0], place_of(group[0], header)
    if item.kind == "section":
        return f"<h3>{html.escape(item.name)}</h3>"
    if item.kind == "note":
        return f"<div>{link.blocks(item.comment.blocks)}</div>"
    declarations = "\n".join(link.code(each.declaration, here) + ("" if each.kind == "macro" else ";") for each in group)
    anchors = "".join(f'<a id="{place_of(each, header)}"></a>' for each in group[1:])
    mark = "<p class=note>The compiler warns if the result is ignored.</p>" if item.must_check else ""
    return f'<section id="{here}">{anchors}<h4><a href="#{here}">{html.escape(", ".join(each.name for each in group))}</a>' \
        f"</h4><pre>{declarations}</pre>{link.blocks(item.comment.blocks, here)}{mark}" \
        f"{show_members(item, link, here)}</section>"


def show_header(header, link):
    groups = []
    for item in header.items:
        if item.shares:
            groups[-1].append(item)
        else:
            groups.append([item])
    return f'<article id="{header.path}"><h2>&lt;{header.path}&gt;</h2>{link.blocks(header.comment.blocks)}' \
        + "".join(show_item(group, header, link) for group in groups) + "</article>"


def entries(headers):
    """What the search knows: [name, kind, header, text, place]."""
    found = []

    def add(item, name, header, place):
        text = " ".join(item.comment.text().split())
        found.append([name, KINDS.get(item.kind, item.kind), header.path, text, place])

    for header in headers:
        found.append([header.path, "header", header.path, header.brief, header.path])
        for item in header.items:
            if item.kind in ("section", "note"):
                continue
            place = place_of(item, header)
            if item.name:
                add(item, item.name, header, place)
            for member in item.members:
                is_plain = member.kind == "enumerator" and header.path.endswith(".h")
                name = member.name if is_plain else f"{item.name}{'.' if header.path.endswith('.h') else '::'}{member.name}"
                add(member, name, header, f"{place}-{member.line}-{member.name}")
    return found


def html_page(headers, version):
    link = Linker(headers)
    contents = "".join(f'<li><a href="#{header.path}">{header.path.removeprefix("tickwheel/")}</a></li>' for header in headers)
    index = json.dumps(entries(headers), separators=(",", ":")).replace("</", "<\\/")
    return Template((HERE / "page.html").read_text()).substitute(
        version=version, contents=contents, index=index, search=(HERE / "search.js").read_text(),
        headers="".join(show_header(header, link) for header in headers))
