"""`Reducer`: averages gradients over ranks during the backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dovetail
from dovetail.autograd import Variable
from dovetail.nn import Parameter

from ..collectives.reductions import all_reduce
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp
from .buckets import Bucket, GradBucket, make_buckets


class Reducer:
    """Puts gradients into buckets as they come, and all-reduces each bucket that is full.

    All ranks begin the buckets in one order, whatever the order of their gradients.

    Parameters
    ----------
    named : sequence of (str, Parameter)
        The parameters that require a gradient, in the order of the module.
    group : ProcessGroup
    cap_mb : float, optional
        As in `make_buckets`.
    finds_unused : bool
        Whether some ranks may use parameters that others do not.
    keeps_views : bool
        Whether gradients are views of the buckets afterwards.
    is_static : bool
        Whether every backward is like the first.
    """

    def __init__(
        self,
        named: Sequence[tuple[str, Parameter]],
        group: ProcessGroup,
        cap_mb: float | None,
        finds_unused: bool,
        keeps_views: bool,
        is_static: bool,
    ) -> None:
        self.names = [name for name, _ in named]
        self.parameters = [parameter for _, parameter in named]
        self.positions = {id(each): index for index, each in enumerate(self.parameters)}
        self.buckets = make_buckets(self.parameters, cap_mb)
        self.divisor = group.size()
        self.comm_hook: Callable[[GradBucket], Any] | None = None
        self._group = group
        self._finds_unused = finds_unused
        self._keeps_views = keeps_views
        self._is_static = is_static
        self._calls: list[int] | None = None  # how often each gradient comes in a static backward
        self._counted = [0] * len(self.parameters)
        self._static_used: set[int] | None = None
        self._place = {
            index: (bucket, bucket.views[number])
            for bucket in self.buckets
            for number, index in enumerate(bucket.indices)
        }
        self._used: set[int] = set()
        self._is_armed = False
        self._reset()
        for index, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(partial(self._came, index))

    def _reset(self) -> None:
        self._next = 0
        self._has_begun = False
        self._unused: set[int] = set()
        self._marked: set[int] = set()
        self._left = list(self._calls) if self._calls else [1] * len(self.parameters)
        for bucket in self.buckets:
            bucket.reset()

    # -- before a backward -------------------------------------------------------------------------

    def arm(self, unused: set[int]) -> None:
        """Expect the gradients of a backward, but for those of the parameters `unused`."""
        if self._calls is not None:
            unused = {index for index, calls in enumerate(self._calls) if calls == 0}
        self._unused = unused
        self._is_armed = True

    def disarm(self) -> None:
        """Leave the gradients of the next backward as they are."""
        self._is_armed = False

    def check_finished(self) -> None:
        """Raise an error for another forward while gradients of the last backward are missing.

        Raises
        ------
        RuntimeError
            Names the parameters.
        """
        if not self._has_begun:
            return
        missing = sorted(set(range(len(self.parameters))) - self._marked)
        names = ", ".join(self.names[index] for index in missing)
        for bucket in self.buckets[: self._next]:
            bucket.work.wait()
        self._reset()
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. "
            "This error indicates that your module has parameters that were not used in producing "
            f"loss: {names} (rank {self._group.rank()}). Pass find_unused_parameters=True, and "
            "make sure that all outputs of forward are part of the loss."
        )

    # -- during a backward -------------------------------------------------------------------------

    def _came(self, index: int, parameter: dovetail.Tensor) -> None:
        """Take note of a gradient: called by autograd when a parameter has it."""
        self._used.add(index)
        if not self._is_armed:
            return
        first = not self._has_begun
        self._has_begun = True
        if self._is_static and self._calls is None:
            self._counted[index] += 1
            if first:
                _after_backward(self._end_first_static)
            return
        if first:
            if self._finds_unused:
                _after_backward(self._leave_out_the_rest)
            for unused in sorted(self._unused):
                self._mark(unused)
        self._left[index] -= 1
        if self._left[index] == 0 or index in self._marked:
            self._mark(index)
        for bucket in self.buckets[: self._next]:
            if bucket.work is not None and hasattr(bucket.work, "is_completed"):
                bucket.work.is_completed()  # MPI moves data when it is asked

    def _end_first_static(self) -> None:
        self._calls = list(self._counted)
        for index in range(len(self.parameters)):
            self._mark(index)

    def _leave_out_the_rest(self) -> None:
        """Expect no more gradients: some results of forward are not part of the loss."""
        if self._has_begun:
            for index in sorted(set(range(len(self.parameters))) - self._marked):
                self._mark(index)

    def _mark(self, index: int) -> None:
        """Put a gradient into its bucket, and begin the buckets that are full."""
        if index in self._marked:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: parameter {self.names[index]!r} got "
                "a second gradient in one iteration. Call backward once for each forward, or pass "
                "static_graph=True if parameters are used several times by checkpointing."
            )
        self._marked.add(index)
        bucket, view = self._place[index]
        self._fill(view, self.parameters[index])
        bucket.missing -= 1
        while self._next < len(self.buckets) and self.buckets[self._next].missing == 0:
            self._begin(self._next)
            self._next += 1
        if self._next == len(self.buckets):
            self._next += 1
            _after_backward(self._finish)

    @dovetail.no_grad()
    def _fill(self, view: dovetail.Tensor, parameter: Parameter) -> None:
        grad: Any = parameter.grad
        divisor = 1 if self.comm_hook is not None else self.divisor
        if grad is None:
            view.zero_()
        elif grad is view:
            view.div_(divisor)
        else:
            dovetail.div(grad, divisor, out=view)
            if self._keeps_views:
                parameter.grad = view

    def _begin(self, number: int) -> None:
        bucket = self.buckets[number]
        if self.comm_hook is None:
            bucket.work = all_reduce(bucket.flat, ReduceOp.SUM, self._group, async_op=True)
        else:
            is_last = number == len(self.buckets) - 1
            bucket.work = self.comm_hook(GradBucket(number, bucket, is_last))

    # -- at its end --------------------------------------------------------------------------------

    @dovetail.no_grad()
    def _finish(self) -> None:
        """Give every parameter its average."""
        self._give_averages(self._used_anywhere())
        self._used = set()
        self._is_armed = False
        self._reset()

    def _wait(self, bucket: Bucket) -> None:
        result = bucket.work.wait()
        if self.comm_hook is not None:
            values = result[0] if isinstance(result, (list, tuple)) else result
            if values is not bucket.flat:
                bucket.flat.copy_(values)

    def _used_anywhere(self) -> set[int]:
        """Return the parameters that some rank used; all, unless they are looked for."""
        if self._static_used is not None:
            return self._static_used
        if not (self._finds_unused or self._is_static):
            return set(range(len(self.parameters)))
        used = dovetail.zeros(len(self.parameters), dtype=dovetail.int32)
        for index in self._used:
            used[index] = 1
        all_reduce(used, ReduceOp.MAX, self._group)
        found = set(used.nonzero().flatten().tolist())
        if self._is_static:
            self._static_used = found
        return found

    def _give(self, parameter: Parameter, view: dovetail.Tensor) -> None:
        if self._keeps_views:
            parameter.grad = view
        elif parameter.grad is None:
            parameter.grad = view.clone()
        else:
            grad: Any = parameter.grad
            grad.copy_(view)

    # -- for a rank without inputs -----------------------------------------------------------------

    @dovetail.no_grad()
    def shadow(self) -> None:
        """Take part in a backward of the others, with gradients of zero; parameters get the
        averages, with which an optimizer may go on.
        """
        self._reset()
        for number, bucket in enumerate(self.buckets):
            bucket.flat.zero_()
            self._begin(number)
        self._used = set()
        self._give_averages(self._used_anywhere())
        self._reset()

    def _give_averages(self, used: set[int]) -> None:
        for bucket in self.buckets:
            self._wait(bucket)
            for index, view in zip(bucket.indices, bucket.views, strict=True):
                if index in used:
                    self._give(self.parameters[index], view)


def _after_backward(callback: Callable[[], None]) -> None:
    Variable._execution_engine.queue_callback(callback)
