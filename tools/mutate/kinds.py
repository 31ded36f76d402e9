"""The kinds of mutants, and what takes the place of each operator."""

KINDS = {
    "boundary": "a comparison includes its bound, or no longer does",
    "comparison": "a comparison gives the opposite",
    "arithmetic": "another operator of numbers or bits",
    "logic": "another logical operator, or one of its operands alone",
    "condition": "a condition is negated, which swaps its branches, or always gives the same",
    "constant": "another number",
    "removal": "a statement is not there",
    "return": "a function returns at its start, with nothing done",
    "order": "a weaker memory order",
}

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMPARISON = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
ARITHMETIC = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "/",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "^": "&",
    "+=": "-=",
    "-=": "+=",
    "*=": "/=",
    "/=": "*=",
    "%=": "/=",
    "<<=": ">>=",
    ">>=": "<<=",
    "&=": "|=",
    "|=": "&=",
    "^=": "&=",
}
LOGIC = {"&&": "||", "||": "&&"}
STEP = {"++": "--", "--": "++"}
STRONG_ORDERS = ("acquire", "release", "acq_rel", "seq_cst", "consume")
ATOMIC_CALLS = (
    "load",
    "store",
    "exchange",
    "compare_exchange_strong",
    "compare_exchange_weak",
    "fetch_add",
    "fetch_sub",
    "fetch_or",
    "fetch_and",
    "fetch_xor",
    "test_and_set",
)
