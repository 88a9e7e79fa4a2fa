"""`get_ctx`: what a fake kernel may ask for while it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, NoReturn

from ..table.kernels import Kernel
from ..table.operator import Operator


class FakeImplCtx:
    """The context of a running fake kernel."""

    def __init__(self, op: Operator, kernel: Kernel) -> None:
        self._op = op
        self._kernel = kernel

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Stand for a size that depends on the data of the arguments.

        Raises
        ------
        RuntimeError
            Always: fake kernels run for meta tensors here, whose sizes are numbers.
        """
        raise RuntimeError(
            f"{self._op.qualified_name} ({self._kernel.source}): You're trying to run this "
            "operator with meta Tensors "
            "(as opposed to FakeTensors), but this operator may return an output Tensor with "
            "data-dependent shape. "
            "Meta Tensors don't support operators with outputs that have data-dependent shapes. "
            "If your operator does "
            "not return an output with data-dependent shape, make sure the meta kernel does not "
            "call get_ctx(). "
            "Otherwise call it with real tensors."
        )

    create_unbacked_symint = new_dynamic_size


_current: ContextVar[FakeImplCtx | None] = ContextVar("dovetail_fake_context", default=None)


get_ctx: Final[Callable[[], FakeImplCtx | None]] = _current.get
"""Return the context of the fake kernel that is running in this task; None outside one."""

set_ctx: Final[Callable[[FakeImplCtx | None], Any]] = _current.set
"""Put a context in force."""
