"""What the text of the core means, told by clang: which edits of an expression make C of it.

C has no members, references, overloads or constructors. Edits are kept by the offset in a file that
they apply to, so all that they leave alone, comments and macros included, stays as it was written.
"""
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

# Classes whose static members become functions and constants without the name of the class.
FLAT = {"geometry"}
# Written by hand in tickwheel.c.in, because C has no templates over types or numbers.
BY_HAND = {"smaller", "larger", "is_at_most", "is_below", "wheel_in", "read", "unlikely"}
# Made once for each list of arguments: see writer.py.
REPEATED = {"call", "call_locked"}
# Classes that stand for each other, by the settings.
C_NAMES = {"slot_engine": "engine", "tree_engine": "engine"}


class Untranslatable(Exception):
    pass


class Edits:
    """Edits of one file: replaced stretches, and what is inserted before or behind an offset."""

    def __init__(self):
        self.replaced = {}  # begin: (end, text)
        self.before = defaultdict(list)  # outer first
        self.behind = defaultdict(list)  # inner first

    def merge(self, other, name):
        for begin, edit in other.replaced.items():
            if self.replaced.setdefault(begin, edit) != edit:
                raise Untranslatable(f"{name}:{begin}: {self.replaced[begin]} or {edit}, by the settings")
        for mine, others in ((self.before, other.before), (self.behind, other.behind)):
            for at, texts in others.items():
                if mine.setdefault(at, texts) != texts:
                    raise Untranslatable(f"{name}:{at}: {mine[at]} or {texts}, by the settings")


def syntax_tree(clang, root, config_dir):
    """The syntax tree of the core, each location with its file."""
    command = [clang, "-std=c++20", "-O2", "-ffreestanding", "-fsyntax-only", "-Xclang", "-ast-dump=json",
               f"-I{config_dir}", f"-I{root}/include", f"-I{root}/src",
               f'-DTW_PORT_HEADER="{root}/src/ports/none/port.h"', f"{root}/src/core/c_api.cpp"]
    made = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if made.returncode != 0:
        raise SystemExit(f"{clang} does not compile the core")
    tree = json.loads(made.stdout.replace(b"(anonymous namespace)::", b""))
    file = [""]

    def locate(node):  # in the order of the text, as a file is named only where it changes
        if isinstance(node, list):
            for inner in node:
                locate(inner)
        elif isinstance(node, dict):
            if "offset" in node:
                file[0] = node.get("file", file[0])
                node["file"] = file[0]
            for key, inner in node.items():
                if key not in ("includedFrom", "inner", "referencedDecl", "type"):
                    locate(inner)
            locate(node.get("inner", ()))

    sys.setrecursionlimit(100000)
    locate(tree)
    return tree


def place(location):
    """The offset, length and file of a location as written; None inside of a macro's definition."""
    if "spellingLoc" in location:
        if not location["expansionLoc"].get("isMacroArgExpansion"):
            return None
        location = location["spellingLoc"]
    if "offset" not in location:
        return None
    return location["offset"], location["tokLen"], os.path.basename(location["file"])


