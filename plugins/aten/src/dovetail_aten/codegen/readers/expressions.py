"""Rewrites derivative formulas: PyTorch's notation in, calls of operators on a namespace `k` out.

``grad * other.conj()`` becomes ``k.mul(grad, k.conj(other))``, which is right over tensors (`k`:
the operator functions) and over arrays (`k`: the array kernels). On the way the rewriter notes what
the formula reads, because that is what has to be saved.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ..errors import DerivativeError, Location
from .metadata import METADATA, SYMBOLIC_METADATA, TEMPORARY_METADATA

_BINARY: Final = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
    ast.Mod: "remainder",
    ast.FloorDiv: "floor_divide",
}  # fmt: skip
_UNARY: Final = {ast.USub: "neg", ast.Invert: "bitwise_not"}
_COMPARE: Final = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_INLINE: Final = {"maybe_multiply": 2, "wrap_opt_if": 2, "to_args_sizes": 1}
_BUILTINS: Final = frozenset(
    {"len", "tuple", "list", "min", "max", "int", "float", "bool", "range"}
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use.

    Attributes
    ----------
    tensors
        Tensor arguments and results: reading them saves them.
    lists
        Arguments that are lists of tensors.
    values
        Other arguments.
    gradients
        Names of incoming gradients, which are at hand.
    operators
        Base names of operators, which become attributes of `k`.
    helpers
        Names of helper functions, which take `k` first.
    tensors_only
        Helpers that do not work on arrays.
    """

    tensors: Collection[str]
    lists: Collection[str]
    values: Collection[str]
    gradients: Collection[str]
    operators: Collection[str]
    helpers: Collection[str]
    tensors_only: Collection[str] = ()


@dataclass(slots=True)
class Rewritten:
    """A rewritten formula and what it reads."""

    text: str = ""
    saved: dict[str, str] = field(default_factory=dict)
    """Saved names in order of appearance; for metadata the expression that gives the value, else
    ``""``.
    """
    operators: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    gradients: set[str] = field(default_factory=set)
    uses_mask: bool = False
    not_implemented: str | None = None
    arrays: bool = True
    """Whether the text also means the right thing over arrays."""
    real_text: str = ""
    """The text without conjugates: the same over real numbers."""


def rewrite(formula: str, scope: Scope, where: Location) -> Rewritten:
    """Rewrite one formula. Raises DerivativeError if it is not a Python expression, uses unknown
    names or functions, or needs more than metadata.
    """
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise DerivativeError(
            where,
            f"formula '{formula}' is not an expression: {getattr(problem, 'msg', problem)}.",
            "Formulas are Python: 'a if c else b' for 'c ? a : b', 'not c' for '!c', 'f' for "
            "'at::f'.",
        ) from None
    rewriter = _Rewriter(scope, where)
    if (name := _not_implemented(tree)) is not None:
        rewriter.out.not_implemented = name
        return rewriter.out
    try:
        body = rewriter.visit(tree)
        rewriter.out.text = ast.unparse(body)
        rewriter.out.real_text = ast.unparse(_WithoutConjugates().visit(body))
    except RecursionError:
        raise DerivativeError(
            where, f"formula '{formula}' is nested too deeply.", "Call a function of formulas.py."
        ) from None
    return rewriter.out


