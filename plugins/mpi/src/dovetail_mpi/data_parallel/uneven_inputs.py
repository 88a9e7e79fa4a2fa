"""Training when some ranks have fewer batches: `UnevenInputs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dovetail

from ..collectives.reductions import all_reduce
from ..joining import JoinHook
from ..reduce_op import ReduceOp

if TYPE_CHECKING:
    from .module import DistributedDataParallel


class UnevenInputs:
    """The ranks of a model that still have batches, counted before each iteration.

    Parameters
    ----------
    model : DistributedDataParallel
    divides_by_all : bool
        Whether gradients are divided by the number of all ranks.
    raises : bool
        Whether all raise when one has no more batches.
    """

    def __init__(self, model: DistributedDataParallel, divides_by_all: bool, raises: bool) -> None:
        self._model = model
        self._divides_by_all = divides_by_all
        self._raises = raises

    def begin_iteration(self, syncs: bool) -> int:
        """Take note that this rank has a batch; return the rank whose buffers are taken."""
        count, _, src = self._count(has_batch=True, syncs=syncs)
        if not self._divides_by_all:
            self._model.reducer.divisor = count
        return src

    def shadow_the_others(self) -> None:
        """Take part in iterations of the others until none has a batch; then take the state of a
        rank that came last.
        """
        came_last = True
        while self.shadow_one():
            came_last = False
        self.take_last_state(came_last)

    def shadow_one(self) -> bool:
        """Take part in an iteration of the others; return whether there was one."""
        count, syncs, src = self._count(has_batch=False, syncs=False)
        if count == 0:
            return False
        if not self._divides_by_all:
            self._model.reducer.divisor = count
        self._model.shadow_iteration(syncs, src)
        return True

    def take_last_state(self, came_last: bool) -> None:
        """Take the state of a rank that came last; `came_last` says whether this one did."""
        group = self._model.process_group
        last = dovetail.tensor([group.rank() if came_last else -1])
        all_reduce(last, ReduceOp.MAX, group)
        self._model.take_state_of(int(last.item()))

    def _count(self, has_batch: bool, syncs: bool) -> tuple[int, bool, int]:
        """Return how many ranks have a batch, whether they average gradients, and the first of
        them.
        """
        group = self._model.process_group
        every = dovetail.zeros(group.size(), 2, dtype=dovetail.int64)
        every[group.rank(), 0] = int(has_batch)
        every[group.rank(), 1] = int(syncs)
        all_reduce(every, ReduceOp.MAX, group)
        having = every[:, 0].tolist()
        count = sum(having)
        if self._raises and count < group.size():
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks. Give "
                f"all as many batches; without any are the ranks "
                f"{[rank for rank, has in enumerate(having) if not has]}."
            )
        return count, bool(every[:, 1].max().item()), having.index(1) if count else 0


class JoinHookOfModel(JoinHook):
    """What a rank without batches does for its model in a `Join` of several objects."""

    def __init__(self, model: DistributedDataParallel, uneven: UnevenInputs) -> None:
        self._model, self._uneven = model, uneven

    def main_hook(self) -> None:
        self._uneven.shadow_one()

    def post_hook(self, is_last_joiner: bool) -> None:
        self._uneven.take_last_state(is_last_joiner)

    def leave(self) -> None:
        self._model.end_uneven_inputs()
