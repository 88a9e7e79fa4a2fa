"""`ZeroRedundancyOptimizer`: each rank stores the state of its part of the parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import dovetail
from dovetail import Tensor
from dovetail.optim import Optimizer
from dovetail.optim.optimizer import Params

from ..collectives.copies import broadcast
from ..collectives.objects import gather_object
from ..groups import get_global_rank, resolved
from ..joining import Join, Joinable, JoinHook
from ..process_group import ProcessGroup

ParamGroup = dict[str, Any]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer that divides its parameters and their state among the ranks. Each rank updates
    its parameters, and sends them to the other ranks.

    If gradients are equal on all ranks, as with DistributedDataParallel, the result equals
    ``optimizer_class(params, **defaults)`` on each rank. The method is the first stage of ZeRO
    (Rajbhandari and others, 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
    Models"). Parameters are not split: each is assigned to the rank with the fewest elements so
    far, the largest of a group first. When a group is added, the parameters of earlier groups and
    their state stay on their ranks.

    Parameters
    ----------
    params : iterable of Tensor or of dict
        All parameters, in the same order on all ranks; floating dense tensors of one dtype.
    optimizer_class : type of Optimizer
        The class that updates the parameters of a rank. It must update each parameter
        independently.
    process_group : ProcessGroup, optional
        Default: all ranks.
    parameters_as_bucket_view : bool, default False
        Whether the parameters of a rank are views of one vector, which is sent in one message.
    overlap_with_ddp : bool, default False
        Must be False.
    **defaults
        Options of `optimizer_class`.

    Raises
    ------
    TypeError
        If parameters have several dtypes or are not floating, or `optimizer_class` is not an
        optimizer.
    NotImplementedError
        If `overlap_with_ddp` is True.
    ValueError
        If this process is not in `process_group`.

    Examples
    --------
    ::

        model = DistributedDataParallel(model)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), dovetail.optim.Adam, lr=0.01)
    """

    def __init__(
        self,
        params: Params,
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "overlap_with_ddp=True is not supported. Leave it out: the gradients of "
                "DistributedDataParallel are sent while backward runs all the same."
            )
        if not _is_class_of_optimizers(optimizer_class):
            raise TypeError(
                f"optimizer_class should be a class of optimizers, not {optimizer_class!r}. Pass "
                "dovetail.optim.Adam, and its options as keywords."
            )
        self._optimizer_class = optimizer_class
        self._optimizer_defaults = defaults
        group = resolved(process_group)
        if group is None:
            raise ValueError(
                "This process is not in process_group. Make the optimizer on its members only."
            )
        self.process_group = group
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._all_state_dicts: list[dict[str, Any]] = []
        self._local: Optimizer | None = None
        super().__init__(params, defaults)
        self._divide()

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError(
            "A ZeroRedundancyOptimizer cannot be pickled: a rank has a part of the state. Call "
            "consolidate_state_dict() on all ranks, and save state_dict() on rank 0."
        )

    # -- parts -------------------------------------------------------------------------------------

    def _parameters(self) -> list[Tensor]:
        return [each for group in self.param_groups for each in group["params"]]

    def _divide(self) -> None:
        """Hand out the parameters, and make the optimizer of this rank's anew, with the state that
        there is.
        """
        parameters = self._parameters()
        dtypes = {each.dtype for each in parameters}
        if len(dtypes) > 1 or not all([each.is_floating_point() for each in parameters]):
            raise TypeError(
                "ZeroRedundancyOptimizer requires parameters of one floating dtype, but got "
                f"{sorted(map(str, dtypes))}. Make one optimizer for each."
            )
        loads = [0] * self.process_group.size()
        owners: dict[Tensor, int] = {}
        for group in self.param_groups:
            for each in sorted(group["params"], key=lambda each: -each.numel()):
                owners[each] = rank = loads.index(min(loads))
                loads[rank] += each.numel()
        self._parts: list[list[Tensor]] = [
            [each for each in parameters if owners[each] == rank] for rank in range(len(loads))
        ]
        mine = set(self._parts[self.process_group.rank()])
        groups = [
            {**group, "params": [each for each in group["params"] if each in mine]}
            for group in self.param_groups
        ]
        local = self._optimizer_class(groups, **self._optimizer_defaults)
        local.state = self.state
        self._local = local
        self.defaults = local.defaults
        _copy_options(local.param_groups, self.param_groups)
        self._vectors = (
            [_vector_of(part) for part in self._parts] if self.parameters_as_bucket_view else []
        )

    def add_param_group(self, param_group: ParamGroup) -> None:
        """Add a group of parameters, and assign them to ranks; see `Optimizer.add_param_group`.
        Call it on all ranks.
        """
        super().add_param_group(param_group)
        if self._local is None:
            return
        try:
            self._divide()
        except TypeError:
            self.param_groups.pop()
            raise

    # -- steps -------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **options: Any) -> Any:
        """Update this rank's parameters, send them to the other ranks, and receive theirs.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again.
        **options
            Further arguments of the optimizer's ``step``.

        Returns
        -------
        The loss of `closure`, or None.
        """
        assert self._local is not None
        Join.notify_join_context(self)
        _copy_options(self.param_groups, self._local.param_groups)
        loss = self._local.step(closure, **options)
        _copy_options(self._local.param_groups, self.param_groups)
        self._send_parameters()
        return loss

    def _send_parameters(self) -> None:
        sent = [
            broadcast(each.detach(), group=self.process_group, group_src=rank, async_op=True)
            for rank, part in enumerate(self._parts)
            for each in ([self._vectors[rank]] if self._vectors and part else part)
        ]
        for work in sent:
            if work is not None:
                work.wait()

    # -- ranks without inputs ----------------------------------------------------------------------

    def join_hook(self, **_: Any) -> JoinHook:
        """Return the hook for a `Join`. In `joinables`, the optimizer follows the module."""
        return _Steps(self)

    @property
    def join_device(self) -> dovetail.device:
        """The device of the parameters."""
        return self._parameters()[0].device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The process group that exchanges the parameters."""
        return self.process_group

    # -- state -------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the state of all ranks for `state_dict`, on rank `to` of the group. Call it on
        all ranks.
        """
        assert self._local is not None
        _copy_options(self.param_groups, self._local.param_groups)
        here = self.process_group.rank() == to
        places: list[Any] | None = [None] * self.process_group.size() if here else None
        gather_object(
            self._local.state_dict(),
            places,
            dst=get_global_rank(self.process_group, to),
            group=self.process_group,
        )
        self._all_state_dicts = places or []

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all parameters, in the format of the optimizer's own ``state_dict``.
        A single optimizer and any number of ranks can load it.

        Raises
        ------
        RuntimeError
            If `consolidate_state_dict` has not collected the state on this rank. The state is that
            of its last call.
        """
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                "`consolidate_state_dict(to=...)` on all ranks beforehand if you meant to save the "
                "global state."
            )
        result = super().state_dict()
        indices = {each: index for index, each in enumerate(self._parameters())}
        state = {}
        for part, local in zip(self._parts, self._all_state_dicts, strict=True):
            for index, held in local["state"].items():
                state[indices[part[index]]] = held
        result["state"] = dict(sorted(state.items()))
        return result

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Load the options of `state_dict`, and the state of this rank's parameters; see
        `Optimizer.load_state_dict`. Call it on all ranks with the same `state_dict`.
        """
        assert self._local is not None
        super().load_state_dict(state_dict)
        mine = set(self._parts[self.process_group.rank()])
        self._local.state = defaultdict(
            dict, {each: held for each, held in self.state.items() if each in mine}
        )
        self.state = self._local.state
        self._all_state_dicts = []
        _copy_options(self.param_groups, self._local.param_groups)


class _Steps(JoinHook):
    """Updates the parameters of a rank without inputs, and sends them, as the others do."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()


def _is_class_of_optimizers(given: object) -> bool:
    return isinstance(given, type) and issubclass(given, Optimizer)


def _copy_options(source: list[ParamGroup], target: list[ParamGroup]) -> None:
    for given, group in zip(source, target, strict=True):
        group.update({name: value for name, value in given.items() if name != "params"})


def _vector_of(part: list[Tensor]) -> Tensor:
    """Return one vector with the values of all of `part`, which become views of it."""
    if not part:
        return dovetail.empty(0)
    vector = dovetail.cat([each.detach().reshape(-1) for each in part])
    begin = 0
    for each in part:
        each.data = vector[begin : begin + each.numel()].view(each.shape)
        begin += each.numel()
    return vector
