"""What takes the place of each operator."""

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
