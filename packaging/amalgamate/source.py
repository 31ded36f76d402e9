"""The text of the core's C++ sources: tokens, and the items (declarations, directives, comments) of a scope."""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<directive>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<number>\d[\w.']*)"
    r"|(?P<mark>::|->|\[\[|\]\]|\+\+|--|&&|\|\||[<>=!+\-*/%&|^]=|\.\.\.|.)",
    re.S | re.M,
)


@dataclass
class Token:
    kind: str
    text: str
    begin: int
    end: int


def tokens_of(text):
    found = []
    for match in TOKEN.finditer(text):
        if not match.group().isspace():
            found.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
    return found


@dataclass
class Item:
    """A declaration, with the comments before it and behind it; or a directive, or comments alone."""

    kind: str  # directive, comment, record, enum, using, assertion, constant, function, field
    begin: int
    end: int
    name: str = ""
    comments: list = field(default_factory=list)
    trailing: str = ""
    is_template: bool = False
    bases: list = field(default_factory=list)
    items: list = field(default_factory=list)
    body: int = -1  # of a function or record: where its brace is
    close: int = -1
    gap: bool = False  # an empty line before it
    owner: str = ""


DROPPED = ("friend", "namespace", "public", "private", "protected")


class Source:
    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.tokens = tokens_of(text)
        self.includes = re.findall(r'^#include "(\w+\.hpp)"', text, re.M)
        self.items = self.scope(0, len(self.tokens))

    def matching(self, at):
        """The index of the token that closes the bracket at this one."""
        closing = {"(": ")", "{": "}", "[": "]"}
        opened, close = self.tokens[at].text, closing[self.tokens[at].text]
        depth = 0
        for i in range(at, len(self.tokens)):
            depth += (self.tokens[i].text == opened) - (self.tokens[i].text == close)
            if depth == 0:
                return i
        raise SystemExit(f"{self.name}: a bracket is not closed")

    def scope(self, at, end, owner=""):
        """The items among these tokens; namespaces are looked into."""
        items, comments = [], []
        gap = False
        while at < end:
            token = self.tokens[at]
            if token.kind == "comment":
                if not comments:
                    gap = self.gap_before(token)
                if comments and self.gap_before(token):
                    items.append(Item("comment", comments[0].begin, comments[-1].end, comments=comments, gap=True))
                    comments, gap = [], True
                comments.append(token)
                at += 1
            elif token.kind == "directive":
                if comments and self.gap_before(token):
                    items.append(Item("comment", comments[0].begin, comments[-1].end, comments=comments, gap=gap))
                    comments = []
                items.append(Item("directive", token.begin, token.end, comments=comments, gap=self.gap_before(token)))
                comments = []
                at += 1
            elif token.text in ("public", "private", "protected") and self.tokens[at + 1].text == ":":
                at += 2
            elif token.text == "namespace":
                while self.tokens[at].text != "{":
                    at += 1
                if comments:
                    items.append(Item("comment", comments[0].begin, comments[-1].end, comments=comments, gap=gap))
                    comments = []
                close = self.matching(at)
                items += self.scope(at + 1, close, owner)
                at = close + 1
                if at < end and self.tokens[at].kind == "comment" and "namespace" in self.tokens[at].text:
                    at += 1
            else:
                if comments and self.gap_before(token):
                    items.append(Item("comment", comments[0].begin, comments[-1].end, comments=comments, gap=gap))
                    comments = []
                if not comments:
                    gap = self.gap_before(token)
                item, at = self.item(at, end, owner)
                item.comments, comments = comments, []
                item.gap = gap
                if at < end and self.tokens[at].kind == "comment" and "\n" not in self.text[item.end : self.tokens[at].begin]:
                    item.trailing = self.tokens[at].text
                    at += 1
                if item.kind != "dropped":
                    items.append(item)
        if comments:
            items.append(Item("comment", comments[0].begin, comments[-1].end, comments=comments, gap=gap))
        return items

    def gap_before(self, token):
        return self.text[: token.begin].rstrip(" \t").endswith("\n\n")

    def item(self, at, end, owner):
        begin = at
        is_template = self.tokens[at].text == "template"
        if is_template:
            at = self.behind_angles(at + 1)
            begin = at
        first = self.tokens[at].text
        brace, is_value = -1, False
        while at < end:
            text = self.tokens[at].text
            if text == "(" or text == "[":
                at = self.matching(at)
            elif text == "{":
                brace = at
                at = self.matching(at)
                if not is_value and (at + 1 == end or self.tokens[at + 1].text != ";"):
                    break
            elif text == "=":
                is_value = True
            elif text == ";":
                break
            at += 1
        item = Item("", self.tokens[begin].begin, self.tokens[at].end, is_template=is_template, owner=owner)
        if brace >= 0:
            item.body, item.close = self.tokens[brace].begin, self.tokens[self.matching(brace)].begin
        self.classify(item, begin, at, brace, first, owner)
        return item, at + 1

    def behind_angles(self, at):
        depth = 0
        while True:
            depth += (self.tokens[at].text == "<") - (self.tokens[at].text == ">")
            at += 1
            if depth == 0:
                return at

    def classify(self, item, begin, end, brace, first, owner):
        words = self.tokens[begin : end + 1]
        texts = [token.text for token in words]
        if first == "friend" or texts[:2] == ["using", "namespace"] or "delete" in texts[-2:]:
            item.kind = "dropped"
        elif first in ("class", "struct") and brace < 0:
            item.kind = "dropped"
        elif first in ("class", "struct"):
            item.kind, item.name = "record", texts[1]
            if ":" in texts[: brace - begin]:
                after = texts[texts.index(":") + 1 : brace - begin]
                item.bases = [t for i, t in enumerate(after) if re.match(r"[a-z]", t) and t not in ("private", "public")
                              and (i == 0 or after[i - 1] in (",", "private", "public"))]
            item.items = self.scope(brace + 1, self.matching(brace), item.name)
        elif first == "enum":
            item.kind, item.name = "enum", texts[2] if texts[1] == "class" else texts[1]
        elif first == "using":
            item.kind, item.name = "using", texts[1]
        elif first == "static_assert":
            item.kind = "assertion"
        else:
            self.classify_object(item, words, texts, owner)

    def classify_object(self, item, words, texts, owner):
        i = 0
        while i < len(texts):
            if texts[i] == "__attribute__":
                i += 1
                depth = 0
                while True:
                    depth += (texts[i] == "(") - (texts[i] == ")")
                    i += 1
                    if depth == 0:
                        break
                continue
            if texts[i] == "(":
                item.kind = "function"
                item.name = ("~" if texts[i - 2] == "~" else "") + texts[i - 1]
                return
            if texts[i] in ("=", ";", "["):
                item.kind = "constant" if "constexpr" in texts[:i] else "field"
                item.name = texts[i - 1]
                return
            i += 1
        raise SystemExit(f"{self.name}: what is this? {' '.join(texts)[:80]}")
