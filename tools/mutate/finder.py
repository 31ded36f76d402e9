"""Finds mutants in sources, with libclang: reads one translation unit after the other, because each sees only
the code that its macros let through."""

import ctypes
import glob
import re

from clang import cindex
from clang.cindex import CursorKind as K
from clang.cindex import TypeKind

from kinds import ARITHMETIC, ATOMIC_CALLS, BOUNDARY, COMPARISON, LOGIC, STEP, STRONG_ORDERS
from mutant import Mutant, Place

FUNCTIONS = {K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.DESTRUCTOR, K.CONVERSION_FUNCTION, K.FUNCTION_TEMPLATE}
SCOPES = {
    K.NAMESPACE,
    K.LINKAGE_SPEC,
    K.UNEXPOSED_DECL,  # extern "C", in older versions
    K.CLASS_DECL,
    K.STRUCT_DECL,
    K.UNION_DECL,
    K.CLASS_TEMPLATE,
    K.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION,
}
# Nothing below these is code that runs.
UNEVALUATED = {
    K.CXX_UNARY_EXPR,  # sizeof, alignof
    K.CXX_TYPEID_EXPR,
    K.STATIC_ASSERT,
    K.TYPE_REF,
    K.TEMPLATE_REF,
    K.NAMESPACE_REF,
    K.DECL_REF_EXPR,  # its children are template arguments
    K.OVERLOADED_DECL_REF,
    K.PARM_DECL,
    K.SIZE_OF_PACK_EXPR,
    K.ASM_STMT,
    K.MS_ASM_STMT,
}
BUILTINS_WITHOUT_EFFECT = {"__builtin_expect", "__builtin_prefetch", "__builtin_unreachable"}
NUMBERS = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)$")
REAL_NUMBERS = re.compile(r"([0-9']*\.?[0-9']*(?:[eE][+-]?[0-9]+)?)([fFlL]?)$")


# --- what the bindings lack ------------------------------------------------------------------


