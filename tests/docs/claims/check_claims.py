"""check_claims.py BUILD LIST [FOLDER]: every claim of the pages has a proof, and the proof exists. The pages are
those of the tree, or of FOLDER.

LIST says which proof a claim has:

    [README.md]
    p01_never_early, see docs/COMPARED.md#libuv
        a delay counts from a time that the loop has cached
        never early

A line without indentation is a proof; the lines below it are words of the page, without its markup, each within a
sentence, an item or a cell. Several proofs may precede the words. `# Heading` stands for a whole section, `# *` for the
page. Proofs are

    p04_once                 a test; ctest in BUILD must know it, or a CMakeLists.txt
    ./dev bench ...          a command; ./dev must know its verb, options and names
    bench/system_calls.sh    a file of the tree, which measures or checks
    count promises           a number that COUNTS computes now; the words have it, in digits or letters
    lines FILE...            the number of lines of these files; likewise
    source FILE: TEXT        the file has this text, and the words have the number in it, or round it
    cell PAGE: ROW | COLUMN  a figure of a table; likewise
    see PAGE#section         a section, which has the command, or the sources of statements about other systems
    no claim: REASON         nothing that a test could prove

What must be claimed: in README.md each figure and each absolute word outside code. In the other pages each measured
figure, unless its section shows the command that measures it. PROMISES.md and DURABLE.md name the tests of each promise
themselves; the tests must exist, and so must the commands of ./dev that any page shows.
"""
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
README, PROMISES, DURABLE = "README.md", "docs/PROMISES.md", "durable/docs/DURABLE.md"
FOLDER = Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT
PAGES = sorted(str(page.relative_to(FOLDER)) for pattern in ("README.md", "docs/*.md", "durable/docs/*.md",
               "packaging/README.md", "python/README.md", "tools/README.md") for page in FOLDER.glob(pattern))

NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
           "seventeen eighteen nineteen twenty").split()
NUMBER = r"(?<![\w.])\d[\d,.]*(?<=\d)"
ABSOLUTE = re.compile(
    r"\b(?:no|none|never|always|every|everything|all|any|anywhere|same|nothing|exactly|forever|"
    + "|".join(NUMBERS[2:]) + r"|dozens?|hundreds?|thousands?|millions?)\b|" + NUMBER, re.IGNORECASE)
MEASURED = re.compile(
    NUMBER + r"(?: (?:to|and|or|between) \d[\d,.]*)? ?(?:x|ns|us|ms|nanoseconds?|microseconds?|milliseconds?|bytes|"
    r"instructions|KB|KiB|MB|GB|%|per cent|(?:thousand|million) a second|times (?:as|more|slower|faster))(?!\w)")
NUMERIC_CELL = re.compile(r"[\d][\d.,]*(?: \(.*\))?(?:, [\d.,]+)*")
PROMISE = re.compile(r"P(\d+),")
PLACEHOLDER = re.compile(r"\[?[A-Z][A-Z,._]*\]?(?:\.\.\.)?\]?")

faults = []


def fault(text):
    faults.append(text)


# --- pages -----------------------------------------------------------------------------------


