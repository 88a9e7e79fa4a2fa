"""`Join`: objects of several kinds work on together while some ranks have no more inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import dovetail

from .collectives.reductions import all_reduce
from .process_group import ProcessGroup

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without inputs does for one object."""

    def main_hook(self) -> None:
        """Take part in what the object communicates in one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do what is left when no rank has inputs any more.

        Parameters
        ----------
        is_last_joiner : bool
            Whether this rank was among those that had inputs longest.
        """

    def leave(self) -> None:
        """Undo what `Joinable.join_hook` did to the object: called at the end in any case."""


class Joinable(ABC):
    """An object that communicates in each iteration: one of `Join`."""

    _join_context: Join | None = None

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of this object for one `Join`, which is given its keywords."""

    @property
    @abstractmethod
    def join_device(self) -> dovetail.device:
        """The device of what the object communicates."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The group that the object communicates in."""


class Join:
    """Train on ranks that have different numbers of inputs: a context.

    A rank that comes to the end of the block calls the hooks of all objects, in their order, for
    each iteration of the others.

    Parameters
    ----------
    joinables : sequence of Joinable
        In the order in which they communicate in an iteration, such as a DistributedDataParallel
        and the ZeroRedundancyOptimizer of its parameters.
    enable : bool, default True
        False if all ranks have as many inputs: nothing is done.
    throw_on_early_termination : bool, default False
        Whether all ranks raise RuntimeError as soon as one has no more inputs.
    **kwargs
        For the hooks, such as ``divide_by_initial_world_size``.

    Raises
    ------
    ValueError
        Without joinables, or if they are of several groups.
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
        """Say that an iteration begins: called by a joinable before it communicates. Of several
        in one context the first is heard.
        """
        if joinable._join_context is not None:
            joinable._join_context._count(has_inputs=True)
