"""`Join`: objects of several kinds communicate while some ranks have no more inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import dovetail

from .collectives.reductions import all_reduce
from .process_group import ProcessGroup


class JoinHook:
    """The part of one object on a rank without inputs."""

    def main_hook(self) -> None:
        """Take part in the communication of the object in one iteration of the other ranks."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Finish, when no rank has inputs any more.

        Parameters
        ----------
        is_last_joiner : bool
            Whether this rank was one of the last with inputs.
        """

    def leave(self) -> None:
        """Undo the changes of `Joinable.join_hook` to the object. It is always called at the
        end.
        """


class Joinable(ABC):
    """An object for `Join`, which communicates in each iteration."""

    _join_context: Join | None = None

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of this object for one `Join`, with the keywords of that context."""

    @property
    @abstractmethod
    def join_device(self) -> dovetail.device:
        """The device of the communicated tensors."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The process group of the communication."""


class Join:
    """A context manager for training on ranks with different numbers of inputs.

    A rank at the end of the block calls the hooks of all objects, in order, for each iteration of
    the other ranks.

    Parameters
    ----------
    joinables : sequence of Joinable
        The objects, in the order of their communication in an iteration, such as a
        DistributedDataParallel and the ZeroRedundancyOptimizer of its parameters.
    enable : bool, default True
        Use False, which does nothing, if all ranks have the same number of inputs.
    throw_on_early_termination : bool, default False
        Whether all ranks raise RuntimeError once one rank has no more inputs.
    **kwargs
        Arguments of the hooks, such as ``divide_by_initial_world_size``.

    Raises
    ------
    ValueError
        If `joinables` is empty, or the objects use several groups.
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError(
                "The join context manager requires at least one joinable. Give it the module and "
                "the optimizer."
            )
        groups = [each.join_process_group for each in joinables]
        if any([each is not groups[0] for each in groups]):
            raise ValueError(
                "Using join context manager with multiple process groups. Make one for each group."
            )
        self._joinables, self._group = list(joinables), groups[0]
        self._enable, self._raises, self._options = enable, throw_on_early_termination, kwargs
        self._hooks: list[JoinHook] = []

    def __enter__(self) -> None:
        if self._enable:
            self._hooks = [each.join_hook(**self._options) for each in self._joinables]
            self._joinables[0]._join_context = self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._enable:
            return
        self._joinables[0]._join_context = None
        try:
            if kind is None:
                self._shadow_the_others()
        finally:
            for hook in self._hooks:
                hook.leave()

    def _shadow_the_others(self) -> None:
        came_last = True
        while self._count(has_inputs=False):
            came_last = False
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(came_last)

    def _count(self, has_inputs: bool) -> int:
        """Return how many ranks begin an iteration."""
        having = dovetail.tensor([int(has_inputs)])
        all_reduce(having, group=self._group)
        count = int(having.item())
        if self._raises and 0 < count < self._group.size():
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks. Give "
                "all as many."
            )
        return count

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Mark the begin of an iteration. A joinable calls this before it communicates; the call of
        the first joinable of a context counts.
        """
        if joinable._join_context is not None:
            joinable._join_context._count(has_inputs=True)