def plain(text):
    """Returns words without markup: links without their targets, no bold, single spaces."""
    text = re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|!(?=\[)", "", text)
    return re.sub(r"\s+", " ", text.replace("**", "").replace("*", "")).strip()


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", plain(heading).lower()).replace(" ", "-")


class Section:
    def __init__(self, heading, level):
        self.heading, self.level = heading, level
        self.units = []  # the heading, sentences, items and cells, plain
        self.code = []   # spans and blocks
        self.rows = []   # of tables, without their heads; a row is its cells
        self.numeric_cells = 0

    def measured(self):
        return [unit for unit in self.units if MEASURED.search(without_code(unit))]


def without_code(text):
    return re.sub(r"`[^`]*`", lambda span: " " * len(span[0]), text)


class Page:
    def __init__(self, name):
        self.sections = [Section("", 0)]
        self.head, self.rows = None, []  # of tables; a row is (head, cells)
        paragraph, fence = [], None
        for line in (FOLDER / name).read_text().splitlines():
            section = self.sections[-1]
            if not line.startswith("|"):
                self.head = None
            if fence is not None:
                if line.strip().startswith("```"):
                    section.code.append("\n".join(fence))
                    fence = None
                else:
                    fence.append(line)
                continue
            heading = re.match(r"(#+) (.*)", line)
            if heading or not line.strip() or re.match(r"\s*(?:[-*|]|\d+\.|```)", line):
                self.end_paragraph(paragraph)
            if heading:
                self.sections.append(Section(heading[2], len(heading[1])))
                self.sections[-1].units.append(plain(heading[2]))
            elif line.strip().startswith("```"):
                fence = []
            elif line.startswith("|"):
                self.row(line)
            elif line.strip():
                paragraph.append(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", line))
        self.end_paragraph(paragraph)
        self.text = " ".join(unit for section in self.sections for unit in section.units)

    def end_paragraph(self, lines):
        if lines:
            text = " ".join(lines)
            self.sections[-1].code += re.findall(r"`([^`]+)`", text)
            self.sections[-1].units += re.split(r"(?<=[.:;!?]) (?=[A-Z*`\[])", plain(text))
            lines.clear()

    def row(self, line):
        cells = [plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            return
        if self.head is None:
            self.head = cells
        else:
            self.rows.append((self.head, cells))
            self.sections[-1].rows.append(cells)
        self.sections[-1].code += re.findall(r"`([^`]+)`", line)
        self.sections[-1].units += cells
        self.sections[-1].numeric_cells += sum(1 for cell in cells if NUMERIC_CELL.fullmatch(cell))


@functools.cache
def page(name):
    return Page(name) if name in PAGES else None


# --- files -----------------------------------------------------------------------------------


def read(file):
    if not (ROOT / file).is_file():
        sys.exit(f"check_claims.py: there is no file {file}")
    return (ROOT / file).read_text()


def text_of(*patterns):
    return "".join(file.read_text() for pattern in patterns for file in sorted(ROOT.glob(pattern)))


# --- what a proof can name -------------------------------------------------------------------


class Known:
    def __init__(self, build):
        tests = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                                          stdout=subprocess.PIPE).stdout)["tests"]
        self.tests = {test["name"] for test in tests}
        self.labels = {label for test in tests for each in test.get("properties", ())
                       if each["name"] == "LABELS" for label in each["value"]}
        # Of the form `word_words`, after a word that begins the name of a test.
        self.form_of_tests = "(?:" + "|".join(sorted({test.partition("_")[0] for test in self.tests})) + r")_\w+"
        self.dev = read("dev")
        self.verbs = set(re.findall(r"^verb_(\w+)\(\)", self.dev, re.MULTILINE)) | {"help"}
        self.presets = {preset["name"] for preset in json.loads(read("CMakePresets.json"))["testPresets"]}
        self.boards = set(subprocess.run(["bash", "-c", ". boards/cross.sh && boards"], cwd=ROOT, check=True, text=True,
                                         stdout=subprocess.PIPE).stdout.split())
        self.programs = {script.parent.name for script in ROOT.glob("adopt/*/program.sh")}
        self.bench = text_of("bench/**/*.cpp", "durable/bench/run.sh", "tools/mutate/*.py")
        self.workloads = set(re.findall(r'Kind::\w+,\s+"([\w-]+)"', self.bench)) | set(
            re.findall(r"--workload ?(\w+)", self.dev))
        self.declared = text_of(*(f"{folder}/**/CMakeLists.txt" for folder in
                                  ("tests", "examples", "boards", "calendar", "durable")))

    def declares(self, test):
        """Whether a CMakeLists.txt names the test: one of another preset, or one whose tool is not installed here."""
        subject, _, rest = test.partition("_")
        return any("_" in name and re.search(rf"(?<!\w){name}(?!\w)", self.declared) for name in (test, rest))


def refused(command, known):
    """Returns why ./dev would refuse the command, or None."""
    words = command.split()[1:]
    if not words or PLACEHOLDER.fullmatch(words[0]):
        return None
    verb, words = words[0], words[1:]
    if verb not in known.verbs:
        return f"./dev has no verb {verb}"
    names = {"adopt": known.programs, "cross": known.boards}.get(verb)
    values = {"--preset": known.presets, "-L": known.labels, "--compiler": {"clang"},
              **({"--workload": known.workloads} if verb == "bench" else {})}
    option = None
    for word in words:
        if PLACEHOLDER.fullmatch(word):
            pass
        elif word.startswith("-"):
            if word not in known.dev + known.bench:
                return f"./dev {verb} has no option {word}"
        elif option in values:
            unknown = set(word.split(",")) - values[option]
            if unknown:
                return f"./dev {verb} {option} does not know {', '.join(sorted(unknown))}"
        elif option is None and names is not None and word not in names:
            return f"./dev {verb} does not know {word}"
        elif option is None and verb == "test" and not (
                any(re.search(word, test) for test in known.tests) or re.search(word, known.declared)):
            return f"no test matches {word}"
        option = word if word.startswith("-") else None
    return None


def commands(code):
    for command in re.findall(r"(?:^|\s)(\./dev(?: [^\n#]*)?)", code, re.MULTILINE):
        yield re.split(r"\s(?:&&|\||>)|;|$", command)[0].strip()


# --- numbers that are computed now -----------------------------------------------------------


COUNTS = {
    "promises": lambda: sum(1 for section in page(PROMISES).sections if PROMISE.match(section.heading)),
}


def lines_of(files):
    return sum(read(file).count("\n") for file in files.split())


def value(text):
    return float(re.sub("[,']", "", text))


def said(number, words):
    """Whether the words have the number, in digits or letters, or round it, in its unit or in one that is 1000 times
    as large or as small."""
    if number in range(len(NUMBERS)) and re.search(rf"\b{NUMBERS[int(number)]}\b", words.lower()):
        return True
    return any(abs(number * scale - value(text)) <= 0.5000001 * 10 ** -len(text.partition(".")[2])
               for text in re.findall(NUMBER, words) for scale in (1, 1e-3, 1e3, 1e-6))


def numbers_in_source(place):
    """Returns the numbers in TEXT of a place FILE: TEXT, or None if the file lacks the text."""
    file, _, text = place.partition(": ")
    return [value(number) for number in re.findall(r"\d[\d,.']*(?<=\d)", text)] if text in read(file) else None


def numbers_in_cell(place):
    """Returns a list with the first number of a cell, PAGE: ROW | COLUMN, or None if there is no such number."""
    name, row, column = re.fullmatch(r"(\S+): (.+) \| (.+)", place).groups()
    for head, cells in page(name).rows:
        if cells[0] == row and column in head:
            return [value(number) for number in re.findall(NUMBER, cells[head.index(column)])[:1]] or None
    return None


NUMBERS_OF = {
    "count": lambda name: [COUNTS[name]()],
    "lines": lambda files: [lines_of(files)],
    "source": numbers_in_source,
    "cell": numbers_in_cell,
}


# --- checks ----------------------------------------------------------------------------------


def check_proof(proof, quotes, known):
    kind, _, rest = proof.partition(" ")
    if kind == "no":
        if not re.fullmatch(r"claim: \S.*", rest):
            fault(f"{proof} has no reason")
    elif kind == "./dev":
        reason = refused(proof, known)
        if reason:
            fault(f"{proof}: {reason}")
    elif kind == "see":
        name, _, wanted = rest.partition("#")
        if page(name) is None or wanted not in {anchor(section.heading) for section in page(name).sections}:
            fault(f"{proof}: there is no such section")
    elif kind in NUMBERS_OF:
        numbers = NUMBERS_OF[kind](rest)
        if numbers is None:
            fault(f"{proof}: there is nothing there")
        elif not any(said(number, quote) for quote in quotes for number in numbers):
            fault(f"{proof}: the page does not have that number: {' / '.join(quotes)}")
    elif "/" in proof or "." in proof:
        if not (ROOT / proof.split()[0]).is_file():
            fault(f"{proof}: no such file")
    elif proof not in known.tests and not known.declares(proof):
        fault(f"{proof}: there is no such test")


def read_list(path):
    """Returns {page: [(proofs, quotes)]}."""
    claims, entries = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("# "):
            continue
        if line.startswith("["):
            entries = claims.setdefault(line.strip("[]"), [])
        elif entries is None or (line.startswith(" ") and not entries):
            sys.exit(f"{path}:{number}: no page, or no proof")
        elif line.startswith(" "):
            entries[-1][1].append(line.strip())
        elif entries and not entries[-1][1]:
            entries[-1][0].append(line)
        else:
            entries.append(([line], []))
    return claims


def check_quotes(name, entries):
    """Checks that the page has the quoted words. Returns the quotes, and the headings of the quoted sections."""
    quotes, headings = [], set()
    for proofs, words in entries:
        if not words:
            fault(f"{name}: {', '.join(proofs)} proves nothing")
        for quote in words:
            if quote == "# *":
                headings |= {plain(section.heading) for section in page(name).sections}
            elif quote.startswith("# "):
                if quote[2:] not in {plain(section.heading) for section in page(name).sections}:
                    fault(f"{name} has no section {quote[2:]}")
                headings.add(quote[2:])
            elif quote not in page(name).text:
                fault(f"{name} no longer says: {quote}\n    (look at the proof: {', '.join(proofs)})")
            else:
                quotes.append(quote)
    return quotes, headings


def uncovered(unit, matches, quotes):
    """Returns the matches in the unit that no quote covers."""
    spans = [span.span() for quote in quotes for span in re.finditer(re.escape(quote), unit)]
    return [match[0] for match in matches if not any(a <= match.start() and match.end() <= b for a, b in spans)]


def check_complete(name, quotes, headings):
    rule = ABSOLUTE if name == README else MEASURED
    for section in page(name).sections:
        if plain(section.heading) in headings or (name != README and has_command(section)):
            continue
        if name != README and section.numeric_cells > 3:
            fault(f"{name}#{anchor(section.heading)}: a table of figures without the command that measures them")
        for unit in section.units:
            words = uncovered(unit, rule.finditer(without_code(unit)), quotes)
            if words:
                fault(f"{name}#{anchor(section.heading)}: no proof of {', '.join(map(repr, words))} in: {unit}")


def has_command(section):
    return any(re.search(r"(?:^|\s)(?:\./dev \w|(?:sh )?[\w/]+\.sh\b)", code) for code in section.code)


def check_promises(known):
    for section in page(PROMISES).sections:
        promise = PROMISE.match(section.heading)
        tests = [code for code in section.code if re.fullmatch(known.form_of_tests, code)]
        if promise and not any(test.startswith(f"p{int(promise[1]):02}_") for test in tests):
            fault(f"{PROMISES}: {section.heading} has no test of its own")
        for test in tests:
            if not any(each.startswith(test) for each in known.tests) and not known.declares(test):
                fault(f"{PROMISES}: there is no test {test}")


def check_promises_of_jobs(known):
    """Each row of "What is promised" has rows in the table of tests: the promise, tests, and what they contain. The cell
    of the promise is empty if it is that of the row above."""
    rows = {section.heading: section.rows for section in page(DURABLE).sections}
    promises = {cells[0]: [] for cells in rows["What is promised"]}
    sources = text_of("durable/tests/**/*.py", "durable/tests/**/*.c", "durable/tests/**/*.cpp")
    promise = None
    for first, attackers, contents in rows["How it is tested"]:
        promise = first or promise
        tests = re.findall(r"`(durable_\w+)`", attackers)
        if promise in promises:
            promises[promise] += tests
        else:
            fault(f"{DURABLE}: there is no promise {promise}")
        for test in tests:
            if test not in known.tests and not known.declares(test):
                fault(f"{DURABLE}: there is no test {test}")
        for name in re.findall(r"`(\w+)`|\b(O\d+)\b", contents):
            if not re.search(rf"\b{''.join(name)}\b", sources):
                fault(f"{DURABLE}: no test contains {''.join(name)}")
    for promise, tests in promises.items():
        if not tests:
            fault(f"{DURABLE}: {promise} has no test")


def main():
    known = Known(sys.argv[1])
    claims = read_list(Path(sys.argv[2]))
    for name in claims.keys() - set(PAGES):
        fault(f"the list has claims of {name}, which is no page")
    for name in PAGES:
        entries = claims.get(name, [])
        quotes, headings = check_quotes(name, entries)
        for proofs, words in entries:
            for proof in proofs:
                check_proof(proof, words, known)
        if name != PROMISES:
            check_complete(name, quotes, headings)
        for section in page(name).sections:
            for code in section.code:
                for command in commands(code):
                    reason = refused(command, known)
                    if reason:
                        fault(f"{name}: {command}: {reason}")
    check_promises(known)
    check_promises_of_jobs(known)
    for text in faults:
        print(text)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
