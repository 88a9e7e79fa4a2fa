"""The interpreter of calls on batched tensors: one call of the operator's batching rule, or one
call per entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakSet, ref

from dovetail_dispatcher import OpOverload
from dovetail_dispatcher.calls import strip_defaults
from dovetail_dispatcher.registration import load_batching_rules
from dovetail_dispatcher.table import BatchingRule, KernelResults
from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    set_state,
    share_storage,
    share_version,
    state,
    warn_user,
)
from dovetail_kernel.keys import STATE, Transition
from dovetail_kernel.signature import GRAD, WRAPPED_BIT

from ...engine.active_levels import LEVELS
from ...graph.engine_ops import operator
from ..forward_mode.duals import is_tracked
from ..wrapped.arrays import BatchedArray, MovedArray, SharedArray, wrapped
from ..wrapped.levels import Level
from ..wrapped.wrapped_calls import decomposition, map_tensors, note_view, present, run_decomposed
from ..wrapped.written_tensors import place_in_graph, write_shared
from .batching_errors import check_outputs, loop_refusal, unbatched_write_error
from .function_rules import call_batched


class VmapInfo(NamedTuple):
    """Tells a batching rule of the vmap that it works for.

    Attributes
    ----------
    batch_size
        The number of entries.
    randomness
        ``'error'``, ``'different'`` or ``'same'``: what random operators are to do.
    """

    batch_size: int
    randomness: str


@dataclass(frozen=True, slots=True)
class _Shape:
    """Keeps what the interpreter has to know of an operator's schema.

    Attributes
    ----------
    lists
        Positions of the arguments that are lists of tensors.
    keywords
        Names of the keyword-only arguments that are tensors.
    written
        Positions of the positional arguments that are written.
    has_out
        There are ``out=`` arguments.
    is_plain
        Nothing is written and no result is a view: results are new tensors.
    view_of
        Position of the argument that the one result is a view of; None for all other operators.
    """

    lists: tuple[int, ...]
    keywords: tuple[str, ...]
    written: tuple[int, ...]
    has_out: bool
    is_plain: bool
    view_of: int | None


_shapes: Final[dict[ref[OpOverload], _Shape]] = {}
"""What is known of an operator, as long as it is there."""


def _shape_of(op: OpOverload) -> _Shape:
    schema = op._schema
    arguments, returns = schema.arguments, schema.returns
    alias = returns[0].alias_info if len(returns) == 1 and not schema.is_mutable else None
    if alias is not None and returns[0].real_type.schema_str == "Tensor":
        view_of = next(
            iter(
                [
                    i
                    for i, a in enumerate(arguments)
                    if a.alias_info and a.alias_info.before_set & alias.before_set
                ]
            )
        )
    else:
        view_of = None
    return _Shape(
        tuple(
            [
                i
                for i, a in enumerate(arguments)
                if a.real_type.schema_str in ("Tensor[]", "Tensor?[]")
            ]
        ),
        tuple(
            [
                a.name
                for a in arguments
                if a.kwarg_only and a.real_type.schema_str in ("Tensor", "Tensor?") and not a.is_out
            ]
        ),
        tuple([i for i, a in enumerate(arguments) if a.is_write and not a.kwarg_only]),
        any([a.is_out for a in arguments]),
        not schema.is_mutable and len(returns) > 0 and not any([r.alias_info for r in returns]),
        view_of,
    )


_looped: Final[WeakSet[Any]] = WeakSet()
"""Operators that were warned of, because they have no batching rule."""


class VmapLevel(Level):
    """One `vmap` in force.

    Parameters
    ----------
    batch_size
        The number of entries.
    randomness
        What random operators are to do. Default: ``'error'``.
    """

    variables = (STATE, LEVELS)
    maps_samples = True

    def __init__(self, batch_size: int, randomness: str = "error") -> None:
        super().__init__()
        load_batching_rules()
        self.info = VmapInfo(batch_size, randomness)

    def change(self) -> Any:
        """Become the innermost level; random operators have to ask it."""
        super().change()
        set_state(_in_vmap_mode(state()))
        return self

    def wrap(self, tensor: TensorBase, dim: int | None = 0) -> TensorBase:
        """Return `tensor`, whose dimension `dim` is the batch, as a tensor without that dimension.
        None: shared.
        """
        if dim is None:
            return wrapped(tensor, self, SharedArray(tensor, self))
        if dim:
            moved = operator("movedim", "int")(tensor, dim, 0)
            return wrapped(moved, self, MovedArray(moved, self, dim % tensor.dim()))
        return wrapped(tensor, self)

    def enclose(self, tensor: TensorBase) -> TensorBase | None:
        """Return `tensor` as one that all samples share; None if it is at this level already."""
        if tensor._signature & WRAPPED_BIT and tensor.array.level.depth >= self.depth:
            return None
        return self.wrap(tensor, None)

    def unwrap(self, tensor: TensorBase) -> tuple[TensorBase, int | None]:
        """Return the physical tensor of `tensor`, and its batch dimension: None if it has none at
        this level.
        """
        if tensor._signature & WRAPPED_BIT and tensor.array.level is self:
            return tensor.array.physical, tensor.array.dim
        return tensor, None

    def spread(self, tensor: TensorBase) -> TensorBase:
        """Return the physical tensor of `tensor` with the batch in dimension 0; expanded if all
        samples share it.
        """
        physical, dim = self.unwrap(tensor)
        if dim is not None:
            return physical
        row = self.run_outside(operator("unsqueeze", "default"), physical, 0)
        expanded: TensorBase = self.run_outside(
            operator("expand", "default"), row, (self.info.batch_size, *physical.array.shape)
        )
        return expanded

    def another(self) -> VmapLevel:
        """Return a further level for the same batch and randomness."""
        return VmapLevel(self.info.batch_size, self.info.randomness)

    def interpret(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, object]) -> Any:
        """Run the call by the operator's batching rule; else by its decomposition; else entry by
        entry.
        """
        if not self.is_alive:
            raise RuntimeError(
                f"{op.name()} was called on a tensor of a vmap that was left already. Return the "
                "tensor from the "
                "function that is mapped, instead of keeping it elsewhere."
            )
        rule = op._operator.batching_rule
        if rule is None:
            kernel = decomposition(op)
            if kernel is not None:
                return run_decomposed(self, kernel, op, args, kwargs)
        shape = _shapes.get(ref(op))
        if shape is None:
            shape = _shapes[ref(op, _shapes.pop)] = _shape_of(op)
        if shape.has_out:
            raise RuntimeError(loop_refusal(op))
        physical: list[Any] = list(args)
        in_dims: list[Any] = [None] * len(args)
        for position, value in enumerate(args):
            if (
                isinstance(value, TensorBase)
                and value._signature & WRAPPED_BIT
                and value.array.level is self
            ):
                physical[position], in_dims[position] = value.array.physical, value.array.dim
        for position in shape.lists:
            pairs = [(None, None) if each is None else self.unwrap(each) for each in args[position]]
            physical[position] = [tensor for tensor, _ in pairs]
            in_dims[position] = [dim for _, dim in pairs]
        if shape.keywords:
            in_dims += self.dims_of_keywords(shape.keywords, kwargs)
        named = kwargs
        for value in kwargs.values():
            if isinstance(value, (TensorBase, list, tuple)):
                _, named = map_tensors(lambda each: self.unwrap(each)[0], (), kwargs)
                break
        is_batched = 0 in in_dims or _any_batched(in_dims)
        if not is_batched and (rule is None or not rule.takes_unbatched):
            own = [args[at] for at in shape.written if args[at] is physical[at]]
            if own and self.has_two_graphs(args, physical):
                return self.write_in_two_graphs(own, op, args, kwargs, physical, named)
            return present(op, args, kwargs, self.batched(op(*physical, **named), None))
        for position in shape.written:
            if in_dims[position] is None and not (rule is not None and rule.takes_unbatched):
                raise unbatched_write_error(op)
        if rule is None:
            return present(op, args, kwargs, self.batched(self.loop(op, args, kwargs), 0))
        if rule.takes_all:
            outputs, out_dims = rule.function(self.info, in_dims, *physical, **named)
        else:
            outputs, out_dims = self.apply(rule, op, physical, in_dims, named)
        if shape.is_plain and isinstance(outputs, TensorBase):
            if out_dims == 0:
                return wrapped(outputs, self)
            return self.wrap(outputs, out_dims)
        if shape.view_of is not None and out_dims == 0:
            view, source = wrapped(outputs, self), args[shape.view_of]
            view._storage, view._counter = share_storage(source), share_version(source)
            note_view(op, view, source, args, kwargs)
            return view
        return present(op, args, kwargs, self.batched(outputs, out_dims))

    def has_two_graphs(self, args: Sequence[object], physical: Sequence[object]) -> bool:
        """Return whether a call is recorded both inside of this level and outside: a tensor that
        it writes, and that is not wrapped here, has room for one node.
        """
        inside = [each for each, own in zip(args, physical, strict=True) if each is not own]
        outside = [each for each in physical if isinstance(each, TensorBase)]
        is_recorded = any([isinstance(x, TensorBase) and x._signature & GRAD for x in inside])
        return is_recorded and any([is_tracked(each) for each in outside])

    def write_in_two_graphs(
        self,
        own: Sequence[TensorBase],
        op: OpOverload,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        physical: Sequence[object],
        named: dict[str, object],
    ) -> Any:
        """Run a call that is recorded outside, and wrap `own`, the tensors that it writes and that
        are not wrapped here: the write is recorded inside as well.
        """
        places = [place_in_graph(each) for each in own]
        outputs = op(*physical, **named)
        for each, place in zip(own, places, strict=True):
            write_shared(self, each, place)
        return present(op, args, kwargs, self.batched(outputs, None))

    def call_function(self, cls: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Return what a Function gives for batched arguments: by its `vmap`, or by a rule generated
        for it.
        """
        return call_batched(self, cls, args, kwargs)

    def apply(
        self,
        rule: BatchingRule,
        op: OpOverload,
        physical: Sequence[object],
        in_dims: Sequence[object],
        kwargs: dict[str, object],
    ) -> tuple[Any, Any]:
        """Return what the rule of a user returns, checked, for the arguments that are not
        defaults.
        """
        given, named = strip_defaults(op._schema, *physical, *kwargs.values())
        returned = rule.function(self.info, tuple(in_dims[: len(given)]), *given, **named)
        outputs, out_dims = check_outputs(returned, self.info.batch_size)
        KernelResults(op._operator, f"the batching rule registered at {rule.where}").by_schema(
            outputs
        )
        return outputs, out_dims

    def dims_of_keywords(self, names: Sequence[str], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the batch dimensions of the tensors that are keyword-only, in the order of the
        schema: a rule of the base library finds them behind those of the other arguments. Other
        operators have none, or no rule.
        """
        given = [kwargs.get(name) for name in names]
        return [None if each is None else self.unwrap(each)[1] for each in given]

    def batched(self, outputs: object, dims: object) -> Any:
        """Return physical outputs, with their batch dimensions, as batched and shared arrays."""
        if isinstance(outputs, TensorBase):
            if dims is None:
                return SharedArray(outputs, self)
            return BatchedArray(
                operator("movedim", "int")(outputs, dims, 0) if dims else outputs, self
            )
        if isinstance(outputs, (list, tuple)):
            each = dims if isinstance(dims, (list, tuple)) else [dims] * len(outputs)
            return [self.batched(output, dim) for output, dim in zip(outputs, each, strict=True)]
        return outputs

    def loop(self, op: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        """Return the outputs of the call for every entry, stacked along dimension 0. Raises
        RuntimeError if the operator returns views, numbers or nothing, or there is no entry to run
        it on.
        """
        refusal = loop_refusal(op, self.info.batch_size)
        if refusal is not None:
            raise RuntimeError(refusal)
        if op._operator not in _looped:
            _looped.add(op._operator)
            warn_user(
                "There is a performance drop because we have not yet implemented the batching "
                "rule for "
                f"{op.name()}. It is called once per entry. Register a rule: "
                "dovetail.library.register_vmap."
            )
        select = operator("select", "int")
        results = []
        for index in range(self.info.batch_size):

            def entry(tensor: TensorBase, index: int = index) -> TensorBase:
                physical, dim = self.unwrap(tensor)
                return physical if dim is None else select(physical, dim, index)

            entry_args, entry_kwargs = map_tensors(entry, args, kwargs)
            results.append(op(*entry_args, **entry_kwargs))
        return _stacked(results)


class GradBatchLevel(VmapLevel):
    """The vmap of one backward with a batch of gradients: no function is transformed, so its graph
    may be used.
    """

    __slots__ = ()
    transforms_function = False


_VMAP_MODE: Final = DispatchKeySet.of(DispatchKey.FuncTorchVmapMode)
_in_vmap_mode: Final = Transition(lambda s: s._replace(included=s.included | _VMAP_MODE))
outside_vmap_mode: Final = Transition(lambda s: s._replace(excluded=s.excluded | _VMAP_MODE))
"""Ask no vmap about random operators: what they call in turn has asked."""


def _any_batched(in_dims: Sequence[object]) -> bool:
    return any([dim == 0 or (isinstance(dim, list) and 0 in dim) for dim in in_dims])


def _stacked(results: Sequence[object]) -> Any:
    first = results[0]
    if isinstance(first, TensorBase):
        return operator("stack", "default")(list(results), 0)
    if isinstance(first, (list, tuple)):
        return type(first)([_stacked(column) for column in zip(*results, strict=True)])
    return first
