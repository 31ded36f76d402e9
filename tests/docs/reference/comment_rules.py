"""comment_rules.py ROOT HEADERS ERRORS CODE...: what the comments of the C headers have to say, of each function:

  - there is a comment;
  - it names each parameter, unless the header's conventions do, at "Arguments", in `backticks`;
  - it says what the function returns, unless that is void: "Returns", and not merely "as tw_other" does;
  - it names the errors that the code can return, unless the conventions do, and no others.

Prints each function that breaks a rule, and fails if there is one. HEADERS (one or more, with commas) and CODE are folders
in ROOT. The script searches the text of the code for the errors that it returns; the file ERRORS corrects
that where the text misleads. "Conventions are those of X.h" at the head of a header passes the conventions
on.
"""
import errno
import fnmatch
import functools
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent / "docs/reference"))
from headers import conventions_of, read_headers  # noqa: E402

# --- what a comment says -------------------------------------------------------------------


def parameters(declaration):
    inside = declaration[declaration.index("(") + 1:declaration.rindex(")")]
    return re.findall(r"(\w+)(?=,|$)", inside) if inside != "void" else []


def returns_errors(function):
    return re.match(r"(int|int64_t) ", function.declaration)


def findings_in_text(function, conventions):
    text = function.comment.text()
    if not text:
        yield "has no comment"
        return
    for name in parameters(function.declaration):
        if name not in conventions.arguments and not re.search(rf"\b{name}\b", text):
            yield f"does not mention its parameter {name}"
    is_void = re.match(r"(static inline )?void [^*]", function.declaration)
    if not is_void and not re.search(r"\breturns\b", text, re.I):
        yield "does not say what it returns"
    if run_on := re.search(r"\S (-E[A-Z]+)  \S", text):
        yield f"has {run_on[1]} in its text, where a list was meant"
    for reference in re.findall(r"\b(?:returns|results?|errors|values) as tw_\w+", text, re.I):
        yield f'only refers to what it returns: "{reference}"'


def findings_in_errors(function, conventions, code, exceptions):
    """`code` is {error: where it is returned}."""
    own = function.comment.errors()
    if not returns_errors(function):
        code = {}
    for error, where in sorted(code.items()):
        if error not in own.keys() | conventions.errors.keys() and not exceptions.has("-", function.name, error):
            yield f"does not name {error} ({where})"
    for error in sorted(own.keys() - code.keys()):
        if not exceptions.has("+", function.name, error):
            yield f"names {error}, which nothing in the code returns"


class Exceptions:
    """The file ERRORS. A line that makes no difference is an error itself."""

    def __init__(self, path):
        self.lines = [line.split(None, 3) for line in path.read_text().splitlines() if line and line[0] in "+-"]
        self.unused = {(sign, names, error) for sign, names, errors, _ in self.lines for error in errors.split(",")}

    def has(self, sign, function, error):
        found = False
        for line_sign, names, errors, _ in self.lines:
            is_meant = any(fnmatch.fnmatch(function, name) for name in names.split(","))
            if line_sign == sign and is_meant and error in errors.split(","):
                self.unused.discard((sign, names, error))
                found = True
        return found


# --- what the code returns -----------------------------------------------------------------

ERRORS = {name for name in dir(errno) if name.startswith("E")}
DEFINITION = re.compile(r"^(?:template <[^;{}]*?>\s*)?[\w\[\]:<>&*,. \"()]*?\b(\w+)\(((?:[^;{}()]|\([^()]*\))*)\)"
                        r"(?: const| noexcept)*\s*\{", re.M)
INCLUDE = re.compile(r'^#include "(.*)"', re.M)
COMMENT = re.compile(r"//[^\n]*")
CONTRACT = re.compile(r"\s*\bTW_(?:(?:REQUIRES|YIELDS|(?:TRY_)?ACQUIRE|RELEASE)\((?:[^()]|\([^()]*\))*\)|UNCHECKED_LOCKING)")


def count_of_arguments(code, at):
    """The number of arguments in the list that begins at `at`, right after its bracket."""
    depth, commas, start = 1, 0, at
    while depth > 0 and at < len(code):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        commas += code[at] == "," and depth == 1
        at += 1
    return commas + 1 if code[start:at - 1].strip() not in ("", "void") else 0