class Meaning:
    """The edits of one instantiation of the core, and the C names of what it declares."""

    def __init__(self, tree, sources):
        self.sources = sources
        self.declarations = {}
        self.owner = {}  # of a declaration: the name of its class, "" in a namespace
        self.names = {}
        self.constants = {}
        self.overloads = defaultdict(list)
        self.instances = defaultdict(list)  # of repeated templates: their edits
        self.edits = {name: Edits() for name in sources}
        self.functions = []
        self.parameters = {}
        for node in tree["inner"]:
            if node["kind"] == "NamespaceDecl" and node.get("name") in ("tickwheel", None):
                self.declare(node, "", False)
            elif node["kind"] in ("FunctionDecl", "LinkageSpecDecl"):
                self.declare_public(node)
        self.name_overloads()
        for node, owner in self.functions:
            self.function(node, owner)

    # --- declarations ------------------------------------------------------------------------

    def declare_public(self, node):
        for inner in [node] + node.get("inner", []):
            if inner["kind"] == "FunctionDecl" and any(i["kind"] == "CompoundStmt" for i in inner.get("inner", ())):
                where = place(inner["loc"])
                if where and where[2] == "c_api.cpp":
                    self.functions.append((inner, None))

    def declare(self, node, owner, is_pattern):
        kind, name = node["kind"], node.get("name", "")
        inner = node.get("inner", [])
        if kind in ("NamespaceDecl", "LinkageSpecDecl"):
            for each in inner:
                self.declare(each, owner, False)
        elif kind == "ClassTemplateDecl":
            for each in inner:
                if each["kind"] == "ClassTemplateSpecializationDecl":
                    self.declare(each, owner, False)
        elif kind == "FunctionTemplateDecl":
            patterns = [each for each in inner if each["kind"] in ("FunctionDecl", "CXXMethodDecl")]
            for each in patterns[1:]:
                self.declare(each, owner, False)
        elif kind in ("CXXRecordDecl", "ClassTemplateSpecializationDecl"):
            self.declarations[node["id"]] = node
            for each in inner:
                self.declare(each, C_NAMES.get(name, name), False)
        elif kind == "EnumDecl":
            for each in inner:
                if each["kind"] == "EnumConstantDecl" and node.get("scopedEnumTag"):
                    self.constants[each["id"]] = f"twc_{name}_{each['name']}"
        elif kind == "VarDecl":
            if node.get("constexpr") or node.get("inline") or "const" in node["type"]["qualType"]:
                self.constants[node["id"]] = f"TWC_{name.upper()}"
        elif kind == "FieldDecl":
            self.declarations[node["id"]] = node
        elif kind in ("FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl"):
            self.declarations[node["id"]] = node
            self.owner[node["id"]] = owner
            if node.get("isImplicit") or node.get("explicitlyDeleted"):
                return
            self.parameters[node["id"]] = [each for each in inner if each["kind"] == "ParmVarDecl"]
            self.names[node["id"]] = self.plain_name(node, owner)
            if kind == "FunctionDecl" and name not in REPEATED | BY_HAND:
                where = place(node["loc"])
                if where not in self.overloads[name]:
                    self.overloads[name].append(where)
            self.functions.append((node, owner))

    def plain_name(self, node, owner):
        name = node["name"]
        if node["kind"] == "CXXConstructorDecl":
            return f"twc_{owner}_make"
        if node["kind"] == "CXXDestructorDecl":
            return f"twc_{owner}_end"
        return f"twc_{name}" if not owner or owner in FLAT else f"twc_{owner}_{name}"

    def name_overloads(self):
        """The first of several functions of one name keeps it; the others add what tells them apart."""
        for node, owner in self.functions:
            if owner == "" and len(self.overloads.get(node["name"], ())) > 1:
                if place(node["loc"]) == self.overloads[node["name"]][0]:
                    continue
                last = self.parameters[node["id"]][-1]["type"]["qualType"]
                suffix = "const" if node["name"] == "node_of" else re.sub(r"[^\w]|const|tw_|struct", "", last)
                self.names[node["id"]] += "_" + suffix

    # --- edits -------------------------------------------------------------------------------

    def function(self, node, owner):
        where = place(node["loc"])
        body = [each for each in node.get("inner", ()) if each["kind"] == "CompoundStmt"]
        if not body or where is None or where[2] not in self.sources or node["name"] in BY_HAND:
            return
        self.file = where[2]
        self.text = self.sources[self.file].text
        self.now = Edits()
        self.returns_reference = node["type"]["qualType"].split("(")[0].rstrip().endswith("&")
        if node["kind"] in ("FunctionDecl", "CXXMethodDecl") and owner is not None:
            self.replace(where[0], where[0] + where[1], self.names[node["id"]])
        if self.returns_reference:
            self.star_for_ampersand(where[0])
        for parameter in node["inner"]:
            if parameter["kind"] == "ParmVarDecl":
                self.declarator(parameter)
        for each in node["inner"]:
            if each["kind"] == "CXXCtorInitializer":
                for value in each.get("inner", ()):
                    self.initializer(each, value)
        self.statement(body[0], None)
        if node["name"] in REPEATED:
            self.instances[node["name"]].append((node, self.now))
        else:
            self.edits[self.file].merge(self.now, self.file)

    def initializer(self, initializer, value):
        if place(value["range"]["begin"]) is None or value["kind"] == "CXXDefaultInitExpr":
            return
        field = initializer.get("anyInit")
        if field and field["type"]["qualType"].endswith("&"):
            self.address(value)
        else:
            self.value(value)

    def replace(self, begin, end, text):
        self.now.replaced[begin] = (end, text)

    def begin(self, node):
        where = place(node["range"]["begin"])
        return where[0] if where and where[2] == self.file else None

    def end(self, node):
        where = place(node["range"]["end"])
        return where[0] + where[1] if where and where[2] == self.file else None

    def is_written(self, node):
        return self.begin(node) is not None and self.end(node) is not None

    def fail(self, node, why):
        at = self.begin(node) or 0
        line = self.text.count("\n", 0, at) + 1
        raise Untranslatable(f"src/core/{self.file}:{line}: {why}: {self.text[at:at + 60]!r}")

    def star_for_ampersand(self, name_at):
        at = self.text.rindex("&", 0, name_at)
        self.replace(at, at + 1, "*")

    def declarator(self, variable):
        """A variable or parameter: a reference is a pointer in C."""
        at, length, _ = place(variable["loc"]) or (None, 0, None)
        if at is not None and variable.get("name") and variable["type"]["qualType"].endswith("&"):
            self.star_for_ampersand(at)
        if variable["kind"] == "ParmVarDecl" and at is not None and variable.get("name"):
            default = re.compile(r"\s*(= *\w+)").match(self.text, at + length)
            if default:
                self.replace(default.start(1), default.end(1), "")

    # Statements, and expressions of which nothing more is known.
    def statement(self, node, parent):
        handler = getattr(self, "on_" + node.get("kind", "none"), None)
        if handler:
            handler(node, parent)
        else:
            self.inner(node)

    def inner(self, node):
        for each in node.get("inner", ()):
            if each.get("kind"):
                self.value(each, node)

    def on_ReturnStmt(self, node, parent):
        for each in node.get("inner", ()):
            if self.returns_reference:
                self.address(each)
            else:
                self.value(each, node)
            if each.get("type", {}).get("qualType") == "void":
                begin = self.begin(node)
                self.replace(begin, begin + len("return"), "{")
                at = self.text.index(";", self.end(each)) + 1
                self.now.behind[at].append(" return; }")

    def on_IfStmt(self, node, parent):
        inner = list(node["inner"])
        if node.get("hasVar"):
            self.fail(node, "a variable as a condition")
        if node.get("hasInit"):
            if parent is None or parent["kind"] != "CompoundStmt":
                self.fail(node, "an if with a variable, not directly in a block")
            first = inner.pop(0)
            self.statement(first, node)
            self.replace(self.begin(node), self.begin(first), "")
            self.now.behind[self.end(first)].append("\nif (")
        condition, then = inner[0], inner[1]
        self.value(condition, node)
        self.statement(then, node)
        for each in inner[2:]:
            self.statement(each, node)

    def on_WhileStmt(self, node, parent):
        if node.get("hasVar"):
            self.fail(node, "a variable as a condition")
        self.inner(node)

    def on_CXXForRangeStmt(self, node, parent):
        begin = self.begin(node)
        match = re.compile(r"for \(([^:]*?)&(\w+) : (\w+)\)").match(self.text, begin)
        if match is None:
            self.fail(node, "a for over what is not an array")
        kind, name, array = match.groups()
        array = f"self->{array.rstrip('_')}"
        self.replace(begin, match.end(), f"for (struct {kind.strip()} *{name} = {array}; "
                                         f"{name} != {array} + sizeof {array} / sizeof *{array}; ++{name})")
        self.statement(node["inner"][-1], node)

    def on_CompoundStmt(self, node, parent):
        self.scope_ends = getattr(self, "scope_ends", [])
        self.scope_ends.append([])
        for each in node.get("inner", ()):
            self.statement(each, node)
        for name in self.scope_ends.pop():
            if re.search(r"\breturn\b", self.text[self.begin(node):self.end(node)]):
                self.fail(node, "a return out of a scope with a destructor")
            self.now.before[self.end(node) - 1].append(name)

    def on_DeclStmt(self, node, parent):
        for each in node.get("inner", ()):
            if each["kind"] == "VarDecl":
                self.variable(each)

    def variable(self, node):
        self.declarator(node)
        at, length, _ = place(node["loc"])
        begin = self.begin(node)
        if "auto" in self.text[begin:at].split():
            of = re.compile(r"(?:static|reinterpret)_cast<([\w:]+)>").search(self.text, at)
            word = self.text.index("auto", begin)
            self.replace(word, word + 4, of.group(1).split("::")[-1] if "std" in of.group(1) else
                         {"digits": "twc_digits"}.get(of.group(1), of.group(1)))
        inits = [each for each in node.get("inner", ()) if each["kind"].endswith(("Expr", "Operator", "Literal",
                                                                                   "ExprWithCleanups"))]
        if not inits:
            return
        init = inits[0]
        core = self.stripped(init)
        if core["kind"] == "CXXConstructExpr" and self.constructor_of(core):
            self.construction(node, core, at + length)
        elif node["type"]["qualType"].endswith("&"):
            self.address(init)
        elif core["kind"] == "InitListExpr":
            if any(each["kind"] == "CXXDefaultInitExpr" for each in core.get("inner", ())):
                self.fail(node, "C has no initializers of members")
            if self.text[self.begin(core) : self.end(core)] == "{}":  # which C has only since C23
                return self.replace(self.begin(core), self.end(core), "{0}")
            for each in core.get("inner", ()):
                self.value(each, core)
        else:
            if core["kind"] == "CXXConstructExpr" and self.initializes_members(core):
                self.fail(node, "C has no initializers of members")
            self.value(init, node)

    def initializes_members(self, node):
        """True if members of this class have initializers, which a constructor that is not written would run."""
        name = node["type"]["qualType"].split("::")[-1]
        return any(each.get("hasInClassInitializer") for record in self.declarations.values()
                   if record["kind"] == "CXXRecordDecl" and record.get("name") == name
                   for each in record.get("inner", ()))

    def constructor_of(self, node):
        """The class whose constructor this calls, if it is one of ours that is written."""
        name = re.sub(r"<.*|.*::", "", re.sub(r"<.*", "", node["type"]["qualType"]))
        written = any(item.kind == "record" and item.name == name and any(i.name == name for i in item.items)
                      for source in self.sources.values() for item in source.items)
        return name if written else None

    def construction(self, variable, node, name_end):
        """T x(a) becomes T x = T_make(a); with a destructor, T_begin(&x, a) and at the end of the scope T_end(&x)."""
        name = self.constructor_of(node)
        if any(each["kind"] == "CXXDestructorDecl" and not each.get("isImplicit")
               for record in self.declarations.values() if record.get("name") == name for each in record.get("inner", ())):
            self.replace(name_end, name_end + 1, f"; twc_{name}_begin(&{variable['name']}, ")
            self.scope_ends[-1].append(f"twc_{name}_end(&{variable['name']});\n")
        else:
            self.replace(name_end, name_end + 1, f" = twc_{name}_make(")
        constructor = [d for d in self.declarations.values() if d["kind"] == "CXXConstructorDecl"
                       and d["name"] == name and not d.get("isImplicit")]
        self.arguments(node["inner"], self.parameters[constructor[0]["id"]], self.end(variable) - 1)

    # --- expressions -------------------------------------------------------------------------

    SEE_THROUGH = {"ExprWithCleanups", "ConstantExpr", "CXXBindTemporaryExpr", "FullExpr", "MaterializeTemporaryExpr"}

    def stripped(self, node):
        while node["kind"] in self.SEE_THROUGH or (node["kind"] == "ImplicitCastExpr" and node["castKind"] == "NoOp"):
            node = node["inner"][0]
        return node

    def is_base_cast(self, node):
        return node["kind"] == "ImplicitCastExpr" and node["castKind"] in ("UncheckedDerivedToBase", "DerivedToBase")

    def base_cast(self, node):
        """A cast to the base that an expression stands for. Each base begins where what it is a base of begins."""
        name = node["path"][-1]["name"].split("<")[0].split("::")[-1]
        return f"(struct twc_{C_NAMES.get(name, name)} *)"

    def is_reference(self, node):
        """True if in C this is a pointer to what it is in C++."""
        node = self.stripped(node)
        kind = node["kind"]
        if kind == "DeclRefExpr":
            return node["referencedDecl"]["type"]["qualType"].endswith("&")
        if kind == "MemberExpr":
            field = self.declarations.get(node["referencedMemberDecl"])
            return bool(field) and field["kind"] == "FieldDecl" and field["type"]["qualType"].endswith("&")
        if kind in ("CallExpr", "CXXMemberCallExpr", "CXXReinterpretCastExpr", "CXXStaticCastExpr"):
            return node["valueCategory"] == "lvalue"
        if kind == "ParenExpr":
            return self.is_reference(node["inner"][0])
        return False

    def is_star(self, node):
        return node["kind"] == "UnaryOperator" and node["opcode"] == "*" and self.is_written(node)

    def value(self, node, parent=None):
        """An expression that is used for its value, or assigned to."""
        node = self.stripped(node)
        if node.get("valueCategory") == "lvalue" and node["kind"] != "ParenExpr" and self.is_reference(node):
            if self.begin(node) is not None:
                self.now.before[self.begin(node)].append("*")
        self.raw(node, parent)

    def raw(self, node, parent=None):
        handler = getattr(self, "on_" + node["kind"], None)
        if handler:
            handler(node, parent)
        else:
            self.inner(node)

    def address(self, node):
        """An expression of which C needs the address: it is bound to a reference, or is an object of a call."""
        if node["kind"] == "MaterializeTemporaryExpr" and not self.is_reference(node["inner"][0]):
            self.fail(node, "a temporary that is bound to a reference; give it a name")
        node = self.stripped(node)
        if self.is_base_cast(node):
            self.now.before[self.begin(node)].append(self.base_cast(node))
            self.address(node["inner"][0])
        elif self.is_star(node):
            at = self.begin(node)
            self.replace(at, at + 1, "")
            self.value(node["inner"][0])
        elif self.is_reference(node):
            self.raw(node)
        elif node["kind"] == "ConditionalOperator":
            condition, one, other = node["inner"]
            self.value(condition)
            self.address(one)
            self.address(other)
        elif node["kind"] == "ParenExpr":
            self.address(node["inner"][0])
        else:
            self.now.before[self.begin(node)].append("&")
            self.raw(node)

    def object(self, node):
        """An expression before a member; returns the operator that the member is reached by."""
        node = self.stripped(node)
        if self.is_base_cast(node):
            self.now.before[self.begin(node)].append("(" + self.base_cast(node))
            self.address(node["inner"][0])
            self.now.behind[self.end(node)].append(")")
            return "->"
        if self.is_reference(node):
            self.raw(node)
            return "->"
        self.raw(node)
        return "."

    def implicit_this(self, node):
        """For a member without an object: self as the class that has it. Else None."""
        found = "self"
        while node["kind"] == "ImplicitCastExpr":
            if self.is_base_cast(node):
                found = self.base_cast(node) + "self"
            node = node["inner"][0]
        return found if node["kind"] == "CXXThisExpr" and node.get("implicit") else None

    def on_CXXThisExpr(self, node, parent):
        if not node.get("implicit"):
            self.replace(self.begin(node), self.begin(node) + 4, "self")

    def on_MemberExpr(self, node, parent):
        end = place(node["range"]["end"])
        if end is None:
            return self.inner(node)
        field = self.declarations.get(node["referencedMemberDecl"])
        if node["referencedMemberDecl"] in self.constants:
            return self.replace(self.begin(node), self.end(node), self.constants[node["referencedMemberDecl"]])
        base = node["inner"][0]
        this = self.implicit_this(base)
        name = node["name"].rstrip("_") if field else node["name"]
        self.replace(end[0], end[0] + end[1], name)
        if this is not None:
            self.now.before[end[0]].append("self->" if this == "self" else f"({this})->")
        elif node["isArrow"] and self.is_base_cast(base):
            self.now.before[self.begin(base)].append("(" + self.base_cast(base))
            self.value(base["inner"][0])
            self.now.behind[self.end(base)].append(")")
        elif node["isArrow"]:
            self.value(base)
        elif self.object(base) == "->":
            self.replace(end[0] - 1, end[0], "->")

    def on_CXXMemberCallExpr(self, node, parent):
        callee = node["inner"][0]
        while callee["kind"] == "ParenExpr":
            callee = callee["inner"][0]
        method = callee["referencedMemberDecl"]
        name = self.names.get(method) or self.fail(node, "a call of an unknown member")
        arguments = node["inner"][1:]
        comma = ", " if arguments else ""
        this = self.implicit_this(callee["inner"][0])
        opening = self.text.index("(", self.end(callee))
        if this is not None:
            self.replace(self.begin(callee), opening + 1, f"{name}({this}{comma}")
        else:
            base = callee["inner"][0]
            self.now.before[self.begin(node)].append(name + "(")
            if callee["isArrow"] and self.is_base_cast(base):
                self.now.before[self.begin(base)].append(self.base_cast(base))
                self.value(base["inner"][0])
            elif callee["isArrow"]:
                self.value(base)
            else:
                self.address(base)
            self.replace(self.end(base), opening + 1, comma)
        self.arguments(arguments, self.parameters[method], self.end(node) - 1)

    def on_CallExpr(self, node, parent):
        callee, arguments = node["inner"][0], node["inner"][1:]
        inner = self.stripped(callee)
        while inner["kind"] == "ImplicitCastExpr":
            inner = inner["inner"][0]
        if inner["kind"] != "MemberExpr" or inner["referencedMemberDecl"] not in self.names:
            self.value(callee)
        declared = inner.get("referencedDecl", {}).get("id")
        if inner["kind"] == "MemberExpr" and inner["referencedMemberDecl"] in self.names:  # static
            declared = inner["referencedMemberDecl"]
            self.replace(self.begin(inner), self.end(inner), self.names[declared])
        self.arguments(arguments, self.parameters.get(declared, []), (self.end(node) or 1) - 1)

    def arguments(self, arguments, parameters, closing):
        for i, each in enumerate(arguments):
            if each["kind"] == "CXXDefaultArgExpr":
                self.now.before[closing].append((", " if i else "") + self.default_of(parameters[i]))
            elif each.get("valueCategory") in ("lvalue", "xvalue"):
                self.address(each)
            else:
                self.value(each)

    def default_of(self, parameter):
        at, length, file = place(parameter["loc"])
        text = re.compile(r"\s*= *(\w+)").match(self.sources[file].text, at + length).group(1)
        return {"nullptr": "NULL", "never": "TWC_NEVER"}.get(text, text)

    def on_UnaryOperator(self, node, parent):
        operand = node["inner"][0]
        at = self.begin(node)
        if node["opcode"] != "&":
            return self.value(operand)
        if at is None or self.text[at] != "&":  # in a macro
            return self.value(operand)
        member = operand.get("referencedDecl", {})
        if member.get("kind") == "FieldDecl":  # a pointer to a member: its offset
            return self.replace(at, self.end(operand), f"offsetof(struct twc_{self.holder(member['id'])}, {member['name']})")
        if self.is_reference(operand):
            self.replace(at, at + 1, "")
            return self.raw(self.stripped(operand))
        self.raw(self.stripped(operand))

    def holder(self, field):
        """The class that has a member."""
        return next(record["name"] for record in self.declarations.values()
                    if any(each.get("id") == field for each in record.get("inner", ()) if record["kind"] != "FieldDecl"))

    def on_DeclRefExpr(self, node, parent):
        target = node["referencedDecl"]
        name = self.constants.get(target["id"]) or self.names.get(target["id"])
        if target.get("name") in BY_HAND and target["kind"] in ("FunctionDecl", "CXXMethodDecl"):
            name = "twc_" + target["name"]
        if target.get("name") in REPEATED:
            return  # see writer.py
        if name and self.is_written(node):
            self.replace(self.begin(node), self.end(node), name)

    def on_SubstNonTypeTemplateParmExpr(self, node, parent):
        return

    def on_CXXReinterpretCastExpr(self, node, parent):
        if node["valueCategory"] == "lvalue":
            self.address(node["inner"][0])
        else:
            self.value(node["inner"][0])

    def on_CXXOperatorCallExpr(self, node, parent):
        _, left, right = node["inner"]
        right = self.stripped(right)
        while right["kind"] in ("CXXFunctionalCastExpr", "CXXConstructExpr") and right.get("inner"):
            right = self.stripped(right["inner"][0])
        if self.text[: self.end(node)].endswith("{}"):
            self.now.before[self.begin(node)].append("__builtin_memset(")
            self.address(left)
            kind = re.sub(r"<.*", "", right["type"]["qualType"]).split("::")[-1]
            kind = kind if kind.startswith("tw_") else "twc_" + kind
            at = self.text.index("=", self.end(left))
            return self.replace(at, self.end(node), f", 0, sizeof(struct {kind}))")
        if right["kind"] != "InitListExpr":
            self.value(left)
            return self.value(right)
        self.value(left)
        self.raw(right)

    def on_CXXFunctionalCastExpr(self, node, parent):
        core = self.stripped(node["inner"][0])
        if core["kind"] == "InitListExpr":  # tick{1}: writer.py makes a cast of it
            for each in core.get("inner", ()):
                self.value(each)
        else:
            self.inner(node)

    def on_InitListExpr(self, node, parent):
        """A braced value inside of an expression: a function makes it, as C++ has no compound literals."""
        if "struct" not in node["type"]["qualType"] and "::" not in node["type"]["qualType"]:
            return self.inner(node)
        kind = re.sub(r"<.*", "", node["type"]["qualType"]).split("::")[-1]
        begin, end = self.begin(node), self.end(node)
        self.replace(begin, begin + 1, f"twc_{kind}_of(")
        self.replace(end - 1, end, ")")
        self.inner(node)

    def on_CXXNewExpr(self, node, parent):
        match = re.compile(r"new \((.*?)\) (\w+)\(\)").match(self.text, self.begin(node))
        where, kind = match.groups()
        self.replace(match.start(), match.end(),
                     f"(struct twc_{kind} *)__builtin_memset({where}, 0, sizeof(struct twc_{kind}))")
