"""Reads the public headers: declarations, and the comments that belong to them.

A comment belongs to the declaration right under it, or on the line where a declaration ends. One with a
blank line under it stands alone: a Note. Declarations without a blank line between them share the comment
above the first. Bodies of functions, private members, and what is in a namespace `detail` are left out.

Within a comment, a line that is indented by two or three spaces and reads "term  text" defines the term:
an error, or a convention. Text that is indented further, and continues no definition, is code.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Comment:
    """Blocks of text: ("text", words), ("code", lines) or ("define", term, words)."""
    blocks: list = field(default_factory=list)

    def text(self):
        return "\n".join(" ".join(block[1:]) for block in self.blocks)

    def definitions(self):
        return [block[1:] for block in self.blocks if block[0] == "define"]

    def errors(self):
        """The errors that it names, in a list of their own: {"-EINVAL": text}."""
        return {name: text for term, text in self.definitions() for name in re.findall(r"-E[A-Z0-9]+", term)}


@dataclass
class Item:
    kind: str         # function, type, enumerator, member, macro, alias, concept, note or section
    name: str
    declaration: str  # as in the header, without a body
    line: int
    comment: Comment
    shares: bool = False  # the comment is that of the item before
    members: list = field(default_factory=list)
    must_check: bool = False


@dataclass
class Header:
    path: str  # as programs include it
    brief: str
    comment: Comment
    items: list

    def functions(self):
        return [item for item in self.items if item.kind == "function"]


# --- comments ------------------------------------------------------------------------------

DEFINITION = re.compile(r"^ {2,3}(-E[A-Z0-9]+(?:, -E[A-Z0-9]+)*|[\w-]+(?:, [\w-]+)*)(?:  +(\S.*)|$)")


def bare_lines(raw):
    """The lines of a comment without its marks, indented as within it."""
    if raw.startswith("//"):
        return [re.sub(r"^\s*// ?", "", line).rstrip() for line in raw.split("\n")]
    lines = re.sub(r"\s*\*/$", "", raw).split("\n")
    return [lines[0][2:].strip()] + [re.sub(r"^\s*(\* ?)?", "", line).rstrip() if "*" in line[:8]
                                     else line.strip() for line in lines[1:]]


def parse_comment(raw):
    comment = Comment()
    blocks, is_open = comment.blocks, False
    for line in bare_lines(raw):
        indent = len(line) - len(line.lstrip())
        words = line.strip()
        found = DEFINITION.match(line)
        last = blocks[-1] if blocks else None
        if not words:
            is_open = False
            if last and last[0] == "code":
                last[1] += "\n"
        elif found:
            blocks.append(["define", found[1], found[2] or ""])
            is_open = True
        elif last and last[0] == "define" and is_open and indent > 3:
            last[2] = f"{last[2]} {words}".strip()
        elif indent > 3:
            if last and last[0] == "code":
                last[1] += "\n" + line
            else:
                blocks.append(["code", line])
            is_open = True
        elif last and last[0] == "text" and is_open:
            last[1] += " " + words
        else:
            blocks.append(["text", words])
            is_open = True
    for block in blocks:
        if block[0] == "code":
            block[1] = dedented(block[1])
    return comment


def dedented(code):
    lines = code.rstrip().split("\n")
    least = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "\n".join(line[least:] for line in lines)


# --- declarations --------------------------------------------------------------------------

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|/\*.*?\*/|//[^\n]*|.', re.S)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*", re.S)
DIRECTIVE = re.compile(r"#(?:[^\n]*\\\n)*[^\n]*")
TYPE = re.compile(r"(?:typedef )?(class|struct|union|enum(?: class)?)\b\s*(?:\[\[.*?\]\]\s*)?(\w+(?:<.*?>)?)?[^()=]*$", re.S)
HIDDEN = "(anonymous)"


class Reader:
    """Goes through one header, or through the body of one type in it."""

    def __init__(self, text, first_line=1):
        self.text, self.first_line = text, first_line
        self.at, self.items = 0, []
        self.pending = None  # the comment that waits for its declaration
        self.is_public = True

    def read(self):
        while self.at < len(self.text):
            space = re.compile(r"\s*").match(self.text, self.at)
            if space[0].count("\n") > 1:
                self.end_paragraph()
            self.at = space.end()
            if self.at < len(self.text):
                self.read_one()
        self.end_paragraph()
        return self.items

    def read_one(self):
        rest = self.text[self.at:self.at + 2]
        if rest in ("/*", "//"):
            self.read_comment()
        elif rest[0] == "#":
            self.read_directive()
        elif access := re.compile(r"(public|private|protected)\s*:(?!:)").match(self.text, self.at):
            self.is_public = access[1] == "public"
            self.at = access.end()
        elif end := re.compile(r"[};]([ \t]*// namespace.*)?").match(self.text, self.at):
            self.at = end.end()  # of a namespace or of extern "C"
        else:
            self.read_declaration()

    def line(self, at):
        return self.first_line + self.text.count("\n", 0, at)

    def read_comment(self):
        trails = self.last and "\n" not in self.text[self.end_of_last:self.at] and not self.pending
        found = COMMENT.match(self.text, self.at)
        if trails and found[0].startswith("//"):  # the comment of the next line is another
            column = self.at - self.text.rfind("\n", 0, self.at)
            lines = found[0].split("\n")
            last = 1
            while last < len(lines) and lines[last].find("//") + 1 >= column - 1 > 8:
                last += 1
            self.at += len("\n".join(lines[:last]))
            self.last.comment.blocks += parse_comment("\n".join(lines[:last])).blocks
            return
        self.at = found.end()
        if trails:
            self.last.comment.blocks += parse_comment(found[0]).blocks
        else:
            self.pending = (found[0], self.line(found.start()))

    last = None  # the last declaration, and where it ended
    end_of_last = 0
    follows = False  # a function with a comment above it, without a blank line between

    def end_paragraph(self):
        self.follows = False
        if self.pending and self.is_public:
            raw, line = self.pending
            section = re.match(r"/\* --- (.*?) -+ \*/$", raw)
            kind, name = ("section", section[1]) if section else ("note", "")
            self.items.append(Item(kind, name, "", line, Comment() if section else parse_comment(raw)))
        self.pending = None

    def add(self, kind, name, declaration, start, members=(), must_check=False):
        shares = not self.pending and self.follows and kind == "function" and "= delete" not in declaration
        comment = Comment()
        if shares:
            comment = self.items[-1].comment
        elif self.pending:
            comment = parse_comment(self.pending[0])
        # Without a comment of its own, it may be the other branch of an #if.
        is_again = not self.pending and any(
            item.name == name and (item.kind == kind != "function" or declaration.endswith(item.declaration))
            for item in self.items)
        self.last = Item(kind, name, declaration, self.line(start), comment, shares, list(members), must_check)
        if self.is_public and name != HIDDEN and not is_again:
            self.items.append(self.last)
        self.follows = self.is_public and kind == "function" and (shares or self.pending is not None)
        self.pending, self.end_of_last = None, self.at

    def read_directive(self):
        start = self.at
        found = DIRECTIVE.match(self.text, start)
        macro = re.match(r"#\s*define\s+(\w+)(\([^)]*\))?(.*)", found[0], re.S)
        if not macro:
            self.at = found.end()
            return
        body, mark, _ = macro[3].partition("/*")
        body = re.sub(r"@\w+@", "", body)  # what the build fills in
        self.at = found.end() - (len(mark) + len(_) if mark else 0)
        is_guard = not macro[3].strip() and not self.pending
        if not is_guard:
            self.add("macro", macro[1], "#define " + macro[1] + (macro[2] or "") + body.rstrip(), start)

    def read_declaration(self):
        start, depth, text = self.at, 0, ""
        while self.at < len(self.text):
            token = TOKEN.match(self.text, self.at)[0]
            self.at += len(token)
            if token[:2] in ("/*", "//"):
                continue
            if token in "([":
                depth += 1
            elif token in ")]":
                depth -= 1
            elif token == ";" and depth == 0:
                return self.declare(start, text)
            elif token == "{" and depth == 0:
                if self.open_brace(start, text):
                    return None
                text += self.skip_braces()
                continue
            text += token
        return None

    def open_brace(self, start, text):
        """At a brace: True if the declaration ends with it."""
        if re.match(r'namespace\b|extern\s+"C"\s*$', text):
            self.pending = None
            if re.search(r"\bdetail\b", text):
                self.skip_braces()
                self.at = self.text.index("\n", self.at)  # its name once more, in a comment
            return True
        if re.search(r"\brequires(\s*\([^()]*\))?\s*$", text):
            return False
        if found := TYPE.match(without_template(text)):
            self.read_type(start, text, found)
            return True
        if "(" in text and not re.search(r"=\s*$", text):  # a function
            self.skip_braces()
            self.declare(start, text)
            return True
        return False

    def skip_braces(self):
        """Goes past the closing brace, and returns what is skipped."""
        start, depth = self.at, 1
        while depth > 0:
            token = TOKEN.match(self.text, self.at)[0]
            self.at += len(token)
            depth += (token == "{") - (token == "}")
        return "{" + self.text[start:self.at]

    def read_type(self, start, text, found):
        inner = self.at
        body = self.skip_braces()[1:-1]
        name, first_line = found[2] or "", self.line(inner)
        rest = re.compile(r"\s*(\w*)\s*;?").match(self.text, self.at)
        self.at = rest.end()
        if found[1].startswith("enum"):
            members = enumerators(body, first_line)
        else:
            reader = Reader(body, first_line)
            reader.is_public = found[1] != "class"
            members = reader.read()
        self.add("type", name or rest[1], " ".join(text.split()), start, members)

    def declare(self, start, text):
        flat = " ".join(re.sub(r"\sTW_LINKED_AS\(.*", "", text, flags=re.S).split())
        flat, marks = re.subn(r"(TW_MUST_CHECK|\[\[nodiscard\]\]) ", "", flat)
        if re.match(r"(friend|static_assert)\b", without_template(flat)):
            self.pending = None
            return
        kind, name = kind_and_name(flat)
        if kind == "function":
            flat = re.sub(r"\)\s*((?:const|noexcept)?)\s*:\s.*", r") \1", flat).strip()
        self.add(kind, name, tidy(flat), start, must_check=marks > 0)


def without_template(text):
    """What follows the template parameters, and the expression that they require."""
    while found := re.match(r"\s*template\s*<", text):
        depth, at = 1, found.end()
        while depth > 0:
            depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] != "-")
            at += 1
        text = text[at:].lstrip()
    return re.sub(r"^requires requires ?\(.*?\) ?\{.*?; \} ", "", text)


def kind_and_name(flat):
    head = re.sub(r"\[\[.*?\]\]|__attribute__\(\(.*?\)\)", "", without_template(flat)).strip()
    if found := re.match(r"typedef .*?\b(\w+)(?:\(.*)?$", head):
        return "alias", found[1]
    if found := re.match(r"using (\w+) =|using .*::(\w+)$", head):
        return "alias", found[1] or found[2]
    if found := re.match(r"concept (\w+)", head):
        return "concept", found[1]
    if re.fullmatch(r"(struct|class|union) \w+", head):
        return "type", head.split()[-1]
    if found := re.search(r"\(\*(\w+)\)\(", head):
        return "member", found[1]
    plain = head
    while "<" in plain and plain != (plain := re.sub(r"<[^<>]*>", "", plain)):
        pass
    if found := re.match(r"[^=]*?(~?\w+|operator\(\)|operator[^\w\s(]+)\s*\(", plain):
        return "function", found[1]
    if found := re.search(r"(\w+)(\[\w*\])?\s*(= ?.*|\{.*)?$", head):
        return "member", found[1]
    return "member", HIDDEN


def tidy(flat):
    return re.sub(r"\s+([,;)])", r"\1", flat)


def enumerators(body, first_line):
    items = []
    for found in re.finditer(r"(\w+)(\s*=\s*[^,/]+?)?\s*(?:,|(?=/)|$)\s*(/\*.*?\*/|(?://[^\n]*\n?\s*)+)?", body, re.S):
        comment = parse_comment(found[3].rstrip()) if found[3] else Comment()
        line = first_line + body.count("\n", 0, found.start())
        items.append(Item("enumerator", found[1], found[1] + (found[2] or "").rstrip(), line, comment))
    return items


# --- headers -------------------------------------------------------------------------------


def read_header(root, path):
    text = (Path(root) / path).read_text()
    head = COMMENT.search(text)
    comment = parse_comment(head[0])
    brief = comment.blocks[0][1].removeprefix(path + " - ")
    comment.blocks[0] = ["text", brief]
    items = Reader(text[head.end():], 1 + text.count("\n", 0, head.end())).read()
    return Header(path.removesuffix(".in"), re.split(r"[.:] |\.$", brief)[0], comment, items)


def read_headers(*roots):
    """All headers that programs include and that declare something: runtime.h, where most readers begin, then by their
    paths, those in C first. (port.h is for ports, and docs/PORTING.md explains it.)"""
    roots = {str(path.relative_to(root)): root for root in roots for path in Path(root).rglob("*")
             if re.search(r"\.(h|h\.in|hpp)$", path.name)}
    paths = sorted(roots)
    paths.sort(key=lambda path: (path != "tickwheel/runtime.h", path.endswith("pp"), path.count("/")))
    headers = [read_header(roots[path], path) for path in paths if path != "tickwheel/port.h"]
    explained = {item.name for header in headers for item in header.items if item.comment.blocks or item.members}
    for header in headers:  # without the types that it only announces
        header.items = [item for item in header.items if item.kind != "type" or item.comment.blocks or item.members
                        or item.name not in explained]
        header.items = [item for item in header.items if not item.comment.text().startswith("Internal")]
    return [header for header in headers if header.items or header.comment.definitions()]


@dataclass
class Conventions:
    """What holds for all functions of a header."""
    arguments: set  # names of parameters that need no further words
    errors: dict


def conventions_of(header, headers):
    """Those at the head of the header, and of the one that it refers to."""
    found = Conventions(set(), dict(header.comment.errors()))
    for term, text in header.comment.definitions():
        if term == "Arguments":
            found.arguments |= set(re.findall(r"`(\w+)`", text))
    for name in re.findall(r"Conventions are those of (\w+\.h)\b", header.comment.text()):
        more = conventions_of(next(each for each in headers if each.path.endswith("/" + name)), headers)
        found.arguments |= more.arguments
        found.errors = more.errors | found.errors
    return found


def groups_of(items):
    """The functions, those together that share a comment."""
    groups = []
    for item in items:
        if item.kind == "function":
            if item.shares:
                groups[-1].append(item)
            else:
                groups.append([item])
    return groups
