"""Assembler: the program of a route, while the steps of its plan add to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dovetail_dispatcher.calls import (
    ArrayOf,
    CastArray,
    ConstantOperand,
    Expression,
    NativeDtype,
    Operand,
    RoutePlan,
    Value,
)

from ._core import INSTRUCTIONS, MAX_OPERANDS, MAX_REGISTERS, OPERANDS, Route

LoweredOperand = tuple[int, int, Any]
"""Kind, register, object."""

_ARRAYS: Final = {
    "Tensor": "ARRAY",
    "Tensor?": "OPTIONAL_ARRAY",
    "Tensor[]": "ARRAYS",
    "Tensor?[]": "OPTIONAL_ARRAYS",
}


class NotLoweredError(Exception):
    """A plan has something that no instruction does: its route is Python text."""


class Assembler:
    """A program, and the registers of the values in it."""

    def __init__(self, arguments: Iterable[Value]) -> None:
        self._program: list[list[Any]] = []
        self._registers: dict[Value, int] = {}
        self._count = 0
        for argument in arguments:
            self.register(argument)
        self._argument_count = self._count

    def route(self, name: str, plan: RoutePlan | None = None) -> Route:
        """Return the route; the program must end by returning."""
        program = tuple([tuple(each) for each in self._program])
        return Route(name, plan, self._argument_count, self._count, program)

    # -- registers ---------------------------------------------------------------------------------

    def register(self, value: Value) -> int:
        """Return the register of a value, a new one if it has none yet."""
        number = self._registers.get(value)
        if number is None:
            number = self._registers[value] = self.fresh()
        return number

    def fresh(self, count: int = 1) -> int:
        """Return the first of `count` new registers."""
        if self._count + count > MAX_REGISTERS:
            raise NotLoweredError("too many values")
        self._count += count
        return self._count - count

    def block(self, values: tuple[Value, ...]) -> int:
        """Return the first of the registers of `values`, which lie side by side."""
        if not values:
            return 0
        known = [self._registers.get(each) for each in values]
        if known.count(None) == len(known):
            first = self.fresh(len(values))
            self._registers.update({each: first + i for i, each in enumerate(values)})
            return first
        first = known[0] or 0
        if known != list(range(first, first + len(values))):
            raise NotLoweredError("results that are not side by side")
        return first

    # -- instructions ------------------------------------------------------------------------------

    def emit(
        self,
        name: str,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        *,
        flags: int = 0,
        target: int = 0,
        slot: int = 0,
        slot2: int = 0,
        bits: int = 0,
        objects: tuple[Any, ...] = (),
        operands: Iterable[LoweredOperand] = (),
    ) -> int:
        """Add an instruction, and return its place."""
        given = tuple(operands)
        if len(given) > MAX_OPERANDS:
            raise NotLoweredError("too many operands")
        fields = [INSTRUCTIONS[name], a, b, c, flags, target, slot, slot2, bits, objects, given]
        self._program.append(fields)
        return len(self._program) - 1

    def land(self, *jumps: int) -> None:
        """Let jumps lead to the instruction that comes next."""
        for at in jumps:
            self._program[at][5] = len(self._program)

    def call(
        self,
        function: Any,
        operands: Iterable[LoweredOperand],
        result: int | None = None,
        *,
        names: tuple[str, ...] = (),
        reword: Any = None,
    ) -> None:
        """Call a Python function; its result goes to the register `result`, or is dropped."""
        objects = (function, names or None, None, None, None, reword)
        flags = 0 if result is None else 1
        self.emit("CALL", result or 0, flags=flags, objects=objects, operands=operands)

    # -- operands ----------------------------------------------------------------------------------

    def value(self, value: Value) -> LoweredOperand:
        """Return the operand for the value itself."""
        return self.at(self.register(value))

    @staticmethod
    def at(register: int) -> LoweredOperand:
        """Return the operand for what is in a register."""
        return OPERANDS["VALUE"], register, None

    @staticmethod
    def constant(constant: Any) -> LoweredOperand:
        """Return the operand for an object."""
        return OPERANDS["CONSTANT"], 0, constant

    @staticmethod
    def spread(register: int) -> LoweredOperand:
        """Return the operand for the items of a tuple."""
        return OPERANDS["SPREAD"], register, None

    def operand(self, each: Operand, reword: Any = None) -> LoweredOperand:
        """Return the operand for a value or an expression; what has to be called for it is called
        first.
        """
        if isinstance(each, Value):
            return self.value(each)
        assert isinstance(each, Expression)
        match each:
            case ArrayOf():
                return OPERANDS[_ARRAYS[each.kind]], self.register(each.value), None
            case NativeDtype():
                kind = "OPTIONALLY_LOOKED_UP" if each.optional else "LOOKED_UP"
                return OPERANDS[kind], self.register(each.value), each.native_dtypes
            case ConstantOperand():
                return self.constant(each.value)
            case CastArray():
                made = self.fresh()
                array = (OPERANDS["ARRAY"], self.register(each.value), None)
                self.call(each.cast, [array, self.constant(each.native)], made, reword=reword)
                return self.at(made)
        raise NotLoweredError(type(each).__name__)
