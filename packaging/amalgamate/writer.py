"""Writes C from the items of the core's sources, with the edits of meaning.py applied."""
import re

from meaning import BY_HAND, C_NAMES, REPEATED, Edits

# What the parameters of templates stand for, by the template: the wheel has one of each.
ALWAYS = {"Bits": "TW_BITS", "Levels": "TW_LEVELS", "LookAhead": "(TW_LOOKAHEAD != 0)", "Size": "TWC_SLOTS"}
BOUND = {
    "shares_of": {"Tick": "twc_digits"},
    "set_to_next": {"Periodic": "struct tw_node"},
    "set_ahead": {"Periodic": "struct tw_node"},
    "set_to_next_on_grid": {"Periodic": "struct tw_node"},
    "next_busy": {"Digits": "twc_digits"},
    "next_in_block": {"Digits": "twc_digits", "Levels": "struct twc_levels"},
}
PUBLIC_STRUCTS = {"tw", "tw_node", "tw_link", "tw_grid", "tw_fire"}
PUBLIC_ENUMS = {"tw_missed", "tw_state", "tw_fork_moment"}
SPECIFIERS = {"constexpr", "inline", "static", "explicit", "noexcept"}
ATTRIBUTES = {"maybe_unused": "unused", "noreturn": "noreturn", "gnu::cold": "cold", "gnu::noinline": "noinline",
              "gnu::always_inline": "always_inline"}


