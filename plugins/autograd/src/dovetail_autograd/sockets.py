"""Sockets of autograd: every place where the graph or the engine calls the transforms above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel.sockets import Socket

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from dovetail_kernel import TensorBase

    from .recording.function import Function

    class BatchedGrad(Protocol):
        def __call__(self, *arguments: Any) -> tuple[TensorBase | None, ...]:
            """Return what `grad` does with ``is_grads_batched=True``; takes its arguments."""

    class CompiledLoop(Protocol):
        """The engine's loop, compiled, for arrays of one class."""

        array_type: type[Any]
        run: Callable[..., None]
        """Do what `_loop_over_arrays` does."""

    class WrappedFunction(Protocol):
        def __call__(
            self, cls: type[Function], args: tuple[object, ...], kwargs: dict[str, object], /
        ) -> Any:
            """Return what ``cls.apply(*args, **kwargs)`` does where one of them is wrapped."""


BATCHED_GRAD: Final[Socket[BatchedGrad]] = Socket("dovetail_autograd", "when autograd is loaded")
"""Called by `grad` with ``is_grads_batched=True``."""

COMPILED_LOOP: Final[Socket[CompiledLoop | None]] = Socket(
    "dovetail_native.lowering", "with the first compiled route after autograd is loaded", None
)
"""Called by the engine for runs over arrays while no leaf has hooks; None: all run in Python."""

WRAPPED_FUNCTION: Final[Socket[WrappedFunction]] = Socket(
    "dovetail_autograd.transforms.wrapped.wrapped_backend",
    "before the first transform of a function",
)
"""Called by `Function.apply` with tensors of a transform."""
