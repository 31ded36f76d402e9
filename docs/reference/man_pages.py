"""Man pages of section 3, in the macros of man(7): one for each C function, or for those that share a
comment; and one for each header, with its conventions and types."""
import re

from headers import groups_of

# What may begin a sentence right after the end of another.
BETWEEN_SENTENCES = re.compile(r"(?<=[\w)`*][.?])\s+(?=[A-Z`])")
NAME = re.compile(r"`([^`]*)`|\b(tw_\w+|TW_\w+|tickwheel\w*\(3\))|(?<![\w-])(-E[A-Z0-9]+)")


def page_of(header):
    """tickwheel/tw.h has the page tickwheel(3), tickwheel/runtime.h the page tickwheel_runtime(3)."""
    stem = header.path.removesuffix(".h").removeprefix("tickwheel/")
    return "tickwheel" if stem == "tw" else "tickwheel_" + stem


def escaped(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    return re.sub(r"^([.'])", r"\\&\1", text.replace("^", r"\(ha").replace("~", r"\(ti"), flags=re.M)


def words(text):
    """A sentence of a comment, names in bold."""
    result, at = "", 0
    for found in NAME.finditer(text):
        result += escaped(text[at:found.start()]) + rf"\fB{escaped(found[1] or found[2] or found[3])}\fP"
        at = found.end()
    return result + escaped(text[at:])


def lines(text):
    return [words(sentence) for sentence in BETWEEN_SENTENCES.split(text)]


class Page:
    def __init__(self, name, brief, edition):
        brief = brief.replace("`", "")
        self.begin = [f'.TH {escaped(name).upper()} 3 {edition} "Tickwheel Manual"', ".SH NAME",
                      rf"{escaped(name)} \- {escaped(brief[:1].lower() + brief[1:])}"]
        self.lines = []

    def section(self, title, kind="SH"):
        self.lines.append(f'.{kind} {escaped(title)}')

    def paragraph(self, text):
        self.lines += [".PP", *lines(text)]

    def code(self, text):
        self.lines += [".PP", ".RS 4", ".nf", *escaped(text).split("\n"), ".fi", ".RE"]

    def define(self, term, text):
        self.lines += [".TP", f".B {escaped(term)}", *(lines(text) if text else [r"\&"])]

    def blocks(self, blocks):
        for kind, *content in blocks:
            {"text": self.paragraph, "code": self.code, "define": self.define}[kind](*content)

    def declarations(self, items):
        self.lines.append(".nf")
        for item in items:
            self.lines += escaped(broken(item.declaration) + (";" if item.kind != "macro" else "")).split("\n")
        self.lines.append(".fi")

    def see_also(self, names):
        self.section("SEE ALSO")
        names = list(dict.fromkeys(names))
        self.lines += [f".BR {escaped(name)} (3){'' if name == names[-1] else ','}" for name in names]

    def text(self):
        text = "\n".join(self.begin + self.lines) + "\n"
        text = re.sub(r"(\.S[HS] .*\n)\.PP\n", r"\1", text)  # a section begins a paragraph
        text = re.sub(r"\n\n+", "\n.sp\n", text)             # blank lines of code
        return re.sub(r"(\n\.PP)(?=\n\.(PP|TP|SH))", "", text)


def broken(declaration):
    """A declaration on lines of 72 columns."""
    lines = [""]
    for piece in re.split(r"(?<=,) ", declaration):
        if len(lines[-1]) + len(piece) > 72 and lines[-1]:
            lines.append(" " * 4)
        lines[-1] += (" " if lines[-1].strip() else "") + piece
    return "\n".join(lines)


def brief_of(comment):
    """The gist of a comment's first sentence."""
    text = next((block[1] for block in comment.blocks if block[0] == "text"), "")
    gist = re.split(r"(?<=[\w)`])[.:;](?= |$)", text.removeprefix("In a callback: "))[0]
    return re.split(r",? (?:and|so that|unless|if) (?=\S+ \S+)", gist)[0] if len(gist) > 90 else gist


def results_in(comment):
    """(the text without its sentences on results, those sentences). A text of results alone stays."""
    blocks, results = [], []
    for block in comment.blocks:
        if block[0] == "text":
            sentences = BETWEEN_SENTENCES.split(block[1])
            found = [sentence for sentence in sentences if re.match(r"Returns\b|In a callback: returns", sentence)]
            results += found
            rest = [sentence for sentence in sentences if sentence not in found]
            blocks += [["text", " ".join(rest)]] if rest else []
        else:
            blocks.append(block)
    if not results:
        results = [sentence for block in blocks if block[0] == "text"
                   for sentence in BETWEEN_SENTENCES.split(block[1]) if re.search(r"\breturns\b", sentence)]
    return (blocks if any(block[0] == "text" for block in blocks) else comment.blocks), results


def is_error(block):
    return block[0] == "define" and re.match(r"-E|others$", block[1])


def function_page(group, header, conventions, pages, edition):
    comment = group[0].comment
    page = Page(", ".join(function.name for function in group), brief_of(comment), edition)
    page.begin[0] = Page(group[0].name, "", edition).begin[0]
    page.section("SYNOPSIS")
    page.lines += [f".B #include <{escaped(header.path)}>", ".PP"]
    page.declarations(group)
    blocks, results = results_in(comment)
    page.section("DESCRIPTION")
    page.blocks(block for block in blocks if not is_error(block))
    if results:
        page.section("RETURN VALUE")
        page.paragraph(" ".join(results))
        if any(function.must_check for function in group):
            page.paragraph("The compiler warns where a program ignores the result.")
    own = [block[1:] for block in blocks if is_error(block)]
    if own or re.match(r"(int|int64_t) ", group[0].declaration) and conventions.errors:
        page.section("ERRORS")
        for term, text in own:
            page.define(term, text.removeprefix("also: "))
        if conventions.errors:
            page.paragraph(f"As all functions of <{header.path}>:")
        for term, text in conventions.errors.items():
            page.define(term, text)
    named = [name for name in re.findall(r"\btw_\w+", comment.text()) if name in pages and name not in pages[group[0].name]]
    page.see_also([*named, page_of(header)])
    return page.text()


def header_page(header, groups, edition):
    page = Page(page_of(header), header.brief, edition)
    page.section("SYNOPSIS")
    page.lines.append(f".B #include <{escaped(header.path)}>")
    page.section("DESCRIPTION")
    begins_with_brief = header.comment.blocks[0] == ["text", header.brief + "."]
    page.blocks(header.comment.blocks[begins_with_brief:])
    for item in header.items:
        if item.kind == "section":
            page.section(item.name[0].upper() + item.name[1:], "SS")
        elif item.kind == "note":
            page.blocks(item.comment.blocks)
        elif item.kind == "function" and not item.shares:
            group = next(group for group in groups if group[0] is item)
            page.lines += [".TP", ", ".join(rf"\fB{escaped(function.name)}\fP(3)" for function in group),
                           words(brief_of(item.comment))]
        elif item.kind != "function":
            add_type(page, item)
    page.see_also([group[0].name for group in groups] or ["tickwheel"])
    return page.text()


def add_type(page, item):
    page.lines.append(".PP")
    page.declarations([item])
    page.blocks(item.comment.blocks)
    if item.members:
        page.lines.append(".RS 4")
        for member in item.members:
            page.lines += [".TP", f".B {escaped(member.declaration)}"]
            texts = [text for block in member.comment.blocks for text in block[-1].split("\n")]
            page.lines += [line for text in texts if text.strip() for line in lines(text)] or [r"\&"]
        page.lines.append(".RE")


def man_pages(headers, conventions, edition):
    """({name of a file: its text}, {name of a link: the file that it stands for})."""
    groups = {header.path: groups_of(header.items) for header in headers}
    pages = {function.name: [each.name for each in group]
             for of_header in groups.values() for group in of_header for function in group}
    files, links = {}, {}
    for header in headers:
        files[page_of(header) + ".3"] = header_page(header, groups[header.path], edition)
        for group in groups[header.path]:
            first = group[0].name
            files[first + ".3"] = function_page(group, header, conventions[header.path], pages, edition)
            links |= {function.name + ".3": first + ".3" for function in group[1:]}
    return files, links
