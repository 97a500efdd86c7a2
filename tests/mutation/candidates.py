# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds the places of C++ sources that can be mutated, by libclang (python3-clang-14).

A place is left out if it must be known to the compiler (constexpr, a label of a case), if a macro hides it, or if its
mutants are known to change nothing that a test can see: logs, capacities, freed resources, bounds of `for`.
"""

import pathlib
import re
import typing

from clang import cindex

import kinds

Kind = cindex.CursorKind
Type = cindex.TypeKind

FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.CONVERSION_FUNCTION,
             Kind.FUNCTION_TEMPLATE}
# These words, and these nodes, have values that the compiler must know.
CONSTANT = re.compile(rb"\b(?:constexpr|consteval|constinit)\b")
CONSTANT_NODES = {Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.TEMPLATE_TYPE_PARAMETER}
# No test can see whether these functions are called, or with which arguments.
UNSEEN = re.compile(r"^(?:reserve|shrink_to_fit|close|error|warning|info|notice|debug|unregisterAdaptor|pthread_setname_np"
                    r"|.*_(?:free|unref)|g_strfreev)$")
# A signal may interrupt a system call at any time, but no test sends one then.
INTERRUPTED = "EINTR"
NUMBERS = {Type.INT, Type.UINT, Type.LONG, Type.ULONG, Type.LONGLONG, Type.ULONGLONG, Type.SHORT, Type.USHORT,
           Type.DOUBLE, Type.FLOAT}
LOOPS = {Kind.FOR_STMT, Kind.CXX_FOR_RANGE_STMT}
BODIES = {Kind.COMPOUND_STMT, Kind.IF_STMT, Kind.FOR_STMT, Kind.CXX_FOR_RANGE_STMT, Kind.WHILE_STMT}

OPPOSITE = "!"


def unwrapped(node: cindex.Cursor) -> cindex.Cursor:
    """Returns the expression within implicit conversions."""
    while node.kind == Kind.UNEXPOSED_EXPR:
        children = list(node.get_children())
        if len(children) != 1:
            return node
        node = children[0]
    return node


def is_number(node: cindex.Cursor) -> bool:
    return node.type.get_canonical().kind in NUMBERS


class Search:
    """The search in one translation unit. `found` has the candidates of the files below `root` in these rooms."""

    def __init__(self, root: pathlib.Path, rooms: "typing.Collection[str]") -> None:
        self.root = root
        self.rooms = rooms
        self.found: "set[kinds.Candidate]" = set()
        self.texts: "dict[str, bytes | None]" = {}
        self.macros: "dict[str, list[tuple[int, int]]]" = {}
        self.path = ""
        self.file = ""
        self.text = b""

    def run(self, unit: cindex.TranslationUnit) -> None:
        own = [node for node in unit.cursor.get_children() if self.is_own(node.location.file)]
        for node in own:
            if node.kind == Kind.MACRO_INSTANTIATION:
                span = node.extent
                self.macros.setdefault(node.location.file.name, []).append((span.start.offset, span.end.offset))
        for node in own:
            if not node.kind.is_preprocessing():
                self.enter(node.location.file.name)
                self.visit(node, None, None)

    def is_own(self, file: "cindex.File | None") -> bool:
        """Returns whether a file is a source of one of the rooms, and reads it."""
        if file is None:
            return False
        if file.name not in self.texts:
            path = pathlib.Path(file.name)
            own = path.suffix == ".cpp" and self.root in path.parents and path.relative_to(self.root).parts[0] in self.rooms
            self.texts[file.name] = path.read_bytes() if own else None
        return self.texts[file.name] is not None

    def enter(self, path: str) -> None:
        self.path = path
        self.text = self.texts[path] or b""
        self.file = str(pathlib.Path(path).relative_to(self.root))

    def visit(self, node: cindex.Cursor, parent: "cindex.Cursor | None", around: "cindex.CursorKind | None") -> None:
        """Looks at a node and everything within it. `around` is the kind of the innermost loop or switch."""
        if node.kind in CONSTANT_NODES or self.is_constant(node):
            return
        children = list(node.get_children())
        self.look(node, children, parent, around)
        if node.kind == Kind.CALL_EXPR and UNSEEN.match(node.spelling):
            return
        if node.kind in (Kind.FOR_STMT, Kind.CXX_FOR_RANGE_STMT, Kind.WHILE_STMT, Kind.DO_STMT, Kind.SWITCH_STMT):
            around = node.kind
        elif node.kind == Kind.LAMBDA_EXPR:
            around = None
        elif node.kind == Kind.CASE_STMT:
            children = children[1:]
        for child in children:
            self.visit(child, node, around)

    def is_constant(self, node: cindex.Cursor) -> bool:
        """Returns whether a node is a declaration whose value the compiler must know, or an `if constexpr`."""
        span = node.extent
        if node.kind in FUNCTIONS or node.kind == Kind.VAR_DECL:
            end = max(node.location.offset, span.start.offset)
            return CONSTANT.search(self.text[span.start.offset:end]) is not None
        return node.kind == Kind.IF_STMT and CONSTANT.match(self.text[span.start.offset + 2:].lstrip()[:9]) is not None

    def look(self, node: cindex.Cursor, children: "list[cindex.Cursor]", parent: "cindex.Cursor | None",
             around: "cindex.CursorKind | None") -> None:
        if node.kind == Kind.BINARY_OPERATOR and len(children) == 2:
            self.look_at_operation(node, children[0], children[1], parent)
        elif node.kind == Kind.CALL_EXPR and node.spelling == "operator<=>":
            # Times, amounts and texts have this operator, which the compiler calls for each comparison.
            operands = list(node.get_arguments())
            if len(operands) == 2:
                self.look_at_operation(node, operands[0], operands[1], parent)
        elif node.kind == Kind.IF_STMT:
            self.look_at_condition(children)
        elif node.kind == Kind.CONDITIONAL_OPERATOR and len(children) == 3:
            self.add(children[0], "negated condition", "truth", OPPOSITE)
        elif node.kind == Kind.RETURN_STMT and len(children) == 1:
            self.look_at_result(children[0])
        elif node.kind == Kind.CONTINUE_STMT and around in LOOPS:
            self.add(node, "break for continue", "statement", "break;", statement=True)
        elif node.kind == Kind.BREAK_STMT and around in LOOPS:
            self.add(node, "continue for break", "statement", "continue;", statement=True)
        if parent is not None and parent.kind in BODIES:
            before = self.text[:node.extent.start.offset].rstrip()
            if parent.kind == Kind.COMPOUND_STMT or before.endswith((b")", b"else")):
                self.look_at_statement(node)

    def look_at_operation(self, node: cindex.Cursor, left: cindex.Cursor, right: cindex.Cursor,
                          parent: "cindex.Cursor | None") -> None:
        first, second = self.part(left), self.part(right)
        operator = self.text[left.extent.end.offset:right.extent.start.offset].decode().strip()
        change = kinds.replaced_operator(first, operator, second)
        if change is None or second == INTERRUPTED:
            return
        kind, replacement = change
        if kind == "arithmetic":
            if not is_number(node):
                return
            if shorter := kinds.without_one(first, operator, second):
                self.add(node, "0 for 1", "expression", shorter)
                return
        elif node.kind == Kind.BINARY_OPERATOR and node.type.get_canonical().kind != Type.BOOL:
            return
        elif parent is not None and parent.kind == Kind.FOR_STMT:
            return
        if kind != "comparison":
            first, second = (f"({text})" if unwrapped(operand).kind == Kind.BINARY_OPERATOR else text
                             for operand, text in ((left, first), (right, second)))
        self.add(node, kind, "expression", f"{first} {replacement} {second}")

    def look_at_condition(self, children: "list[cindex.Cursor]") -> None:
        """Looks at the condition of an `if`, unless it declares a variable."""
        for condition, body in zip(children, children[1:]):
            before = self.text[:condition.extent.start.offset].rstrip()[-1:]
            between = self.text[condition.extent.end.offset:body.extent.start.offset].strip()
            if condition.kind.is_expression() and before in (b"(", b";") and between == b")":
                self.add(condition, "negated condition", "truth", OPPOSITE)
                return

    def look_at_result(self, value: cindex.Cursor) -> None:
        inner = unwrapped(value)
        if not value.type.get_canonical().kind == inner.type.get_canonical().kind == Type.BOOL:
            return
        opposite = {"true": "false", "false": "true"}.get(self.part(value), OPPOSITE)
        self.add(value, "negated result", "truth", opposite)

    def look_at_statement(self, node: cindex.Cursor) -> None:
        """Looks at a statement that can be left out."""
        inner = unwrapped(node)
        left_out = inner.kind in (Kind.CALL_EXPR, Kind.COMPOUND_ASSIGNMENT_OPERATOR, Kind.UNARY_OPERATOR)
        if inner.kind == Kind.BINARY_OPERATOR:
            children = list(inner.get_children())
            between = self.text[children[0].extent.end.offset:children[1].extent.start.offset]
            left_out = between.strip() == b"="
        if left_out and not (inner.kind == Kind.CALL_EXPR and UNSEEN.match(inner.spelling)):
            self.add(node, "left out", "statement", "", statement=True)

    def part(self, node: cindex.Cursor) -> str:
        span = node.extent
        return kinds.one_line(self.text[span.start.offset:span.end.offset].decode())

    def add(self, node: cindex.Cursor, kind: str, form: str, mutated: str, statement: bool = False) -> None:
        """Adds a candidate, if its text is what the source has at this place."""
        span = node.extent
        begin, end = span.start.offset, span.end.offset
        if span.start.file is None or span.start.file.name != self.path or end <= begin:
            return
        if any(first <= begin and end <= last for first, last in self.macros.get(self.path, ())):
            return
        if statement:
            rest = self.text[end:]
            if not rest.lstrip().startswith(b";"):
                return
            end += rest.index(b";") + 1
        text = self.text[begin:end].decode()
        if not kinds.can_repeat(text):
            return
        original = kinds.one_line(text)
        line = span.start.line
        self.found.add(kinds.Candidate(self.file, line, line + text.count("\n"), begin, end, kind, form, original,
                                       f"!({original})" if mutated == OPPOSITE else mutated))
