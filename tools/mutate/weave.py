"""Weaves the mutants of a file into its source. The program then contains all of them, and behaves like the
original unless one is selected. Lines stay where they are, so that a compiler's errors lead back to the
mutants that cause them."""

RANKS = {"insertion": 0, "removal": 1, "condition": 2, "expression": 3}  # at the same range, outermost first
DECLARED = """#define tw_mutant(number) (tw_mutants[number] && tw_mutant_is_selected(number))
#define tw_mutant_in_constexpr(number) (!__builtin_is_constant_evaluated() && tw_mutant(number))
#ifdef __cplusplus
extern "C" {
#endif
extern unsigned char tw_mutants[];
int tw_mutant_is_selected(unsigned number);
#ifdef __cplusplus
}
#endif
#line 1
"""


class Span:
    """A range of the woven text and the mutants that it belongs to."""

    def __init__(self, start, end, mutants):
        self.start = start
        self.end = end
        self.mutants = mutants


class Weaver:
    def __init__(self, source):
        self.source = source
        self.parts = []
        self.length = 0
        self.spans = []

    def emit(self, text):
        self.parts.append(text)
        self.length += len(text)

    def weave(self, places):
        ordered = sorted(places, key=lambda place: (place.start, -place.end, RANKS[place.form]))
        self.weave_range(0, len(self.source.text), nested(ordered))
        return "".join(self.parts)

    def weave_range(self, start, end, nodes):
        """The text of a range with the places in it."""
        at = start
        for place, inner in nodes:
            self.emit(self.source.text[at : place.start])
            self.weave_place(place, inner)
            at = place.end
        self.emit(self.source.text[at:end])

    def weave_place(self, place, inner):
        begin = self.length
        test = "tw_mutant_in_constexpr" if place.is_constexpr else "tw_mutant"
        if place.form == "insertion":
            self.alternatives(place, lambda mutant: f" if ({test}({mutant.number})) {mutant.code}")
        elif place.form == "removal":
            self.alternatives(place, lambda mutant: f"{{ if (!{test}({mutant.number})) {{ ")
            self.weave_range(place.start, place.end, inner)
            self.emit(" } }")
        else:
            self.emit("(")
            self.alternatives(place, lambda mutant: f"{test}({mutant.number}) ? ({mutant.code}) : ")
            self.emit("!!(" if place.form == "condition" else "(")
            self.weave_range(place.start, place.end, inner)
            self.emit("))")
        self.spans.append(Span(begin, self.length, place.mutants))

    def alternatives(self, place, code):
        for mutant in place.mutants:
            begin = self.length
            self.emit(code(mutant))
            self.spans.append(Span(begin, self.length, [mutant]))

    # --- back from a compiler's error ------------------------------------------------------

    def mutants_at(self, line, column):
        """The mutants of the innermost span at this place of the woven text; if there is no span, those of the line."""
        lines = "".join(self.parts).split("\n")
        if line > len(lines):
            return []
        offset = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
        around = [span for span in self.spans if span.start <= offset < span.end]
        if around:
            return min(around, key=lambda span: span.end - span.start).mutants
        end = offset - column + 1 + len(lines[line - 1])
        on_line = [span for span in self.spans if end - len(lines[line - 1]) <= span.start <= end]
        return [mutant for span in on_line for mutant in span.mutants]


def nested(places):
    """Places in the order of their starts, the outer ones first, as a tree: pairs of a place and what is in it."""
    roots = []
    stack = []
    for place in places:
        while stack and (stack[-1][0].end <= place.start or stack[-1][0].form == "insertion"):
            stack.pop()
        if stack and place.end > stack[-1][0].end:
            continue  # overlapping: libclang's ranges may overlap where macros are involved
        node = (place, [])
        (stack[-1][1] if stack else roots).append(node)
        stack.append(node)
    return roots