class RangeList(ctypes.Structure):
    _fields_ = [("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange))]


def skipped_ranges(unit, path):
    """The offsets of the parts of a file that the preprocessor leaves out."""
    get = cindex.conf.lib.clang_getSkippedRanges
    get.argtypes = [cindex.TranslationUnit, cindex.File]
    get.restype = ctypes.POINTER(RangeList)
    found = get(unit, unit.get_file(path)).contents
    return tuple((found.ranges[i].start.offset, found.ranges[i].end.offset) for i in range(found.count))


def headers_of_clang():
    """The option for clang's own headers, which libclang may not find by itself."""
    folders = glob.glob("/usr/lib/llvm-*/lib/clang/*/include")
    return ["-isystem", sorted(folders)[-1]] if folders else []


# --- one translation unit --------------------------------------------------------------------


class Function:
    """Where the walk is."""

    def __init__(self, name="", is_constexpr=False, is_noreturn=False):
        self.name = name
        self.is_constexpr = is_constexpr
        self.is_noreturn = is_noreturn


class Walk:
    """Walks over the code of one file as one translation unit sees it, and adds its places to a dictionary."""

    def __init__(self, source, path, name, places):
        self.source = source
        self.path = path
        self.name = name  # of the file, in reports
        self.places = places
        self.macros = []  # ranges of calls of macros
        self.macro_ends = {}  # of all macros, by their starts
        self.function = Function()

    # --- adding --------------------------------------------------------------------------

    def add(self, form, start, end, kind, changed, code, original=None):
        if self.source.has_directive(start, end) or self.is_in_macro(start, end) or "\n" in code:
            return  # a raw string may have lines
        place = self.places.setdefault((start, end, form), Place(start, end, form, self.function.is_constexpr))
        if any(mutant.kind == kind and mutant.code == code for mutant in place.mutants):
            return
        if original is None:
            original = self.source.plain(start, end)
        place.mutants.append(
            Mutant(
                kind=kind,
                original=" ".join(original.split("\n")),
                changed=changed,
                code=code,
                file=self.name,
                function=self.function.name,
                line=self.source.line_of(start),
            )
        )

    def add_operator(self, cursor, operator, kind, other):
        """The same expression with another operator."""
        start, end = self.range_of(cursor)
        before = self.source.plain(start, operator.start)
        after = self.source.plain(operator.end, end)
        space = " " if before and after else ""
        changed = f"{before}{space}{other}{space}{after}"
        self.add("expression", start, end, kind, changed, changed)

    def range_of(self, cursor):
        """libclang may see an expression end where the macro at its end begins."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        return start, self.macro_ends.get(end, end)

    def is_in_macro(self, start, end):
        """True if the range is a part of a macro call or cuts through one. A whole call within the range is fine."""
        overlapping = [(first, last) for first, last in self.macros if first < end and start < last]
        return any(first < start or end < last for first, last in overlapping)

    def is_macro(self, start, end):
        return any(first <= start and end <= last for first, last in self.macros)

    # --- declarations --------------------------------------------------------------------

    def walk_declaration(self, cursor):
        if not self.is_here(cursor):
            return
        if cursor.kind in FUNCTIONS:
            self.walk_function(cursor)
        elif cursor.kind in SCOPES:
            for child in cursor.get_children():
                self.walk_declaration(child)
        elif cursor.kind == K.FIELD_DECL:
            self.function = Function(cursor.spelling)  # the place of its value in the report
            self.walk_initialiser(cursor)
            self.function = Function()

    def is_here(self, cursor):
        location = cursor.location
        return location.file is not None and location.file.name == self.path

    def walk_function(self, cursor):
        children = children_of(cursor)
        if not children or children[-1].kind != K.COMPOUND_STMT:
            return
        body = children[-1]
        start, end = self.range_of(body)
        words = self.words_before(cursor, start)
        before = self.function
        self.function = Function(cursor.spelling, bool(words & {"constexpr", "consteval"}), is_noreturn(cursor))
        if "consteval" not in words and self.source.text[start] == "{":
            if not self.function.is_noreturn:
                self.early_return(cursor, body)
            if cursor.kind == K.CONSTRUCTOR:
                for child in children[:-1]:
                    if child.kind.is_expression():
                        self.walk(child)
            self.walk_statement(body)
        self.function = before

    def words_before(self, cursor, end):
        """The words of a declaration; libclang's ranges leave attributes out."""
        index = self.source.index_from(cursor.extent.start.offset)
        while index > 0 and self.source.tokens[index - 1].text not in {";", "{", "}", ":", ")"}:
            index -= 1
        return {token.text for token in self.source.tokens[index : self.source.index_from(end)]}

    def early_return(self, cursor, body):
        statements = list(body.get_children())
        if not statements or cursor.spelling == "main":
            return
        result = cursor.result_type
        kind = result.get_canonical().kind
        is_void = kind == TypeKind.VOID or cursor.kind in {K.CONSTRUCTOR, K.DESTRUCTOR}
        if kind in {TypeKind.LVALUEREFERENCE, TypeKind.RVALUEREFERENCE, TypeKind.AUTO}:
            return
        if result.spelling in {"auto", "decltype(auto)", "auto *", "auto &", "const auto &"} and not is_void:
            return
        if len(statements) == 1 and is_void and statements[0].kind != K.COMPOUND_STMT:
            return  # removing the statement is the same mutant
        if len(statements) == 1 and statements[0].kind == K.RETURN_STMT:
            value = next(statements[0].get_children(), None)
            if value is None or is_literal(value):
                return
        returned = "return;" if is_void else "return {};"
        at = self.range_of(body)[0] + 1
        self.add("insertion", at, at, "return", returned, returned, original="")

    def walk_initialiser(self, cursor, start=None):
        """The initial value of a variable or a member; `start` is that of the declaration, which may declare
        others, too."""
        start = cursor.extent.start.offset if start is None else start
        words = {token.text for token in self.source.tokens_in(start, cursor.location.offset)}
        if words & {"constexpr", "static", "constinit"} or cursor.is_bitfield():
            return
        name_end = cursor.location.offset + len(cursor.spelling)
        is_array = self.source.token_from(name_end).text == "["
        for child in cursor.get_children():
            if child.extent.start.offset < name_end or not child.kind.is_expression():
                continue
            if not is_array or child.kind == K.INIT_LIST_EXPR:
                self.walk(child)

    # --- statements ----------------------------------------------------------------------

    def walk_statement(self, cursor, is_last=False):
        """A statement in a place where it can also be left out."""
        kind = cursor.kind
        children = children_of(cursor)
        if kind == K.COMPOUND_STMT:
            for child in children:
                self.walk_statement(child, child == children[-1])
        elif kind == K.IF_STMT:
            self.walk_if(cursor, children)
        elif kind in {K.WHILE_STMT, K.FOR_STMT, K.DO_STMT, K.CXX_FOR_RANGE_STMT}:
            self.walk_loop(cursor, children)
        elif kind in {K.SWITCH_STMT, K.CXX_TRY_STMT, K.CXX_CATCH_STMT}:
            for child in children:
                self.walk_either(child)
        elif kind in {K.CASE_STMT, K.DEFAULT_STMT, K.LABEL_STMT}:
            self.walk_statement(children[-1])
        elif kind == K.RETURN_STMT:
            if not children and not is_last:
                self.removal(cursor)
            for child in children:
                self.walk(child)
        elif kind in {K.BREAK_STMT, K.CONTINUE_STMT}:
            self.removal(cursor)
        elif kind == K.DECL_STMT:
            for child in children:
                if child.kind == K.VAR_DECL:
                    self.walk_initialiser(child, self.range_of(cursor)[0])
        elif kind.is_expression():
            if kind != K.CXX_THROW_EXPR or not is_last:
                self.removal(cursor)
            self.walk(cursor)
        else:
            for child in children:
                self.walk_either(child)

    def walk_either(self, cursor):
        if cursor.kind.is_statement():
            self.walk_statement(cursor)
        elif cursor.kind == K.VAR_DECL:
            self.walk_initialiser(cursor)
        else:
            self.walk(cursor)

    def removal(self, cursor):
        start, end = self.range_of(cursor)
        if self.function.is_noreturn or self.is_macro(start, end) or cursor.spelling in BUILTINS_WITHOUT_EFFECT:
            return
        if self.macro_ends.get(start, start) >= end:
            return  # a macro, which may declare something elsewhere
        if cursor.kind == K.CALL_EXPR and (is_noreturn(cursor.referenced) or does_nothing(cursor.referenced)):
            return  # without a call that does not return, the function may lack its end
        end = self.statement_end(cursor)
        if end is not None:
            self.add("removal", start, end, "removal", "", "")

    def statement_end(self, cursor):
        """The end of a statement with its semicolon, which libclang's ranges leave out."""
        if cursor.kind in {K.IF_STMT, K.FOR_STMT, K.WHILE_STMT, K.CXX_FOR_RANGE_STMT}:
            return self.statement_end(children_of(cursor)[-1])
        _, end = self.range_of(cursor)
        if cursor.kind in {K.COMPOUND_STMT, K.SWITCH_STMT, K.CXX_TRY_STMT}:
            return end
        if self.source.text[end - 1] == ";":
            return end
        semicolon = self.source.token_from(end)
        return semicolon.end if semicolon.text == ";" else None

    def walk_if(self, cursor, children):
        start, _ = self.range_of(cursor)
        index = self.source.index_from(start)
        if self.source.tokens[index].text != "if":
            return
        bracket = self.source.tokens[index + 1]
        is_constexpr = bracket.text == "constexpr"
        if is_constexpr:
            bracket = self.source.tokens[index + 2]
        closing = self.source.closing(bracket.start)
        head = [child for child in children if child.extent.start.offset < closing.start]
        branches = [child for child in children if child.extent.start.offset >= closing.end]
        if not is_constexpr:
            for child in head[:-1]:
                self.walk_either(child)
            if head and head[-1].kind.is_expression():
                self.condition(head[-1], is_forced=len(branches) == 2)
                self.walk(head[-1])
            if len(branches) == 1 and not self.is_configuration(head[-1]) and not is_removable(branches[0]):
                self.removal(cursor)
        for branch in branches:
            self.walk_statement(branch)

    def walk_loop(self, cursor, children):
        if cursor.kind == K.CXX_FOR_RANGE_STMT:
            self.removal(cursor)
        elif cursor.kind == K.FOR_STMT:
            self.walk_for(cursor, children)
            return
        else:
            condition = children[-1] if cursor.kind == K.DO_STMT else children[-2]
            if condition.kind.is_expression():
                self.loop_condition(condition)
        for child in children:
            self.walk_either(child)

    def walk_for(self, cursor, children):
        start, _ = self.range_of(cursor)
        bracket = self.source.token_from(start + len("for"))
        closing = self.source.closing(bracket.start)
        semicolons = self.semicolons_in(bracket, closing)
        if len(semicolons) != 2:
            return
        for child in children:
            offset = child.extent.start.offset
            if offset > closing.start:
                self.walk_statement(child)
            elif semicolons[0] < offset < semicolons[1]:
                self.loop_condition(child)
                self.walk(child)
            elif child.kind == K.DECL_STMT:
                self.walk_statement(child)
            else:
                self.walk(child)

    def semicolons_in(self, bracket, closing):
        """The offsets of the semicolons in the head of a loop."""
        found = []
        depth = 0
        for token in self.source.tokens_in(bracket.end, closing.start):
            depth += (token.text in "([{") - (token.text in ")]}")
            if token.text == ";" and depth == 0:
                found.append(token.start)
        return found

    # --- conditions ----------------------------------------------------------------------

    def loop_condition(self, cursor):
        """Adds a mutant that leaves the loop at once."""
        if not is_literal(cursor) and not self.is_configuration(cursor):
            start, end = self.range_of(cursor)
            self.add("condition", start, end, "condition", "false", "false")

    def condition(self, cursor, is_forced):
        """Adds the negated condition, unless a mutant of its operator does the same. is_forced: the condition chooses
        between two branches; also adds true and false."""
        if is_literal(cursor) or self.is_configuration(cursor):
            return
        start, end = self.range_of(cursor)
        text = self.source.plain(start, end)
        if not self.has_negation(cursor):
            self.add("condition", start, end, "condition", f"!({text})", f"!({text})")
        if is_forced:
            for value in "true", "false":
                self.add("condition", start, end, "condition", value, value)

    def has_negation(self, cursor):
        cursor = without_brackets(cursor)
        operator = self.operator(cursor)
        return operator is not None and (operator.text in COMPARISON or operator.text == "!")

    def is_configuration(self, cursor):
        """True if constants alone decide, such as which features the library has."""
        cursor = without_brackets(cursor)
        if cursor.kind in {K.DECL_REF_EXPR, K.MEMBER_REF_EXPR}:
            return is_constant(cursor.referenced)
        if is_literal(cursor) or cursor.kind == K.CXX_UNARY_EXPR:
            return True
        start, end = self.range_of(cursor)
        if self.is_macro(start, end):
            return True
        if cursor.kind in {K.BINARY_OPERATOR, K.UNARY_OPERATOR, K.UNEXPOSED_EXPR, K.CXX_FUNCTIONAL_CAST_EXPR}:
            children = children_of(cursor)
            return bool(children) and all(self.is_configuration(child) for child in children)
        return False

    # --- expressions ---------------------------------------------------------------------

    def walk(self, cursor):
        kind = cursor.kind
        if kind in UNEVALUATED or kind.is_reference():
            return
        start, end = self.range_of(cursor)
        if self.is_macro(start, end):
            return
        if kind.is_statement():
            self.walk_statement(cursor)
            return
        if kind == K.LAMBDA_EXPR:
            self.walk_lambda(cursor)
            return
        if kind in {K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR, K.CALL_EXPR}:
            operator = self.operator(cursor)
            if operator is not None:
                self.mutate_operator(cursor, operator)
            elif kind == K.CALL_EXPR:
                if cursor.spelling == "__builtin_expect":
                    self.walk(children_of(cursor)[1])
                if cursor.spelling in BUILTINS_WITHOUT_EFFECT:
                    return
                self.weaken(cursor)
        elif kind == K.CONDITIONAL_OPERATOR:
            self.condition(next(cursor.get_children()), is_forced=True)
        elif kind in {K.INTEGER_LITERAL, K.FLOATING_LITERAL, K.CXX_BOOL_LITERAL_EXPR}:
            self.mutate_literal(cursor)
        for child in cursor.get_children():
            self.walk(child)

    def walk_lambda(self, cursor):
        before = self.function
        is_constexpr = before.is_constexpr
        self.function = Function(before.name, is_constexpr, False)
        for child in cursor.get_children():
            if child.kind == K.COMPOUND_STMT:
                self.walk_statement(child)
        self.function = before

    def operator(self, cursor):
        """The token of an operator as it is written, built in or overloaded. None: a call, or in a macro."""
        children = children_of(cursor)
        start, end = self.range_of(cursor)
        if cursor.kind == K.UNARY_OPERATOR or (cursor.kind == K.CALL_EXPR and cursor.spelling == "operator!"):
            operand = self.range_of(children[0]) if children else (start, end)
            first = self.source.token_from(start)
            if first.start == start and operand[0] != start:
                return first
            last = self.source.token_before(end)
            return last if last.end == end and last.text in STEP else None
        if cursor.kind == K.CALL_EXPR:
            if cursor.spelling[len("operator") :] not in COMPARISON or len(children) != 3:
                return None
            children = [children[0], children[2]]
        if cursor.kind not in {K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.CALL_EXPR} or len(children) != 2:
            return None
        token = self.source.token_from(self.range_of(children[0])[1])
        is_between = token.start < self.range_of(children[1])[0]
        return token if is_between and token.kind == "sign" else None

    def mutate_operator(self, cursor, operator):
        text = operator.text
        if cursor.kind == K.UNARY_OPERATOR:
            self.mutate_unary(cursor, operator)
        elif text in COMPARISON:
            if self.is_configuration(cursor):
                return
            if text in BOUNDARY:
                self.add_operator(cursor, operator, "boundary", BOUNDARY[text])
            self.add_operator(cursor, operator, "comparison", COMPARISON[text])
        elif text in LOGIC:
            self.mutate_logic(cursor, operator)
        elif text in ARITHMETIC:
            self.add_operator(cursor, operator, "arithmetic", ARITHMETIC[text])

    def mutate_unary(self, cursor, operator):
        start, end = self.range_of(cursor)
        text = operator.text
        if text in STEP:
            self.add_operator(cursor, operator, "arithmetic", STEP[text])
        elif text in {"!", "-", "~"}:
            operand = self.source.plain(operator.end, end)
            if text == "!":
                if not self.is_configuration(cursor):
                    self.add("expression", start, end, "logic", operand, f"!!{operand}")
            else:
                self.add("expression", start, end, "arithmetic", operand, f"+{operand}")

    def mutate_logic(self, cursor, operator):
        start, end = self.range_of(cursor)
        left, right = children_of(cursor)
        is_left_constant, is_right_constant = self.is_configuration(left), self.is_configuration(right)
        if is_left_constant and is_right_constant:
            return
        self.add_operator(cursor, operator, "logic", LOGIC[operator.text])
        inner = self.operator(without_brackets(left))
        is_chain = inner is not None and inner.text == operator.text
        if not is_chain and not is_left_constant:
            self.add_operand(start, end, operator.end, end)
        if not is_right_constant:
            self.add_operand(start, end, start, operator.start)

    def add_operand(self, start, end, first, last):
        operand = self.source.plain(first, last)
        self.add("expression", start, end, "logic", operand, f"!!({operand})")

    def mutate_literal(self, cursor):
        start, end = self.range_of(cursor)
        token = self.source.token_from(start)
        if token.start != start or self.source.token_before(start).text == "<":  # a template argument
            return
        other = another_number(token.text)
        if other is not None:
            self.add("expression", start, token.end, "constant", other, other)

    # --- memory orders -------------------------------------------------------------------

    def weaken(self, cursor):
        """One mutant for each order that a call names, or for the strongest if it could name one and does not."""
        start, end = self.range_of(cursor)
        inner = [self.range_of(child) for child in calls_in(cursor)]
        is_named = False
        for token in self.source.tokens_in(start, end):
            if any(first <= token.start < last for first, last in inner):
                continue
            weaker = relaxed(token.text)
            is_named |= weaker is not None
            if weaker is not None and weaker != token.text:
                call = self.source.plain(start, token.start) + weaker + self.source.plain(token.end, end)
                self.add("expression", start, end, "order", call, call)
        if not is_named and cursor.spelling in ATOMIC_CALLS and self.source.text[end - 1] == ")":
            if "atomic" in (cursor.referenced.semantic_parent.spelling if cursor.referenced else ""):
                arguments = self.source.plain(start, end - 1)
                comma = "" if arguments.endswith("(") else ", "
                call = f"{arguments}{comma}std::memory_order_relaxed)"
                self.add("expression", start, end, "order", call, call)


# --- helpers -----------------------------------------------------------------------------------


def children_of(cursor):
    return list(cursor.get_children())


def without_brackets(cursor):
    """The expression without brackets, and without conversions that the compiler adds."""
    while cursor.kind in {K.PAREN_EXPR, K.UNEXPOSED_EXPR}:
        children = children_of(cursor)
        if len(children) != 1:
            return cursor
        cursor = children[0]
    return cursor


def is_literal(cursor):
    kinds = {K.INTEGER_LITERAL, K.FLOATING_LITERAL, K.CXX_BOOL_LITERAL_EXPR, K.CXX_NULL_PTR_LITERAL_EXPR}
    return without_brackets(cursor).kind in kinds


def is_removable(branch):
    """True if a branch is one statement that is removed by itself."""
    if branch.kind == K.COMPOUND_STMT:
        children = children_of(branch)
        return len(children) == 1 and is_removable(children[0])
    if branch.kind == K.RETURN_STMT:
        return not children_of(branch)
    if branch.kind in {K.CALL_EXPR, K.UNEXPOSED_EXPR}:
        call = without_brackets(branch)
        return call.kind == K.CALL_EXPR and not is_noreturn(call.referenced)
    operators = {K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.UNARY_OPERATOR}
    return branch.kind in operators | {K.BREAK_STMT, K.CONTINUE_STMT}


def is_constant(declaration):
    if declaration is None:
        return False
    if declaration.kind in {K.ENUM_CONSTANT_DECL, K.TEMPLATE_NON_TYPE_PARAMETER}:
        return True
    return declaration.kind == K.VAR_DECL and any(token.spelling == "constexpr" for token in declaration.get_tokens())


def is_noreturn(declaration):
    return declaration is not None and any(
        child.kind.is_attribute() and any("noreturn" in token.spelling for token in child.get_tokens())
        for child in declaration.get_children()
    )


def does_nothing(function):
    """True if the body is empty, as for checks that this build leaves out."""
    definition = function.get_definition() if function is not None else None
    bodies = [child for child in children_of(definition) if child.kind == K.COMPOUND_STMT] if definition else []
    return any(not children_of(body) for body in bodies)


def calls_in(cursor):
    """The outermost calls within an expression, except the expression itself."""
    for child in cursor.get_children():
        if child.kind == K.CALL_EXPR:
            yield child
        else:
            yield from calls_in(child)


def relaxed(word):
    """The weakest memory order in the spelling of `word`; None if `word` is no order."""
    match = re.fullmatch(r"(memory_order_|memory_order::|__ATOMIC_)(\w+)", word)
    if match is None or match[2].lower() not in (*STRONG_ORDERS, "relaxed"):
        return None
    return match[1] + ("RELAXED" if match[2].isupper() else "relaxed")


def another_number(text):
    if text in {"true", "false"}:
        return "false" if text == "true" else "true"
    match = NUMBERS.match(text)
    if match is not None:
        digits = match[1].replace("'", "")
        is_octal = digits.startswith("0") and digits.isdigit() and len(digits) > 1
        number = int(digits, 8) if is_octal else int(digits, 0)
        return f"{number + 1}{match[2]}"
    match = REAL_NUMBERS.match(text)
    return f"({text} + 1)" if match is not None and match[1] else None


# --- all translation units -----------------------------------------------------------------------


class Finder:
    """Collects the places in sources. `sources` and `names` are by path."""

    def __init__(self, sources, names):
        self.sources = sources
        self.names = names
        self.index = cindex.Index.create()
        self.seen = set()  # files as a preprocessor shows them
        self.places = {}  # of a file, by range and form
        self.headers = headers_of_clang()

    def read(self, path, arguments):
        """Walks the sources in a translation unit, except sources that looked the same in another unit.
        Returns true if it walked any."""
        # Flags of gcc's optimiser, which clang may not know.
        known = [word for word in arguments if not word.startswith(("-O", "-fno-tree"))]
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        unit = self.index.parse(path, args=known + self.headers, options=options)
        here = {path} | {include.include.name for include in unit.get_includes()}
        fresh = {}
        for file in self.sources.keys() & here:
            look = (file, skipped_ranges(unit, file))
            if look not in self.seen:
                self.seen.add(look)
                places = self.places.setdefault(file, {})
                fresh[file] = Walk(self.sources[file], file, self.names[file], places)
        if not fresh:
            return False
        for cursor in unit.cursor.get_children():
            location = cursor.location
            walk = fresh.get(location.file.name) if location.file is not None else None
            if walk is None:
                continue
            if cursor.kind == K.MACRO_INSTANTIATION:
                start, end = cursor.extent.start.offset, cursor.extent.end.offset
                walk.macro_ends[start] = end
                if walk.source.text[end - 1] == ")":
                    walk.macros.append((start, end))
        for cursor in unit.cursor.get_children():
            location = cursor.location
            walk = fresh.get(location.file.name) if location.file is not None else None
            if walk is not None and not cursor.kind.is_preprocessing():
                walk.walk_declaration(cursor)
        return True
