"""`DistributedDataParallel`: a module with a copy on every rank, trained on the data of all
ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dovetail
from dovetail.nn import Module

from ..collectives.copies import broadcast
from ..collectives.objects import gathered
from ..groups import member
from ..joining import Join, Joinable
from ..process_group import ProcessGroup
from .reducer import Reducer
from .uneven_inputs import JoinHookOfModel, UnevenInputs
from .used_parameters import unused_parameters

_IGNORED = "_ddp_params_and_buffers_to_ignore"


class DistributedDataParallel(Module, Joinable):
    """Runs ``module``, and averages its gradients over all ranks during the backward.

    The gradients are those of one process with the batches of all ranks joined, for a loss that is
    a mean over equal batches. The parameters and buffers of rank 0 are copied to the other ranks at
    the start, and buffers before each forward.

    Parameters
    ----------
    module : Module
        The same on all ranks.
    device_ids : sequence, optional
        At most one device.
    broadcast_buffers : bool, default True
        Whether buffers are copied from rank 0, at the start and before each forward.
    init_sync : bool, default True
        Whether ranks compare the names, shapes and dtypes of their parameters, and copy the values
        of rank 0.
    process_group : ProcessGroup, optional
        Default: all processes.
    bucket_cap_mb : float, optional
        Mebibytes of gradients in a bucket. Default: 25, and 1 for the first bucket.
    find_unused_parameters : bool, default False
        Whether some parameters may get no gradient; the graph is then searched after each forward.
        Parameters that no rank uses keep their ``grad``.
    gradient_as_bucket_view : bool, default False
        Whether gradients are views of the buckets, which saves a copy and half of the memory.
    static_graph : bool, default False
        Whether all iterations use the same parameters equally often; the first iteration determines
        them.
    output_device, dim, check_reduction, device_mesh : optional
        Accepted for compatibility.

    Raises
    ------
    RuntimeError
        If no parameter requires a gradient, or the ranks have different modules.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[object] | None = None,
        output_device: object = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        device_mesh: object = None,
    ) -> None:
        super().__init__()
        self.process_group = member(process_group)
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(
                "device_ids can only be None or contain a single element: start one process for "
                "each device"
            )
        ignored = set(getattr(module, _IGNORED, ()))
        named = [
            (name, each)
            for name, each in module.named_parameters()
            if each.requires_grad and name not in ignored
        ]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters "
                "that require a gradient."
            )
        self.module = module
        self.dim = dim
        self.device = named[0][1].device
        self.broadcast_buffers = broadcast_buffers is not False
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self._ignored = ignored
        self._uneven: UnevenInputs | None = None
        if init_sync:
            self._check_equal(named)
            self._copy_state(0)
        self.reducer = Reducer(
            named,
            self.process_group,
            bucket_cap_mb,
            find_unused_parameters,
            gradient_as_bucket_view,
            static_graph,
        )

    def _check_equal(self, named: list[tuple[str, Any]]) -> None:
        """Raise an error for modules that differ from rank to rank."""
        mine = [(name, tuple(each.shape), str(each.dtype)) for name, each in named]
        every = gathered("DistributedDataParallel: parameters", mine, self.process_group)
        for rank, theirs in enumerate(every):
            if len(theirs) != len(every[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(every[0])} "
                    f"params, while rank {rank} has inconsistent {len(theirs)} params."
                )
            for first, other in zip(every[0], theirs, strict=True):
                if first != other:
                    raise RuntimeError(
                        f"DDP expects same model across all ranks: rank 0 has {first[0]} with "
                        f"shape {first[1]} and {first[2]}, rank {rank} {other[0]} with shape "
                        f"{other[1]} and {other[2]}. Build it alike on all."
                    )

    # -- state -------------------------------------------------------------------------------------

    def _buffers_to_copy(self) -> list[Any]:
        named = self.module.named_buffers()
        return [each for name, each in named if name not in self._ignored and each.numel()]

    def _copy_state(self, src: int) -> None:
        """Copy parameters, and buffers unless each rank has its own, of rank `src` of the group."""
        parameters = self.module.named_parameters()
        kept = [each.detach() for name, each in parameters if name not in self._ignored]
        self._copy([*kept, *(self._buffers_to_copy() if self.broadcast_buffers else ())], src)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, names: Iterable[str]) -> None:
        """Leave parameters and buffers of `module`, which is wrapped afterwards, to each rank.

        Parameters
        ----------
        module : Module
        names : iterable of str
            As in ``module.state_dict()``.
        """
        setattr(module, _IGNORED, list(names))

    @dovetail.no_grad()
    def _copy(self, tensors: list[Any], src: int) -> None:
        """Copy tensors of rank `src`: in one message for each dtype if they are small."""
        alike: dict[Any, list[Any]] = {}
        for each in tensors:
            alike.setdefault((each.dtype, each.device), []).append(each)
        here = self.process_group.rank() == src
        for group in alike.values():
            joined = dovetail.cat([each.reshape(-1) for each in group])
            broadcast(joined, group=self.process_group, group_src=src)
            if not here:
                parts = joined.split([each.numel() for each in group])
                for each, part in zip(group, parts, strict=True):
                    each.copy_(part.view(each.shape))

    # -- running -----------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = dovetail.is_grad_enabled() and self.require_backward_grad_sync
        if dovetail.is_grad_enabled():
            self.reducer.check_finished()
        Join.notify_join_context(self)
        src = 0
        if self._uneven is not None:
            src = self._uneven.begin_iteration(syncs)
        if self.broadcast_buffers and self.require_backward_grad_sync:
            self._copy(self._buffers_to_copy(), src)
        outputs = self.module(*inputs, **kwargs)
        if not dovetail.is_grad_enabled():
            return outputs
        if not syncs:
            self.reducer.disarm()
            return outputs
        looks = self.find_unused_parameters and not self.static_graph
        positions = self.reducer.positions
        self.reducer.arm(unused_parameters(outputs, positions) if looks else set())
        return outputs

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients on this rank; the first iteration after the block averages them.

        Call both the forward and the backward of an iteration in the block.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """A context manager for training on ranks with different numbers of batches.

        A rank at the end of the block takes part in the iterations of the other ranks, with
        gradients of zero. After the block, all ranks have the parameters of a rank that ended last.

        Parameters
        ----------
        divide_by_initial_world_size : bool, default True
            Whether gradients are divided by the number of all ranks, instead of the ranks that
            still have batches.
        enable : bool, default True
            Use False, which does nothing, if all ranks have the same number of batches.
        throw_on_early_termination : bool, default False
            Whether all ranks raise RuntimeError once one rank has no more batches.
        """
        if not enable:
            yield
            return
        uneven = UnevenInputs(self, divide_by_initial_world_size, throw_on_early_termination)
        self._uneven = uneven
        try:
            yield
            uneven.shadow_the_others()
        finally:
            self.end_uneven_inputs()

    def end_uneven_inputs(self) -> None:
        """End `join`: all ranks have the same number of batches again."""
        self._uneven = None
        self.reducer.divisor = self.process_group.size()

    def join_hook(self, divide_by_initial_world_size: bool = True, **_: Any) -> JoinHookOfModel:
        """Return the hook for a `Join`, with the option of `join`."""
        self._uneven = UnevenInputs(self, divide_by_initial_world_size, raises=False)
        return JoinHookOfModel(self, self._uneven)

    @property
    def join_device(self) -> dovetail.device:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The process group that averages the gradients."""
        return self.process_group

    def shadow_iteration(self, syncs: bool, src: int) -> None:
        """Take part in the collectives of one iteration of the other ranks."""
        if self.broadcast_buffers and self.require_backward_grad_sync:
            self._copy(self._buffers_to_copy(), src)
        if syncs:
            self.reducer.shadow()

    def take_state_of(self, src: int) -> None:
        """Copy the parameters and buffers of rank `src` of the group."""
        self._copy_state(src)

    def register_comm_hook(self, state: object, hook: Callable[..., object]) -> None:
        """Register a function that averages the gradients.

        Parameters
        ----------
        state : object
            Its first argument.
        hook : callable
            Called as ``hook(state, bucket)`` with a full `GradBucket`, in the same order on all
            ranks. It returns a `Future` of the averaged flat tensor, such as
            ``all_reduce(bucket.buffer().div_(n), async_op=True).get_future()``.

        Raises
        ------
        TypeError
            If `hook` is not callable.
        RuntimeError
            If a hook is already registered.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.comm_hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.comm_hook = lambda bucket: hook(state, bucket)