class Writer:
    def __init__(self, sources, edits, order):
        self.sources = sources
        self.edits = edits
        self.order = order
        self.records, self.enums, self.aliases, self.constants = set(), set(), set(), set()
        for source in sources.values():
            self.collect(source.items)
        self.uses = self.uses_of_repeated()

    def collect(self, items):
        for item in items:
            if item.kind == "record":
                self.records.add(item.name)
                self.collect(item.items)
            elif item.kind == "enum":
                self.enums.add(item.name)
            elif item.kind == "using":
                self.aliases.add(item.name)
            elif item.kind == "constant":
                self.constants.add(item.name)
        self.aliases -= {"shape", "engine"}

    def uses_of_repeated(self):
        """The arguments that `call` is used with, in their order."""
        return list(dict.fromkeys(re.findall(r"\bcall<change::(\w+)>", self.sources["c_api.cpp"].text)))

    # --- tokens ------------------------------------------------------------------------------

    def c(self, source, begin, end, edits=None, bound=None, constants=False):
        """A stretch of a source as C."""
        edits = edits or Edits()
        bound = {**ALWAYS, **(bound or {})}
        tokens = [t for t in source.tokens if begin <= t.begin and t.end <= end]
        out, at, i = [], begin, 0

        def insertions(upto):
            nonlocal at
            for offset in sorted({o for o in list(edits.behind) + list(edits.before) if at <= o <= upto}):
                out.append(source.text[at:offset])
                at = offset
                done = out_done.setdefault(offset, set())
                if "behind" not in done:
                    out.extend(edits.behind.get(offset, ()))
                    done.add("behind")
                if "before" not in done:
                    out.extend(edits.before.get(offset, ()))
                    done.add("before")

        out_done = {}
        while i < len(tokens):
            token = tokens[i]
            insertions(token.begin)
            out.append(source.text[at : token.begin])
            at = max(at, token.begin)
            if token.begin in edits.replaced:
                stop, text = edits.replaced[token.begin]
                if text:
                    out.append(text)
                # what is inserted within a replaced stretch goes behind it
                for offset in sorted(o for o in set(edits.behind) | set(edits.before) if token.begin < o < stop):
                    out.extend(edits.behind.get(offset, ()))
                    out.extend(edits.before.get(offset, ()))
                at = stop
                while i < len(tokens) and tokens[i].end <= stop:
                    i += 1
                if i < len(tokens) and tokens[i].begin < stop:  # half of a token
                    i += 1
                continue
            text, used = self.token(tokens, i, bound, constants)
            out.append(text)
            at = tokens[i + used - 1].end
            i += used
        insertions(end)
        out.append(source.text[at:end])
        return "".join(out)

    def token(self, tokens, i, bound, constants, last_is_type=False):
        """The C of the token at i, and how many tokens that stands for."""
        def text(k):
            return tokens[k].text if 0 <= k < len(tokens) else ""

        word, following = text(i), text(i + 1)
        if tokens[i].kind == "directive":
            return self.directive(word), 1
        if word == "nullptr":
            return "NULL", 1
        if word == "[[":
            close = next(k for k in range(i, len(tokens)) if text(k) == "]]")
            names = "".join(text(k) for k in range(i + 1, close)).split(",")
            return "__attribute__((" + ", ".join(ATTRIBUTES[name] for name in names) + ")) ", close - i + 1
        if word in ("static_cast", "reinterpret_cast"):
            close = self.angle(tokens, i + 1)
            inner = tokens[i + 2 : close]
            kind = "".join(self.joined(inner, bound, constants)).replace("&", "*")
            return f"({kind})", close - i + 1
        if word in ("std", "core", "tickwheel", "G", "Shape", "shape", "locking", "next_step", "change") and following == "::":
            if text(i + 2) == "launder":
                return "", 3
            done, used = self.token(tokens, i + 2, bound, constants, last_is_type)
            return done, used + 2
        if word == "::":
            return "", 1
        if word == "typename" or word == "constexpr":
            return "", 1
        if word in bound and tokens[i].kind == "word":
            return self.cast_or(bound[word], tokens, i, bound, constants, 1)
        if word in REPEATED and following == "<":
            close = self.angle(tokens, i + 1)
            arguments = [t.text for t in tokens[i + 2 : close] if t.kind == "word"]
            return f"twc_{word}_{arguments[-1]}", close - i + 1
        if tokens[i].kind != "word" or text(i - 1) in (".", "->"):
            return word, 1
        if word in self.records and following == "<":
            return f"struct twc_{word}", self.angle(tokens, i + 1) - i + 1
        if constants and word in self.constants:
            return "TWC_" + word.upper(), 1
        if constants and following == "(" and word in ("one", "width", "first_slot", "span", "shift"):
            return "twc_" + word, 1
        is_type = tokens[i + 1].kind == "word" if i + 1 < len(tokens) else last_is_type
        is_type = is_type or following in ("{", ">", "*", "&", "::") or (following == ")" and text(i - 1) == "(" and
                                                                    text(i - 2) in ("sizeof", "alignof"))
        is_type = is_type or (following in (",", ")") and text(i - 2) == "offsetof")
        if word == "alignof":
            return "__alignof__", 1
        if not is_type:
            return word, 1
        name = self.type_named(word)
        return self.cast_or(name, tokens, i, bound, constants, 1) if name else (word, 1)

    def cast_or(self, name, tokens, i, bound, constants, used):
        """A type; or T{x}, which becomes (T)(x)."""
        k = i + used
        if k + 2 < len(tokens) and tokens[k].text == "{" and tokens[k + 2].text == "}":
            value = "".join(self.joined(tokens[k + 1 : k + 2], bound, constants))
            return f"({name}){value}", used + 3
        return name, used

    def type_named(self, word):
        if word in PUBLIC_STRUCTS:
            return f"struct {word}"
        if word in PUBLIC_ENUMS:
            return f"enum {word}"
        if word in self.records or word == "engine":
            return f"struct twc_{C_NAMES.get(word, word)}"
        if word in self.aliases or word in self.enums:
            return f"twc_{word}"
        return "unsigned" if word == "unsigned" else None

    def joined(self, tokens, bound, constants):
        k = 0
        while k < len(tokens):
            done, used = self.token(tokens, k, bound, constants, True)
            yield done + " "
            k += used

    def angle(self, tokens, at):
        depth = 0
        while True:
            depth += (tokens[at].text == "<") - (tokens[at].text == ">")
            if depth == 0:
                return at
            at += 1

    def directive(self, text):
        text = re.sub(r"::tickwheel::core::stop\((#condition)\)", r"twc_stop(\1, NULL)", text)
        text = text.replace("::tickwheel::core::stop(", "twc_stop(").replace("static_cast<void>", "(void)")
        # With the specifier inline, or noinline without it, for which C compilers warn.
        text = re.sub(r"(__attribute__\(\(always_inline\)\))(?! inline)", r"\1 inline", text)
        text = re.sub(r"(#define TW_(?:ONE|INLINE|APART)\w+)\s*$", r"\1 inline", text)
        return re.sub(r"\s*//.*", "", text)

    # --- items -------------------------------------------------------------------------------

    def comment(self, item):
        return "".join(token.text + "\n" for token in item.comments)

    def types(self):
        """Constants, enumerations and structs of all files."""
        return self.stream(self.write_type)

    def functions(self):
        return self.stream(self.write_function, heads=True)

    def stream(self, write, heads=False):
        out = []
        for name in self.order:
            source = self.sources[name]
            items = source.items
            text = self.items(source, items, write)
            text = self.without_empty_conditions(text)
            head = ""
            if items and items[0].comments and (items[0].kind == "directive" or items[0].kind == "comment"):
                head = self.comment(items[0])
            if text.strip():
                title = f"/* --- {name} " + "-" * (88 - len(name)) + " */\n\n"
                out.append("\n" + title + (head + "\n" if heads or not self.has_functions(items) else "") + text)
        return "".join(out)

    def has_functions(self, items):
        return any(i.kind == "function" or (i.kind == "record" and self.has_functions(i.items)) for i in items)

    def items(self, source, items, write):
        out = []
        for item in items:
            if item.kind == "directive":
                text = source.text[item.begin : item.end].strip()
                if text.startswith(("#include", "#pragma")):
                    continue
                conditional = re.match(r"#\s*(if|else|elif|endif)", text)
                if conditional:
                    out.append(("\n" if item.gap else "") + (self.comment(item) if write == self.write_type else "") + text + "\n")
                elif write == self.write_type and "TW_API" not in text:
                    out.append(("\n" if item.gap else "") + self.comment(item) + self.directive(text) + "\n")
            else:
                text = write(source, item)
                if text:
                    out.append(("\n" if item.gap else "") + text)
        return "".join(out)

    def without_empty_conditions(self, text):
        empty = re.compile(r"^#\s*if[^\n]*\n(?:\s*#\s*(?:else|elif)[^\n]*\n)*\s*#\s*endif[^\n]*\n", re.M)
        while empty.search(text):
            text = empty.sub("", text)
        return re.sub(r"(#\s*else[^\n]*\n)\s*(#\s*endif)", r"\2", text)

    def write_type(self, source, item):
        if item.kind == "record":
            return self.record(source, item)
        if item.kind == "constant":
            return self.constant(source, item)
        if item.kind == "enum":
            return self.enum(source, item)
        if item.kind == "using":
            return self.using(source, item)
        if item.kind == "assertion":
            text = self.c(source, item.begin, item.end, constants=True).replace("static_assert", "TWC_STATIC_ASSERT", 1)
            if not re.search(r'"[^"]*"\s*\)\s*;$', text):
                text = re.sub(r"\)\s*;$", ', "");', text)
            return self.comment(item) + text + "\n"
        return ""

    def constant(self, source, item):
        text = re.sub(r"\s+", " ", self.c(source, item.begin, item.end, constants=True))
        match = re.match(r"(?:inline |static |constexpr )*\s*(.*?) ?TWC_(\w+) = (.*);$", text)
        kind, name, value = match.groups()
        kind = kind.strip()
        if kind not in ("bool", "int"):
            value = f"(({kind})({value}))"
        elif not re.fullmatch(r"\w+", value):
            value = f"({value})"
        value = re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", value))
        trailing = item.trailing + "\n" if item.trailing else ""
        return self.comment(item) + trailing + f"#define TWC_{name} {value}\n"

    def enum(self, source, item):
        text = source.text[item.begin : item.end]
        name, kind, values = re.match(r"enum class (\w+)(?: : ([\w:]+))? \{(.*)\}", text, re.S).groups()
        values = ", ".join(f"twc_{name}_{value.strip()}" for value in values.split(","))
        if kind:
            return self.comment(item) + f"enum {{ {values} }};\ntypedef {kind.replace('std::', '')} twc_{name};\n"
        return self.comment(item) + f"typedef enum {{ {values} }} twc_{name};\n"

    def using(self, source, item):
        text = source.text[item.begin : item.end]
        if item.name in ("shape", "engine") or "shape::digits" in text:
            return ""
        match = re.match(r"using (\w+) = std::conditional_t<(.*), ([\w:]+), (\w+)>;", text)
        if match:
            name, condition, one, other = match.groups()
            condition = re.sub(r"\w+", lambda m: ALWAYS.get(m.group(), m.group()), condition)
            one, other = (self.type_named(t) or t.replace("std::", "") for t in (one, other))
            return (self.comment(item) + f"#if {condition}\ntypedef {one} twc_{name};\n#else\ntypedef {other} "
                    f"twc_{name};\n#endif\n")
        match = re.match(r"using (\w+) = (\w+)\((.*)\);", text)
        if match:
            name, result, parameters = match.groups()
            begin = item.begin + match.start(3)
            parameters = self.c(source, begin, begin + len(parameters)).replace("&", "*")
            return self.comment(item) + f"typedef {result} twc_{name}({parameters});\n"
        name, kind = re.match(r"using (\w+) = ([\w:]+);", text).groups()
        return self.comment(item) + f"typedef {kind.replace('std::', '')} twc_{name};\n"

    def record(self, source, item):
        before = self.items(source, [i for i in item.items if i.kind not in ("field", "function", "comment")], self.write_type)
        before = self.without_empty_conditions(before)
        fields = "".join(f"struct twc_{base} {base};\n" for base in item.bases)
        fields += self.items(source, [i for i in item.items if i.kind in ("field", "directive")], self.field)
        fields = self.without_empty_conditions(fields)
        if not fields.strip():
            return self.comment(item) + before
        made = ""
        if item.name in self.braced:
            made = self.of_function(source, item)
        return f"{before}\n{self.comment(item)}struct twc_{C_NAMES.get(item.name, item.name)} {{\n{fields}}};\n{made}"

    def field(self, source, item):
        if item.kind != "field":
            return ""
        text = self.c(source, item.begin, item.end, constants=True)
        text = re.sub(r"\s*=\s*[^;]*;$", ";", text).replace("&", "*")
        text = re.sub(rf"\b(?:{item.name}|TWC_{item.name.upper()})\b(?=\s*[;\[])", item.name.rstrip("_"), text)
        return self.comment(item) + text + ("  " + item.trailing if item.trailing else "") + "\n"

    def of_function(self, source, item):
        fields = [i for i in item.items if i.kind == "field"]
        declared = [re.sub(r"//.*", "", self.field(source, i)).strip().rstrip(";") for i in fields]
        names = ", ".join(i.name.rstrip("_") for i in fields)
        kind = f"struct twc_{item.name}"
        return (f"static inline {kind} twc_{item.name}_of({', '.join(declared)}) {{\n    const {kind} made = {{{names}}};\n"
                f"    return made;\n}}\n")

    # --- functions ---------------------------------------------------------------------------

    def write_function(self, source, item):
        if item.kind == "record":
            return self.without_empty_conditions(self.items(source, item.items, self.write_function))
        if item.kind != "function" or item.name in BY_HAND:
            return self.comment(item) if item.kind == "comment" and item.comments[0].text.startswith("// ---") else ""
        if item.name in REPEATED:
            return self.repeated(source, item)
        if item.name == item.owner or item.name.startswith("~"):
            return self.comment(item) + self.life(source, item)
        return self.comment(item) + self.plain(source, item, self.edits[source.name])

    def plain(self, source, item, edits):
        bound = BOUND.get(item.name)
        text = self.c(source, item.begin, item.end, edits, bound)
        if "TW_API" in text:
            return re.sub(r"\bnoexcept\b", "TWC_NOEXCEPT", text) + "\n"
        if item.body < 0:
            return text + "\n"
        head, body = self.split(text)
        return self.head(source, item, head, body) + body + "\n"

    def split(self, text):
        at = text.index("(", text.index("twc_"))
        depth = 0
        for k in range(at, len(text)):
            depth += (text[k] == "(") - (text[k] == ")")
            if depth == 0:
                brace = text.find("{", k)
                if brace < 0:
                    break
                return text[:brace], text[brace:]
        raise SystemExit(f"a function without a body: {text[:60]!r}")

    def head(self, source, item, head, body=""):
        before, name, rest = self.around_name(head)
        is_static = item.owner == "" or re.search(r"\bstatic\b", before) is not None
        is_const = rest.rstrip().endswith("const")
        rest = rest.rstrip()
        if is_const:
            rest = rest[: -len("const")].rstrip()
        before = re.sub(r"\b(static|inline|constexpr|explicit)\b ?", "", before)
        inside = rest[1:-1].strip()
        if not is_static:
            is_used = re.search(r"\bself\b", body) and "\n#if" not in body
            unused = "" if is_used else "__attribute__((unused)) "
            self_is = unused + f"{'const ' if is_const else ''}struct twc_{C_NAMES.get(item.owner, item.owner)} *self"
            inside = self_is + (", " + inside if inside else "")
        inside = inside or "void"
        before = before.strip()
        if before.startswith(("TW_", "__attribute__")):
            return self.with_attributes(before, name, inside)
        return f"static inline {before} {name}({inside}) "

    def around_name(self, head):
        match = re.search(r"\b(twc_\w+)\s*\(", head)
        return head[: match.start()], match.group(1), head[match.end() - 1 :]

    def with_attributes(self, before, name, inside):
        match = re.match(r"((?:TW_\w+|__attribute__\(\(.*?\)\))\s*)+", before)
        inline = "" if "noinline" in match.group() or "TW_" in match.group() else "inline "
        return f"{match.group().strip()} static {inline}{before[match.end():].strip()} {name}({inside}) "

    def life(self, source, item):
        """A constructor, which makes a value or begins a scope; or a destructor, which ends it."""
        edits = self.edits[source.name]
        kind = f"struct twc_{item.owner}"
        body = self.c(source, item.body, item.close + 1, edits)
        if item.name.startswith("~"):
            return f"static inline void twc_{item.owner}_end({kind} *self) {body}\n"
        opening = source.text.index("(", item.begin)
        tokens = source.tokens
        first = next(k for k, t in enumerate(tokens) if t.begin == opening)
        last = source.matching(first)
        parameters = self.c(source, tokens[first].end, tokens[last].begin, edits)
        sets = []
        begun = self.record_of(source, item.owner)
        k = last + 1
        if tokens[k].text == ":":
            k += 1
            while tokens[k].begin < item.body:
                name, opened = tokens[k].text, k + 1
                close = source.matching(opened)
                value = self.c(source, tokens[opened].end, tokens[close].begin, edits)
                if name in self.records:
                    sets.append((name, f"twc_{name}_make({value})"))
                else:
                    sets.append((name.rstrip("_"), value))
                k = close + 2 if tokens[close + 1].text == "," else close + 1
        done = {name for name, _ in sets}
        for field in begun.items:
            match = re.search(r"=\s*([^;]*);$", source.text[field.begin : field.end]) if field.kind == "field" else None
            if match and field.name.rstrip("_") not in done:
                begin = field.begin + match.start(1)
                value = self.c(source, begin, begin + len(match.group(1)), constants=True)
                sets.append((field.name.rstrip("_"), value))
        in_place = any(i.name == "~" + item.owner for i in begun.items)
        arrow = "->" if in_place else "."
        lines = []
        for name, value in sets:
            if value == "{}":
                lines.append(f"__builtin_memset(&self{arrow}{name}, 0, sizeof self{arrow}{name});")
            else:
                lines.append(f"self{arrow}{name} = {value};")
        if in_place:
            return (f"static inline void twc_{item.owner}_begin({kind} *self, {parameters}) {{\n" + "\n".join(lines) +
                    body.strip()[1:] + "\n")
        if body.strip().strip("{}").strip():
            raise SystemExit(f"{source.name}: the constructor of {item.owner} does more than to set members")
        return (f"static inline {kind} twc_{item.owner}_make({parameters}) {{\n{kind} self;\n" + "\n".join(lines) +
                "\nreturn self;\n}\n")

    def record_of(self, source, name):
        return next(i for i in source.items if i.kind == "record" and i.name == name)

    def repeated(self, source, item):
        """`call` and `call_locked`, once for each change that they make."""
        out = [self.comment(item)]
        edits = self.edits[item.name]
        for change in self.uses:
            text = self.c(source, item.begin, item.end, edits)
            text = re.sub(rf"\b(?:twc_)?{item.name}\(", f"twc_{item.name}_{change}(", text, count=1)
            text = re.sub(r"\btwc_call_locked_What\(", f"twc_call_locked_{change}(", text)
            head, body = self.split(text)
            if re.search(r"\bWhat\b", body):  # as a variable: compilers warn of a constant that is compared with itself
                body = f"{{\nconst twc_change what = twc_change_{change};\n" + re.sub(r"\bWhat\b", "what", body[1:])
            out.append(self.head(source, item, head) + body + "\n\n")
        return "".join(out)
