"""Whether NumPy looks ``__array_ufunc__`` up for a ufunc, or for an operator.

NumPy looks at the class, not at the tensor, and ``np.float64(2) * x`` asks as well, which PyTorch
answers by ``x.__rmul__``. In both calls NumPy has the same ufunc and the same arguments. The
instruction of the program tells them apart, and for `operator.mul` or `sum`, which the program
calls like a ufunc, the number of lookups during the instruction: one for ``np.multiply``, at least
two for an operator, which first asks whether it has to defer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from opcode import opname
from types import CodeType, FrameType
from typing import Any, Final

__all__ = ["is_ufunc", "take_lookups", "without_protocol"]


def is_ufunc(frame: FrameType, owner: Any) -> bool:
    """Return whether the lookup in class `owner` may be a ufunc's, and count it then.

    Parameters
    ----------
    frame
        The innermost frame of the program.
    """
    if frame.f_code is _WITHOUT or _is_operator(frame):
        return False
    _lookups.count(frame, owner)
    return True


def take_lookups() -> int:
    """Return the number of lookups that led to the call that begins now, and forget them; 0 for a
    call of the program's own.
    """
    number = 0 if _lookups.instruction is None else _lookups.number
    _lookups.instruction = None
    return number


def without_protocol(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a ufunc or an operator that finds no ``__array_ufunc__`` in the class of tensors."""
    return function(*args, **kwargs)


_WITHOUT: Final = without_protocol.__code__


class _Lookups(threading.local):
    """Number of lookups in the class by the instruction that runs now, and what that is."""

    number = 0
    instruction: tuple[int, int, Any] | None = None

    def count(self, frame: FrameType, owner: Any) -> None:
        instruction = id(frame), frame.f_lasti, owner
        self.number = self.number + 1 if self.instruction == instruction else 1
        self.instruction = instruction


_lookups: Final = _Lookups()
_OPERATORS: Final = frozenset({"BINARY_OP", "COMPARE_OP", "LOAD_ATTR", "LOAD_METHOD"})
"""Instructions that call no ufunc by its name."""
_instructions: Final[dict[tuple[int, int], tuple[CodeType, bool]]] = {}
"""Whether instructions are among `_OPERATORS`, with the code that keeps its id."""
_REMEMBERED: Final = 1024


def _is_operator(frame: FrameType) -> bool:
    """Return whether the instruction that `frame` runs is an operator in the program's text."""
    code, position = frame.f_code, frame.f_lasti
    known = _instructions.get((id(code), position))
    if known is None:
        if len(_instructions) >= _REMEMBERED:
            _instructions.clear()
        # `co_code` is made anew each time, as long as the function.
        known = code, opname[code.co_code[position]] in _OPERATORS
        _instructions[id(code), position] = known
    return known[1]