def calls_in(body):
    """(name, number of arguments) of each call; None as the number where a function or template gets the name
    to call."""
    calls = {(found[1], count_of_arguments(body, found.end()))
             for found in re.finditer(r"(?<![.>\w])(\w+)(?:<(?:[\w:, ]|<\w+>)+>)?\(", body)}
    for given in re.findall(r"\w<((?:[\w:, ]|<\w+>)+)>\(|[(,] ?(tw_\w+)(?=[,)])", body):
        calls |= {(name, None) for name in re.findall(r"\w+", " ".join(given))}
    return calls


class Code:
    """The functions of the folders CODE, and the errors that they return as far as their text tells: the
    errors in the body of a function, or of a function that it calls by name."""

    def __init__(self, folders):
        self.text, self.functions, self.public, self.seen = {}, {}, {}, {}
        self.folders = folders
        for path in (path for folder in folders for path in sorted(folder.rglob("*.[ch]*"))):
            self.text[path] = CONTRACT.sub("", COMMENT.sub("", path.read_text()))
            self.add_functions(path, self.text[path])

    def add_functions(self, path, code):
        for found in DEFINITION.finditer(code):
            depth, at = 1, found.end()
            while depth > 0 and at < len(code):
                depth += (code[at] == "{") - (code[at] == "}")
                at += 1
            line = code.count("\n", 0, found.start(1)) + 1
            most = count_of_arguments(code, found.end(1) + 1)
            least = most - found[2].count(" = ")
            if "..." in found[2]:
                least, most = 0, 99
            body = re.sub(r"(==|!=) -[Ee]\w+|case -E\w+:", "", code[found.end():at])
            self.functions.setdefault(found[1], []).append((path, least, most, body, f"{path.name}:{line}"))
            if found[0].lstrip().startswith("TW_API"):
                self.public[found[1]] = path

    def seen_from(self, path, seen):
        """The file and all that it includes."""
        if path in self.text and path not in seen:
            seen.add(path)
            for name in INCLUDE.findall(self.text[path]):
                for folder in (path.parent, *self.folders):
                    self.seen_from(folder / name, seen)
        return seen

    @functools.cache
    def places(self, name, path):
        """The files whose function of this name a call in `path` can mean: the file itself, else its headers,
        else the sources next to a header that declares the function."""
        paths = {function[0] for function in self.functions[name]}
        if path in paths:
            return {path}
        if name in self.public:
            return {self.public[name]}
        if path not in self.seen:
            self.seen[path] = self.seen_from(path, set())
        seen = self.seen[path]
        declared_in = {header.parent for header in seen if re.search(rf"\b{name}\([^{{}}]*;", self.text[header])}
        return paths & seen or {place for place in paths if place.parent in declared_in}

    def errors(self, name, path, count, seen):
        errors = {}
        places = self.places(name, path)
        for place, least, most, body, where in self.functions[name]:
            is_meant = place in places and (count is None or least <= count <= most)
            if not is_meant or where in seen:
                continue
            seen.add(where)
            for called, given in calls_in(body):
                if called in self.functions:
                    errors |= self.errors(called, place, given, seen)
            errors |= {error: where for error in map(str.upper, re.findall(r"(?<![\w-])-[Ee]\w+", body))
                       if error[1:] in ERRORS}
        return errors

    def returned(self):
        return {name: self.errors(name, path, None, set()) for name, path in self.public.items()}


def main():
    root = Path(sys.argv[1])
    headers = [header for header in read_headers(*(root / folder for folder in sys.argv[2].split(","))) if header.path.endswith(".h")]
    code = Code([root / folder for folder in sys.argv[4:]]).returned()
    exceptions = Exceptions(root / sys.argv[3])
    checked = findings = 0
    for header in headers:
        conventions = conventions_of(header, headers)
        for function in header.functions():
            found = list(findings_in_text(function, conventions))
            if function.name in code:
                found += findings_in_errors(function, conventions, code[function.name], exceptions)
            for finding in found:
                print(f"{header.path}:{function.line}: {function.name} {finding}")
            checked += 1
            findings += len(found)
    for sign, names, error in sorted(exceptions.unused):
        print(f"{sys.argv[3]}: {sign} {names} {error} is not needed")
        findings += 1
    print(f"{checked} functions, {findings} findings" if checked else "there is no function to check")
    return findings > 0 or checked == 0


sys.exit(main())
