"""Formulas over arrays as programs: the text of a generated body is lowered to instructions.

What no instruction does is called: such an expression becomes a Python function of the values that
it reads. A body whose text is not at hand, or not that of the function, stays Python.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any, Final

from dovetail_autograd import loop_parts
from dovetail_dispatcher import NoArrayKernelError
from dovetail_dispatcher.calls import Value

from ._core import Route, slot_offset
from .assembler import Assembler, LoweredOperand, NotLoweredError

Body = tuple[Any, Route | None, bool, tuple[int, ...] | None, object]
"""The kernels that a program is for; the program; whether its last argument is a tuple of all
further gradients; the offsets of the slots that are freed after it has run; and what they hold.
"""

_SAVED: Final = re.compile(
    r"saved\.array if \(version := \(saved := node\.(_(\w+))\)\._counter\) is None or "
    r"version\.value == node\.\1_version else node\.unpack_\2\(\)"
)
"""A saved tensor that has to have the version under which it was saved."""
_OPTIONAL: Final = re.compile(
    r"None if \(saved := node\.(_(\w+))\) is None else saved\.array if "
    r"\(version := saved\._counter\) is None or version\.value == node\.\1_version else "
    r"node\.unpack_\2\(\)"
)
"""The same, of a tensor that may be None."""
_ABSENT: Final = object()
_WRITTEN: Final = re.compile(r"version\.value != expected")


def lowered_body(node_class: type[Any], kernels: Any) -> Body:
    """Return how nodes of a class run with the array kernels of a backend."""
    function = node_class.apply_arrays
    route, is_variadic = None, False
    with suppress(NotLoweredError, NoArrayKernelError):
        if type(function) is FunctionType:
            tree = _tree(function)
            is_variadic = tree.args.vararg is not None
            route = _Lowering(node_class, function, tree, kernels).route()
    freed = node_class.__dict__.get("_freed")
    offsets = None if freed is None else _offsets(node_class, *freed)
    return kernels, route, is_variadic, offsets, loop_parts.RELEASED


def _offsets(node_class: type[Any], *names: str) -> tuple[int, ...] | None:
    """Return the offsets of slots; None if one of the names is that of no slot."""
    with suppress(AttributeError, TypeError):
        return tuple([slot_offset(node_class, each) for each in names])
    return None


def _tree(function: FunctionType) -> ast.FunctionDef:
    """Return the text of a function as a tree, if it is what the function was compiled of."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
        # Calls of attributes of what a module imports are compiled otherwise.
        module = ast.parse("import k\n" + text if "k" in function.__globals__ else text)
    except (OSError, SyntaxError, ValueError):
        raise NotLoweredError("text that is not at hand") from None
    tree, own = module.body[-1], function.__code__
    if not isinstance(tree, ast.FunctionDef) or tree.decorator_list:
        raise NotLoweredError("no plain function")
    flags = own.co_flags & __future__.annotations.compiler_flag
    compiled = compile(module, "<formula>", "exec", flags, dont_inherit=True)
    codes = [each for each in compiled.co_consts if isinstance(each, CodeType)]
    if len(codes) != 1 or _parts(codes[0]) != _parts(own):
        raise NotLoweredError("text of another function")
    return tree


def _parts(code: CodeType) -> tuple[Any, ...]:
    """Return what two code objects of one text have in common, wherever they were compiled."""
    constants = [_parts(c) if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts]
    flags = code.co_flags & ~inspect.CO_NESTED
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount, flags


