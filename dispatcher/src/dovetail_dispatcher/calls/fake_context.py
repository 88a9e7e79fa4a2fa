"""`get_ctx`: what a fake kernel may ask for while it runs, and the sizes that a check gives it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from dovetail_kernel import Guard

from ..table.kernels import Kernel
from ..table.operator import Operator


class FakeImplCtx:
    """The context of a running fake kernel."""

    def __init__(self, op: Operator, kernel: Kernel) -> None:
        self._op = op
        self._kernel = kernel

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Stand for a size that depends on the data of the arguments: a number that `opcheck` puts
        there. Raises RuntimeError in calls, where fake kernels run for meta tensors, whose sizes
        are numbers.
        """
        sizes = _sizes.get()
        if sizes is not None:
            return sizes.new(min, max)
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


_sizes: ContextVar[DynamicSizes | None] = ContextVar("dovetail_dynamic_sizes", default=None)


class DynamicSizes(Guard):
    """Gives sizes to fakes in a ``with`` block, in place of those that depend on data.

    Parameters
    ----------
    earlier
        Those of another run of the same calls: where they may be, the sizes are others here, so
        that the sizes of results that follow from them differ between the two runs.

    Attributes
    ----------
    given
        The sizes, and the least and greatest that each may be.
    """

    variables = (_sizes,)

    def __init__(self, earlier: DynamicSizes | None = None) -> None:
        self.given: list[tuple[int, int, int | None]] = []
        self._step = 0 if earlier is None else 1

    def new(self, least: int, greatest: int | None) -> int:
        """Return the next size."""
        # Each size its own; none is 0 or 1, which functions treat otherwise.
        size = max(least, 2) + 2 * len(self.given) + self._step
        if greatest is not None:
            size = max(least, min(size, greatest - (1 - self._step)))
        self.given.append((size, least, greatest))
        return size

    def change(self) -> DynamicSizes:
        """Give the sizes from here."""
        _sizes.set(self)
        return self


_current: ContextVar[FakeImplCtx | None] = ContextVar("dovetail_fake_context", default=None)


def get_ctx() -> FakeImplCtx | None:
    """Return the context of the fake kernel that is running in this task; None outside one."""
    return _current.get()


set_ctx: Final[Callable[[FakeImplCtx | None], Any]] = _current.set
"""Put a context in force."""
