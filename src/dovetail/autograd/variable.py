"""`Variable`: the old name of a tensor, and the engine."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail_aten import Tensor
from dovetail_autograd import Engine, default_engine

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _LegacyVariableBase:
    """What calling `Variable` does.

    Parameters
    ----------
    data
        A tensor.
    requires_grad
        Whether gradients are computed for the leaf. Default: False.
    volatile
        Has no effect; True warns that `no_grad` does what it did.
    """

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made: Any = data.detach().requires_grad_(requires_grad)
        if volatile:
            made.volatile = True
        return made


class Variable(_LegacyVariableBase, metaclass=_VariableMeta):
    """Any tensor is a Variable; ``Variable(data)`` is a leaf that shares the data of a tensor."""

    _execution_engine: ClassVar[Engine] = default_engine