class _Lowering:
    """Lowers one body, ``(node, k, edges, *grads)``."""

    def __init__(
        self, node_class: type[Any], function: FunctionType, tree: ast.FunctionDef, kernels: Any
    ) -> None:
        self._class = node_class
        self._function = function
        self._body = tree.body
        self._kernels = kernels
        names = [each.arg for each in tree.args.args]
        if tree.args.vararg is not None:
            names.append(tree.args.vararg.arg)
        if names[:3] != ["node", "k", "edges"] or tree.args.defaults:
            raise NotLoweredError(f"parameters {names}")
        arguments = [Value(name) for name in ("node", *names[2:])]
        self._to = Assembler(arguments)
        self._registers = {each.name: self._to.register(each) for each in arguments}
        within = [each.target for each in ast.walk(tree) if isinstance(each, ast.NamedExpr)]
        self._bound_within = {each.id for each in within}

    def route(self) -> Route:
        """Return the program of the function."""
        self._statements(self._body)
        if not isinstance(self._body[-1], ast.Return):
            raise NotLoweredError("no return at the end")
        return self._to.route(self._function.__name__)

    # -- statements --------------------------------------------------------------------------------

    def _statements(self, statements: list[ast.stmt]) -> None:
        for each in statements:
            match each:
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                    self._unpack([self._name(name) for name in names], value)
                case ast.Assign(targets=targets, value=value):
                    first, *others = [self._register(self._name(target)) for target in targets]
                    self._into(value, first)
                    for other in others:
                        self._to.emit("SET", other, operands=[self._to.at(first)])
                case ast.If(test=test, body=body, orelse=otherwise):
                    jumps = self._unless(test)
                    self._statements(body)
                    if otherwise:
                        over = self._to.emit("JUMP")
                        self._to.land(*jumps)
                        self._statements(otherwise)
                        jumps = [over]
                    self._to.land(*jumps)
                case ast.Expr(value=value):
                    self._value(value)
                case ast.Return(value=ast.Tuple(elts=elements)):
                    self._to.emit("RETURN", flags=1, operands=[*map(self._value, elements)])
                case ast.Return(value=ast.expr() as value):
                    self._to.emit("RETURN", operands=[self._value(value)])
                case _:
                    raise NotLoweredError(type(each).__name__)

    def _unpack(self, names: list[str], value: ast.expr) -> None:
        first = self._to.fresh(len(names))
        source = self._in_register(self._value(value))
        self._to.emit("UNPACK", first, source, flags=len(names), objects=(None,))
        for number, name in enumerate(names):
            unpacked = [self._to.at(first + number)]
            self._to.emit("SET", self._register(name), operands=unpacked)

    def _unless(self, test: ast.expr) -> list[int]:
        """Jump unless a test is true; return where the jumps are."""
        match test:
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
                return [self._to.emit("UNLESS_GIVEN", self._in_register(self._value(left)))]
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.Eq() as op], comparators=[ast.Constant(value=other)]
            ) if other is None or isinstance(op, ast.Eq):
                tested = self._in_register(self._value(left))
                flags = int(isinstance(op, ast.Is))
                return [self._to.emit("UNLESS_DEFAULT", tested, flags=flags, objects=(other,))]
            case ast.Name() | ast.Attribute(value=ast.Name(id="node")):
                return [
                    self._to.emit("UNLESS_TRUE", objects=(bool, None), operands=[self._value(test)])
                ]
        if _WRITTEN.fullmatch(ast.unparse(test)) and {"version", "expected"} <= {*self._registers}:
            version, expected = self._registers["version"], self._registers["expected"]
            return [self._to.emit("UNLESS_WRITTEN", version, expected)]
        function, values = self._function_of(test)
        return [self._to.emit("UNLESS_TRUE", objects=(function, None), operands=values)]

    # -- expressions -------------------------------------------------------------------------------

    def _value(self, expression: ast.expr) -> LoweredOperand:
        """Return the operand for an expression, computed if need be."""
        match expression:
            case ast.Constant(value=value):
                return self._to.constant(value)
            case ast.Name(id=name):
                if name in self._registers and name not in self._bound_within:
                    return self._to.at(self._registers[name])
                return self._to.constant(self._global(name))
            case ast.Attribute(value=ast.Name(id="node"), attr=name):
                value = inspect.getattr_static(self._class, name, _ABSENT)
                if value is not _ABSENT and not hasattr(type(value), "__get__"):
                    return self._to.constant(value)
        made = self._to.fresh()
        self._into(expression, made)
        return self._to.at(made)

    def _into(self, expression: ast.expr, register: int) -> None:
        """Compute an expression into a register."""
        match expression:
            case ast.IfExp():
                self._choose(expression, register)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="k"), attr=name)) if self._is_plain(
                expression
            ):
                self._call(getattr(self._kernels, name), expression, register)
            case ast.Call(func=ast.Name(id=name)) if name not in self._registers and self._is_plain(
                expression
            ):
                self._call(self._global(name), expression, register)
            case ast.Attribute(value=ast.Name(id="node"), attr=name):
                self._load(name, register)
            case ast.Constant() | ast.Name():
                self._to.emit("SET", register, operands=[self._value(expression)])
            case _:
                function, values = self._function_of(expression)
                self._to.call(function, values, register)

    def _choose(self, expression: ast.IfExp, register: int) -> None:
        text = ast.unparse(expression)
        saved, optional = _SAVED.fullmatch(text), _OPTIONAL.fullmatch(text)
        if saved is not None and self._load_saved(saved[1], expression, register):
            return
        if optional is not None and _offsets(self._class, optional[1]) is not None:
            self._load(optional[1], register)
            absent = self._to.emit("UNLESS_GIVEN", register)
            if not self._load_saved(optional[1], expression, register):
                raise NotLoweredError(f"{optional[1]} has no version")
            self._to.land(absent)
            return
        jumps = self._unless(expression.test)
        self._into(expression.body, register)
        over = self._to.emit("JUMP")
        self._to.land(*jumps)
        self._into(expression.orelse, register)
        self._to.land(over)

    def _load_saved(self, name: str, expression: ast.expr, register: int) -> bool:
        """Read a saved tensor, if it has slots, or else compute the expression, which explains what
        is wrong with it; return whether it has.
        """
        offsets = _offsets(self._class, name, f"{name}_version")
        if offsets is None:
            return False
        slot, version = offsets
        function, _ = self._function_of(expression)
        objects = (self._class, function)
        node = self._registers["node"]
        self._to.emit("LOAD_SAVED", register, node, slot=slot, slot2=version, objects=objects)
        return True

    @staticmethod
    def _is_plain(call: ast.Call) -> bool:
        stars = [isinstance(each, ast.Starred) for each in call.args]
        return not any(stars) and all([each.arg is not None for each in call.keywords])

    def _call(self, function: Callable[..., Any], call: ast.Call, register: int) -> None:
        operands = [self._value(each) for each in call.args]
        operands += [self._value(each.value) for each in call.keywords]
        names = tuple([str(each.arg) for each in call.keywords])
        self._to.call(function, operands, register, names=names)

    def _load(self, name: str, register: int) -> None:
        offsets = _offsets(self._class, name)
        if offsets is None:
            raise NotLoweredError(f"{name} is no slot")
        node = self._registers["node"]
        self._to.emit("LOAD", register, node, slot=offsets[0], objects=(self._class,))

    def _function_of(self, expression: ast.expr) -> tuple[Callable[..., Any], list[LoweredOperand]]:
        """Return a Python function that computes an expression, and what it takes."""
        found = [each for each in ast.walk(expression) if isinstance(each, ast.Name)]
        bound = {each.id for each in found if isinstance(each.ctx, ast.Store)}
        read = {each.id for each in found} - bound
        names = [name for name in (*self._registers, "k") if name in read]
        for name in read.difference(names) | (read & self._bound_within):
            self._global(name)
        taken = [ast.copy_location(ast.arg(name), expression) for name in names]
        parameters = ast.arguments([], taken, None, [], [], None, [])
        function_tree = ast.copy_location(ast.Lambda(parameters, expression), expression)
        code = compile(ast.Expression(function_tree), "<formula>", "eval")
        function = eval(code, self._function.__globals__)
        values = [
            self._to.constant(self._kernels) if name == "k" else self._to.at(self._registers[name])
            for name in names
        ]
        return function, values

    # -- names -------------------------------------------------------------------------------------

    @staticmethod
    def _name(target: ast.expr) -> str:
        if not isinstance(target, ast.Name):
            raise NotLoweredError("assignment")
        return target.id

    def _register(self, name: str) -> int:
        if name not in self._registers:
            self._registers[name] = self._to.fresh()
        return self._registers[name]

    def _in_register(self, operand: LoweredOperand) -> int:
        kind, register, _ = operand
        if kind == self._to.at(register)[0]:
            return register
        made = self._to.fresh()
        self._to.emit("SET", made, operands=[operand])
        return made

    def _global(self, name: str) -> Any:
        if name in self._bound_within:
            raise NotLoweredError(f"{name} is bound within another expression")
        if name == "k":
            return self._kernels
        found = self._function.__globals__.get(name, _ABSENT)
        found = getattr(builtins, name, _ABSENT) if found is _ABSENT else found
        if found is _ABSENT:
            raise NotLoweredError(f"no name {name}")
        return found
