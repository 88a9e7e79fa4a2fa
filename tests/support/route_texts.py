"""The text of a route: how it is read off the function that runs, and what of it may not grow.

A text is read from the callable in the table, so that nothing here depends on how routes are
composed. Two texts are compared by their structure: local names and the names of globals are
numbered in the order in which they occur.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from types import FunctionType, ModuleType
from typing import Any, Final

from dovetail_kernel import DTYPES, DispatchKeySet
from dovetail_kernel.types import signature as signature_bits

MACHINERY: Final = ("dovetail_dispatcher", "dovetail_autograd")
"""Packages whose functions are part of a route; a function of any other is a kernel that the table
calls directly.
"""

KERNEL_ITSELF: Final = "# the kernel itself: "
"""Stands for the text of a route that is nothing but the kernel."""

_FLAGS: Final = (
    *(
        "ZERO_DIM",
        "GRAD",
        "VIEW",
        "NORMAL",
        "OVERRIDES",
        "PYTHON_BOOL",
        "PYTHON_INT",
        "PYTHON_FLOAT",
    ),
    *("PYTHON_COMPLEX", "NO_GRAD", "META_BIT", "CPU_BIT", "CUDA_BIT", "WRAPPED_BIT", "INFERENCE"),
)
_BITS: Final = {
    **{each.bit: str(each).removeprefix("dovetail.") for each in DTYPES},
    **{getattr(signature_bits, name): name for name in _FLAGS},
}


@dataclass(frozen=True)
class RouteText:
    """The source of a route and what its globals are bound to.

    Attributes
    ----------
    source
        One or more function definitions, the one that is called first; or a comment, for a kernel
        that is called directly.
    bound
        Global names, in the order of their occurrence, with their values as text. Objects are in
        angle brackets.
    """

    source: str
    bound: dict[str, str]

    @cached_property
    def tree(self) -> ast.Module:
        """The source with names numbered, without docstrings and annotations."""
        tree = ast.parse(self.source)
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.FunctionDef):
                _strip(node)
        numbers: dict[str, str] = {}
        for number, node in enumerate(tree.body):
            if isinstance(node, ast.FunctionDef):
                node.name = f"route{number}"
                _Renamed(_locals(node), numbers).visit(node)
        return tree

    @property
    def normalized(self) -> list[str]:
        """The lines of the tree."""
        return ast.unparse(self.tree).splitlines()

    @cached_property
    def counts(self) -> dict[str, int]:
        """What may not grow."""
        nodes = list(ast.walk(self.tree))
        return {
            "lines": len([line for line in self.normalized if line]),
            "statements": sum(
                isinstance(n, ast.stmt) and not isinstance(n, ast.FunctionDef) for n in nodes
            ),
            "calls": sum(isinstance(n, ast.Call) for n in nodes),
            "attributes": sum(
                isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load) for n in nodes
            ),
        }


def grown(pinned: RouteText, now: RouteText) -> list[str]:
    """Return in what way `now` does more than `pinned`; nothing if it is the same, or does no more
    in fewer words.
    """
    if pinned.normalized == now.normalized:
        pairs = zip(pinned.bound.items(), now.bound.values(), strict=True)
        return [
            f"the constant {name} is {b}, was {a}"
            for (name, a), b in pairs
            if a != b and not (a.startswith("<") and b.startswith("<"))
        ]
    return [
        f"{what}: {pinned.counts[what]} → {now.counts[what]}" for what in _grown_counts(pinned, now)
    ]


def _grown_counts(pinned: RouteText, now: RouteText) -> list[str]:
    return [what for what, count in now.counts.items() if count > pinned.counts[what]]


def read_route(route: Callable[..., Any]) -> RouteText:
    """Return the text of a route: its own, and that of the routes and functions that it closes
    over.
    """
    sources, bound = [], {}
    for function in _parts(route):
        if not _is_machinery(function):
            sources.append(KERNEL_ITSELF + _name_of(function))
            continue
        source = _source_of(function)
        sources.append(source)
        bound |= _bound_names(function, source)
    return RouteText("\n".join(sources), bound)


def _parts(function: Any) -> Iterator[Any]:
    yield function
    if not isinstance(function, FunctionType) or not _is_machinery(function):
        return
    for cell in function.__closure__ or ():
        if isinstance(cell.cell_contents, FunctionType):
            yield from _parts(cell.cell_contents)


def _is_machinery(function: Any) -> bool:
    if not isinstance(function, FunctionType):
        return False
    module = function.__globals__.get("__name__") or ""
    if "_generated" in module.split("."):
        return False  # an operator's function, whose text may have been made at its first call
    return function.__code__.co_filename.startswith("<") or module.partition(".")[0] in MACHINERY


def _source_of(function: FunctionType) -> str:
    """Return the definition of `function`, found in the text that it was compiled from."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    block = inspect.getblock(lines[code.co_firstlineno - 1 :])
    text = textwrap.dedent("".join(block))
    if not text.lstrip().startswith("def "):
        raise LookupError(
            f"no source of {function!r} in {code.co_filename}: routes must be in linecache."
        )
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _bound_names(function: FunctionType, source: str) -> dict[str, str]:
    definition = ast.parse(source).body[0]
    assert isinstance(definition, ast.FunctionDef)
    own = _locals(definition)
    closed = inspect.getclosurevars(function).nonlocals
    _strip(definition)
    names = [n.id for n in _in_order(definition) if isinstance(n, ast.Name) and n.id not in own]
    scope = {**function.__globals__, **closed}
    return {name: _described(scope[name]) for name in names if name in scope}


def _described(value: Any) -> str:
    if value is None or isinstance(value, bool | str):
        return repr(value)
    if isinstance(value, int):
        return _described_bits(value)
    if isinstance(value, DispatchKeySet):
        return str(value).replace(", ", " ")
    if type(value).__module__.startswith("numpy") and hasattr(value, "itemsize"):
        return str(value)
    if isinstance(value, partial):
        return f"<partial of {_name_of(value.func)}>"
    return f"<{_name_of(value)}>"


def _described_bits(value: int) -> str:
    names = [name for bit, name in _BITS.items() if value & bit]
    if value & ~sum(_BITS):  # which bit another backend gets depends on what was registered before
        names.append("a bit of its own")
    return "|".join(names) or "0"


def _name_of(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        return f"a {type(value).__qualname__}"
    return name.replace("<locals>.", "")


# -- normal form -----------------------------------------------------------------------------------


def _strip(function: ast.FunctionDef) -> None:
    arguments = function.args
    for each in [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]:
        if each is not None:
            each.annotation = None
    function.returns = None
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        del function.body[0]


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _locals(function: ast.FunctionDef) -> frozenset[str]:
    found = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    found |= {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    found |= {n.name for n in ast.walk(function) if isinstance(n, ast.ExceptHandler) and n.name}
    return frozenset(found)


class _Renamed(ast.NodeTransformer):
    """Numbers local names, each function for itself, and global names, which the functions of a
    text share.
    """

    def __init__(self, own: frozenset[str], shared: dict[str, str]) -> None:
        self.own = own
        self.numbers: dict[str, str] = {}
        self.shared = shared

    def named(self, name: str) -> str:
        if name in self.own:
            return self.numbers.setdefault(name, f"v{len(self.numbers)}")
        if hasattr(builtins, name):
            return name
        return self.shared.setdefault(name, f"g{len(self.shared)}")

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.named(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.named(node.arg)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        if node.name:
            node.name = self.named(node.name)
        self.generic_visit(node)
        return node
