"""A source file as text and tokens, with offsets as libclang counts them: in bytes."""

import bisect
import re

TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\\\n)
    |(?P<string>(?:u8|[uUL])?(?:R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"))
    |(?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    |(?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign><=>|<<=|>>=|\.\.\.|->\*?|::|<<|>>|[<>=!+*/%&|^-]=|&&|\|\||\+\+|--|.)""",
    re.VERBOSE | re.DOTALL,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token:
    def __init__(self, kind, text, start):
        self.kind = kind
        self.text = text
        self.start = start
        self.end = start + len(text)


class Source:
    def __init__(self, data):
        self.text = data.decode("latin-1")  # one character for each byte
        self.tokens = [
            Token(match.lastgroup if match.lastgroup != "mark" else "string", match.group(), match.start())
            for match in TOKEN.finditer(self.text)
            if match.lastgroup != "blank"
        ]
        self.starts = [token.start for token in self.tokens]
        self.line_starts = [0] + [match.end() for match in re.finditer("\n", self.text)]
        self.directives = [match.start() for match in re.finditer(r"(?m)^[ \t]*#", self.text)]

    # --- tokens ------------------------------------------------------------------------------

    def index_from(self, offset):
        """The index of the first token that starts at the offset or after it."""
        return bisect.bisect_left(self.starts, offset)

    def token_from(self, offset):
        index = self.index_from(offset)
        return self.tokens[index] if index < len(self.tokens) else Token("end", "", len(self.text))

    def token_before(self, offset):
        index = self.index_from(offset) - 1
        return self.tokens[index] if index >= 0 else Token("start", "", 0)

    def tokens_in(self, start, end):
        return self.tokens[self.index_from(start) : self.index_from(end)]

    def closing(self, offset):
        """The token that closes the bracket at the offset."""
        index = self.index_from(offset)
        opened = self.tokens[index].text
        depth = 0
        for token in self.tokens[index:]:
            if token.text == opened:
                depth += 1
            elif token.text == CLOSING[opened]:
                depth -= 1
                if depth == 0:
                    return token
        return None

    # --- text --------------------------------------------------------------------------------

    def plain(self, start, end):
        """The text on one line, without comments."""
        words = []
        tokens = self.tokens_in(start, end)
        for before, token in zip([None] + tokens, tokens):
            if before is not None and before.end != token.start:
                words.append(" ")
            words.append(token.text)
        return "".join(words)

    def has_directive(self, start, end):
        index = bisect.bisect_left(self.directives, start)
        return index < len(self.directives) and self.directives[index] < end

    def line_of(self, offset):
        return bisect.bisect_right(self.line_starts, offset)
