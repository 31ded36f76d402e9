"""Mutants, and the places in a source where they are woven in."""

from dataclasses import dataclass, field


@dataclass
class Mutant:
    """One change of one source. `number` selects it at run time."""

    kind: str  # as in the table of docs/MUTATION.md
    original: str
    changed: str
    code: str  # what the compiler sees in place of the original
    file: str = ""
    function: str = ""
    line: int = 0
    number: int = 0

    @property
    def key(self):
        """Identifies the mutant even if its line number changes. tests/mutation/equivalent.txt has the same fields."""
        return (self.file, self.function, self.kind, self.original, self.changed)

    @property
    def is_order(self):
        return self.kind == "order"


@dataclass
class Place:
    """A range of a source, and the mutants that may replace it.

    form    expression  an alternative expression of the same type
            condition   the same, where a condition stands, which may be of any type that converts to bool
            removal     nothing instead of a statement
            insertion   a statement before all others of a body; start == end
    """

    start: int
    end: int
    form: str
    is_constexpr: bool  # inside a function that the compiler may evaluate; the compiler must see the original
    mutants: list = field(default_factory=list)
