"""Places of functions in Python and in C for `mutations.py`, and what it changes them to."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


IN_C = [
    (each, other) for a, b in (("==", "!="), ("<", "<="), (">", ">="), ("&&", "||"), ("+", "-"))
    for each, other in ((f" {a} ", f" {b} "), (f" {b} ", f" {a} "))
]  # fmt: skip
STATEMENT = r"^ +(?!Py_|PyMem_|return|free)[\w>.\[\]-]+(\(.*\)| [-+|&]?= .*);$"
"""But one that lets go of memory or an object, which tests of leaks alone would notice."""
LEFT_OUT_IN_C = r'"|^ *(/?\*|//|case |#)|alloc\('
"""Lines of text and of comments, and sizes of memory, of which more is no error."""
IN_C_BY_PATTERN = [
    (re.compile(r"(?<![\w.\"%])\d+(?![\w.\"])"), lambda text: str(int(text, 0) + 1)),
    (re.compile(r"(?<=if \()(?!\().*(?=\) \{$)"), lambda text: f"!({text})"),
    (re.compile(STATEMENT), lambda _: ";"),
]


@dataclass(frozen=True)
class Place:
    """A piece of a function's text and what it is replaced with."""

    file: str
    """Relative to the folder of the package's parent."""
    function: str
    before: str
    after: str
    nth: int
    """How many equal pieces with the same replacement the function has before this one."""
    lines: tuple[int, int]
    span: tuple[int, int]
    """The piece's first character and the one behind its last, in the file."""

    def record(self) -> dict[str, Any]:
        """Return what identifies the place when its line has moved."""
        names = ("file", "function", "before", "after", "nth")
        return {name: getattr(self, name) for name in names}


def replacements(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the node to replace and its new text, for each change of `node` alone."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            changed: ast.AST = ast.Compare(left, [COMPARISONS[type(op)]()], [right])
            yield node, f"({ast.unparse(changed)})"
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"(bool({ast.unparse(operand)}))"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            texts = (left, right)
            if not any(isinstance(each, ast.JoinedStr) for each in texts):
                yield node, f"({ast.unparse(ast.BinOp(left, ARITHMETIC[type(op)](), right))})"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as number):
            yield node, str(number + 1)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield node, "return None"
        case ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.If(test=test) if not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
            yield test, f"(not ({ast.unparse(test)}))"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def places(path: Path, base: Path) -> list[Place]:
    """Return every place of the functions of a module that can be changed."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: list[Place] = []
    counts: dict[tuple[str, str, str], int] = {}

    def visit(node: ast.AST, names: tuple[str, ...], inside: bool) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names, inside = (*names, node.name), True
            children: list[ast.AST] = list(node.body)  # neither annotations nor decorators
        elif isinstance(node, ast.ClassDef):
            names, children = (*names, node.name), list(node.body)
        else:
            children = list(ast.iter_child_nodes(node))
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.AnnAssign, ast.Assert)):
            return
        if inside:
            for target, after in replacements(node):
                add(target, after, ".".join(names))
        for child in children:
            visit(child, names, inside)

    def add(target: Any, after: str, function: str) -> None:
        begin = starts[target.lineno - 1] + _characters(lines, target.lineno, target.col_offset)
        end = starts[target.end_lineno - 1] + _characters(
            lines, target.end_lineno, target.end_col_offset
        )
        before = text[begin:end]
        key = (function, before, after)
        nth = counts.get(key, 0)
        counts[key] = nth + 1
        span = (target.lineno, target.end_lineno)
        name = path.relative_to(base).as_posix()
        found.append(Place(name, function, before, after, nth, span, (begin, end)))

    visit(ast.parse(text), (), inside=False)
    return found


def _characters(lines: list[str], line: int, utf8_offset: int) -> int:
    return len(lines[line - 1].encode()[:utf8_offset].decode())


def places_in_c(path: Path, base: Path) -> list[Place]:
    """Return the places of a C file: operators, integers, conditions and statements of lines of
    functions that print no text.
    """
    found, function, begin = [], "", 0
    counts: Counter[tuple[str, str, str]] = Counter()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        if named := re.match(r"(\w+)\(", line):
            function = named[1]
        pieces = [
            (each.start(), each.end(), after)
            for before, after in IN_C
            for each in re.finditer(re.escape(before), line)
        ]
        for pattern, change in IN_C_BY_PATTERN:
            pieces += [(*e.span(), change(e[0])) for e in pattern.finditer(line.rstrip("\n"))]
        if function and line.startswith("  ") and not re.search(LEFT_OUT_IN_C, line):
            for start, end, after in pieces:
                key = (function, line[start:end], after)
                span = (begin + start, begin + end)
                name = path.relative_to(base).as_posix()
                found.append(Place(name, *key, counts[key], (number, number), span))
                counts[key] += 1
        begin += len(line)
    return found
