"""The transforms in force, apart from the modules that make them: to ask whether there are any
loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Protocol

from dovetail_kernel import TensorBase, wrap
from dovetail_kernel.signature import WRAPPED_BIT
from dovetail_kernel.tensor import is_known_to, kernel_writes


class ActiveLevel(Protocol):
    """Describes a transform in force as the engine sees it.

    Attributes
    ----------
    transforms_function
        Whether it transforms a function, which has the graph of its inside to itself.
    number
        Of a transform that differentiates a function, higher than of those entered before; 0 of all
        others.
    depth
        How many levels this one is inside, plus one.
    """

    transforms_function: ClassVar[bool]
    number: int
    depth: int

    def run_outside(self, function: Callable[..., object], *args: Any) -> Any:
        """Return ``function(*args)``, run where this level was entered."""


_levels: ContextVar[tuple[Any, ...]] = ContextVar("dovetail_transform_levels", default=())

LEVELS: Final = _levels
"""The context variable that holds them, for `Guard.variables`."""

active_levels: Final[Callable[[], tuple[ActiveLevel, ...]]] = _levels.get
"""Return the levels that this task is in, outermost first."""

set_active_levels: Final[Callable[[tuple[ActiveLevel, ...]], Any]] = _levels.set


def is_in_transform() -> bool:
    """Return whether a function is being transformed, so that its graph must not be taken over from
    inside.
    """
    return any([level.transforms_function for level in _levels.get()])


def refuse_captured(operator: str, *written: TensorBase) -> None:
    """Refuse that `operator` writes a tensor that a transform in force does not know, unless the
    write is part of a kernel.

    Raises
    ------
    RuntimeError
        Naming the operator.
    """
    if kernel_writes.get():
        return
    for number in [level.number for level in _levels.get() if level.number]:
        for tensor in written:
            if not is_known_to(number, tensor._counter):
                raise RuntimeError(
                    "During a grad (vjp, jvp, grad, etc) transform, the function provided "
                    f"attempted to call in-place operation ({operator}) that would mutate a "
                    "captured Tensor. This is not supported; please rewrite the function being "
                    "transformed to explicitly accept the mutated Tensor(s) as inputs."
                )


def text_inside(tensor: TensorBase) -> str | None:
    """Return ``repr(tensor)`` inside of a transform that differentiates a function and knows
    `tensor`: PyTorch's text of its wrapper. None if there is no such transform.
    """
    own = tensor.array.level.depth if tensor._signature & WRAPPED_BIT else 0
    for level in reversed(_levels.get()):
        if level.depth <= own:
            break
        if level.number and is_known_to(level.number, tensor._counter):
            return framed(f"GradTrackingTensor(lvl={level.depth}", level.run_outside(_bare, tensor))
    return None


def framed(head: str, text: str) -> str:
    """Return the text of a wrapper whose content has the text `text`."""
    value = "\n".join([f"    {line}" for line in text.splitlines()])
    return f"{head}, value=\n{value}\n)"


def _bare(tensor: TensorBase) -> str:
    """Return the text of `tensor` without its graph, which is that of the transform."""
    twin = wrap(tensor.array, tensor._backend)
    twin._counter = tensor._counter
    return repr(twin)