def _not_implemented(tree: ast.expr) -> str | None:
    match tree:
        case ast.Call(
            func=ast.Name(id="not_implemented"), args=[ast.Constant(value=str(name)), *_]
        ):
            return name
    return None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, scope: Scope, where: Location) -> None:
        self.scope = scope
        self.where = where
        self.out = Rewritten()

    # -- names -------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name, scope = node.id, self.scope
        if name in scope.gradients:
            self.out.gradients.add(name)
        elif name in scope.tensors or name in scope.lists or name in scope.values:
            self.out.saved.setdefault(name, "")
        elif name == "grad_input_mask":
            self.out.uses_mask = True
        elif name not in _BUILTINS:
            known = sorted({*scope.tensors, *scope.lists, *scope.values, *scope.gradients})
            raise self._error(f"unknown name '{name}'.", f"Names in scope are: {', '.join(known)}.")
        return node

    def _is_tensor(self, node: ast.expr) -> bool:
        """Say whether `node` (not yet rewritten) is a tensor, as far as its form tells."""
        scope = self.scope
        match node:
            case ast.Name(id=name):
                return name in scope.tensors or (name in scope.gradients and name != "grads")
            case ast.Subscript(value=ast.Name(id="grads"), slice=ast.Constant()):
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name not in _BUILTINS
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                return self._is_tensor(value) and attr not in METADATA and attr != "defined"
            case ast.BinOp(left=left, right=right):
                return self._is_tensor(left) or self._is_tensor(right)
            case ast.UnaryOp(op=operation, operand=operand):
                return not isinstance(operation, ast.Not) and self._is_tensor(operand)
            case ast.Compare(left=left, comparators=[right]):
                return self._is_tensor(left) or self._is_tensor(right)
            case ast.IfExp(body=body, orelse=orelse):
                return self._is_tensor(body) or self._is_tensor(orelse)
        return False

    # -- operators of the language -----------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self._is_tensor(node.left), self._is_tensor(node.right)
        if not left and not right:
            return self._generic(node)
        name = _BINARY.get(type(node.op))
        if name is None:
            raise self._error(
                f"operator in '{ast.unparse(node)}' is not one of tensors.",
                "Call an operator by name.",
            )
        a, b = self.visit(node.left), self.visit(node.right)
        if left:
            return self._operator(name, [a, b])
        if name in ("add", "mul"):
            return self._operator(name, [b, a])
        if name == "sub":
            return self._operator("rsub", [b, a])
        if name == "div":
            return self._operator("mul", [self._operator("reciprocal", [b]), a])
        return self._operator(name, [a, b])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        name = _UNARY.get(type(node.op))
        if name is None or not self._is_tensor(node.operand):
            return self._generic(node)
        return self._operator(name, [self.visit(node.operand)])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        name = _COMPARE.get(type(node.ops[0]))
        if name is None or len(node.ops) > 1 or not self._is_tensor(node):
            return self._generic(node)
        left, right = node.left, node.comparators[0]
        if not self._is_tensor(left):
            raise self._error(
                f"'{ast.unparse(node)}' begins with a number.", "Write the tensor on the left."
            )
        return self._operator(name, [self.visit(left), self.visit(right)])

    # -- calls -------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if not isinstance(node.func, ast.Name):
            raise self._error(
                f"'{ast.unparse(node.func)}' cannot be called.",
                "Call operators and helpers by name.",
            )
        name = node.func.id
        if name in _INLINE and len(node.args) == _INLINE[name]:
            return self._inline(name, node.args)
        arguments, keywords = self._arguments(node)
        if name in self.scope.helpers:
            self.out.helpers.add(name)
            self.out.arrays = self.out.arrays and name not in self.scope.tensors_only
            return ast.Call(node.func, [_name("k"), *arguments], keywords)
        if name in self.scope.operators:
            return self._operator(name, arguments, keywords)
        if name in _BUILTINS:
            return ast.Call(node.func, arguments, keywords)
        raise self._error(
            f"unknown function '{name}'.",
            "It must be an operator of the library, or a helper of the formula functions.",
        )

    def _inline(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        """Write out PyTorch's helpers that are no more than an expression."""
        if name == "to_args_sizes":
            return self._list_metadata(
                arguments[0], "args_sizes", "[tensor.array.shape for tensor in {}]"
            )
        first, second = [self.visit(argument) for argument in arguments]
        if name == "wrap_opt_if":
            return ast.IfExp(second, first, ast.Constant(None))
        is_one = ast.Compare(_unconjugated(second), [ast.Eq()], [ast.Constant(1)])
        return ast.IfExp(is_one, first, self._operator("mul", [first, second]))

    def _list_metadata(self, owner: ast.expr, suffix: str, expression: str) -> ast.expr:
        if not self._is_list(owner):
            raise self._error(
                f"'{ast.unparse(owner)}' is not a list of tensors.", "Use .sym_sizes() of a tensor."
            )
        name = ast.unparse(owner)
        self.out.saved[f"{name}_{suffix}"] = expression.format(name)
        return _name(f"{name}_{suffix}")

    def _method(self, node: ast.Call, func: ast.Attribute) -> ast.expr:
        owner, attribute = func.value, func.attr
        if not self._is_tensor(owner) and not self._is_list(owner):
            if attribute == "conj":
                return ast.Call(ast.Attribute(self.visit(owner), "conjugate"), [], [])
            return self._generic(node)
        if attribute in SYMBOLIC_METADATA:
            raise self._error(
                f".{attribute}() is not supported in derivative formulas.",
                f"Instead, please use the SymInt version: .{SYMBOLIC_METADATA[attribute]}().",
            )
        if attribute == "defined":
            return ast.Compare(self.visit(owner), [ast.IsNot()], [ast.Constant(None)])
        if attribute in METADATA:
            return self._metadata(owner, attribute, node)
        arguments, keywords = self._arguments(node)
        if attribute in self.scope.helpers:
            raise self._error(
                f"'{attribute}' is a helper, not a method.",
                f"Write {attribute}({ast.unparse(owner)}, ...).",
            )
        if attribute not in self.scope.operators:
            raise self._error(
                f"unknown method '.{attribute}()'.",
                "Methods in formulas are operators of the library.",
            )
        return self._operator(attribute, [self.visit(owner), *arguments], keywords)

    def _is_list(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.scope.lists

    def _metadata(self, owner: ast.expr, attribute: str, node: ast.Call) -> ast.expr:
        index = ast.unparse(node.args[0]) if node.args else ""
        if not (isinstance(owner, ast.Name) and owner.id in self.scope.tensors):
            return self._temporary(owner, attribute, index)
        metadata = METADATA[attribute]
        if attribute == "sym_size" and not index.isdigit():
            raise self._error(
                f"'{ast.unparse(node)}': the dimension is not a plain number.",
                "Use .sym_sizes()[...] instead.",
            )
        slot = f"{owner.id}_{metadata.suffix.format(index=index)}"
        self.out.saved[slot] = metadata.expression.format(owner.id, index=index)
        if attribute in ("scalar_type", "device", "layout", "sym_strides", "sym_storage_offset"):
            self.out.arrays = False
        return _name(slot)

    def _temporary(self, owner: ast.expr, attribute: str, index: str) -> ast.expr:
        template = TEMPORARY_METADATA.get(attribute)
        if template is None:
            raise self._error(
                f".{attribute}() works on arguments and results only.", "Save it from an argument."
            )
        return ast.parse(
            template.format(f"({ast.unparse(self.visit(owner))})", index=index), mode="eval"
        ).body

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if self._is_tensor(node.value):
            raise self._error(
                f"attribute '.{node.attr}' of a tensor in '{ast.unparse(node)}'.",
                f"Use methods; metadata is {', '.join(METADATA)}.",
            )
        return self._generic(node)

    # -- helpers -----------------------------------------------------------------------------------

    def _arguments(self, node: ast.Call) -> tuple[list[ast.expr], list[ast.keyword]]:
        return [self.visit(argument) for argument in node.args], [
            self.visit(keyword) for keyword in node.keywords
        ]

    def _operator(
        self, name: str, arguments: list[ast.expr], keywords: list[ast.keyword] | None = None
    ) -> ast.expr:
        self.out.operators.add(name)
        return ast.Call(ast.Attribute(_name("k"), name), arguments, keywords or [])

    def _generic(self, node: ast.expr) -> ast.expr:
        visited = self.generic_visit(node)
        assert isinstance(visited, ast.expr)
        return visited

    def _error(self, problem: str, remedy: str) -> DerivativeError:
        return DerivativeError(self.where, problem, remedy)


class _WithoutConjugates(ast.NodeTransformer):
    """Takes ``k.conj(x)`` and ``x.conjugate()`` for ``x``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="k"), attr="conj"),
                args=[argument],
                keywords=[],
            ):
                return argument
        return _unconjugated(node)


def _unconjugated(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="conjugate")):
            return value
    return node


def _name(name: str) -> ast.Name:
    return ast.Name(name)
