"""`Function` inside of a `vmap`: its `vmap` staticmethod, or a rule generated from `forward` and
`backward`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from dovetail_kernel import TensorBase

from ...graph.engine_ops import operator
from ...recording.function import Function
from ..pytree import Structure, flatten, flatten_prefix, map_leaves, unflatten
from ..wrapped.levels import leaves_levels
from ..wrapped.wrapped_functions import MissingRule
from .batching_errors import check_outputs

if TYPE_CHECKING:
    from .batch_interpreter import VmapLevel


def call_batched(
    level: VmapLevel, cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the outputs of a Function for batched arguments, by its own rule or a generated one.

    The dispatch state is that of the physical calls. Raises RuntimeError if the Function has no
    `setup_context`, or not exactly one of a `vmap` staticmethod and `generate_vmap_rule`.
    """
    if not cls._has_setup_context:
        raise MissingRule(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must "
            f"override the setup_context staticmethod: split {cls.__name__}.forward(ctx, ...) "
            "into forward(...) and "
            "setup_context(ctx, inputs, output)."
        )
    has_rule = cls.vmap is not Function.vmap
    if has_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap "
            "staticmethod to avoid "
            "ambiguity."
        )
    if not has_rule and not cls.generate_vmap_rule:
        raise MissingRule(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement "
            "the vmap staticmethod or set generate_vmap_rule=True."
        )

    def unwrapped(value: Any) -> Any:
        return level.unwrap(value)[0] if isinstance(value, TensorBase) else value

    def dim_of(value: Any) -> int | None:
        return level.unwrap(value)[1] if isinstance(value, TensorBase) else None

    physical, named = map_leaves(unwrapped, args), map_leaves(unwrapped, kwargs)
    in_dims = map_leaves(dim_of, (*args, *kwargs.values()))
    if not has_rule:
        rule = _Generated(cls, level, in_dims, tuple(kwargs))
        outputs, out_dims = Vmapped.apply(rule, *physical, *named.values()), rule.out_dims
    elif _any_batched(in_dims):
        outputs, out_dims = check_outputs(
            cls.vmap(level.info, in_dims[: len(args)], *physical, **named), level.info.batch_size
        )
    else:
        outputs, out_dims = cls.apply(*physical, **named), None
    return _wrapped(level, outputs, out_dims)


def _wrapped(level: VmapLevel, outputs: Any, out_dims: Any) -> Any:
    leaves, structure = flatten(outputs)
    dims = flatten_prefix(out_dims, structure)
    assert dims is not None
    return unflatten(
        structure,
        [
            level.wrap(leaf, dim) if isinstance(leaf, TensorBase) else leaf
            for leaf, dim in zip(leaves, dims, strict=True)
        ],
    )


class Vmapped(Function):
    """The Function on a batch that does what another does on samples; its first argument is the
    generated rule.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(rule: _Generated, *physical: Any) -> Any:
        """Run the other's forward for all samples."""
        return rule.forward(physical)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Run the other's `setup_context`."""
        ctx.rule = inputs[0]
        ctx.rule.setup_context(ctx, inputs[1:], output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the other's backward for all samples."""
        return None, *ctx.rule.backward(ctx, grads)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        """Run the other's jvp for all samples."""
        return ctx.rule.jvp(ctx, tangents)


class _Generated:
    """One call of a Function on a batch: forward, `setup_context` and backward run under a vmap of
    their own each.

    So the graph outside of the vmap has one node for the batch. The gradient of an output that all
    samples share is the sum over the samples: such outputs are of a call that all samples share.
    Where anything is batched, each output is.
    """

    def __init__(
        self, cls: type[Function], level: VmapLevel, in_dims: Sequence[Any], names: Sequence[str]
    ) -> None:
        self.cls = cls
        self.level = level.another
        self.in_dims = in_dims
        self.names = names
        self.out_dims: Any = None

    @leaves_levels
    def forward(self, physical: tuple[Any, ...]) -> Any:
        with self.level() as level:
            values = _batched(level, physical, self.in_dims)
            count = len(values) - len(self.names)
            named = dict(zip(self.names, values[count:], strict=True))
            output = self.cls.forward(*values[:count], **named)
            leaves, structure = flatten(output)
            pairs = [_unwrapped(level, leaf) for leaf in leaves]
            if _any_batched((self.in_dims, [dim for _, dim in pairs])):
                pairs = [
                    (_repeated(level, value), 0)
                    if dim is None and isinstance(value, TensorBase)
                    else (value, dim)
                    for value, dim in pairs
                ]
        self.out_dims = unflatten(structure, [dim for _, dim in pairs])
        return unflatten(structure, [value for value, _ in pairs])

    @leaves_levels
    def setup_context(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        with self.level() as level:
            wrapped_inputs = _batched(level, inputs, self.in_dims)
            ctx.sample = _SampleContext()
            with ctx.sample.of(ctx, level) as sample:
                self.cls.setup_context(
                    sample, wrapped_inputs, _wrapped(level, output, self.out_dims)
                )
                sample.hand_over(level)

    @leaves_levels
    def backward(self, ctx: Any, grads: tuple[Any, ...]) -> Any:
        dims, _ = flatten(self.out_dims)
        with self.level() as level, ctx.sample.of(ctx, level) as sample:
            sample.take_saved(level, sample.backward_dims)
            wrapped = [
                grad if grad is None or dim is None else level.wrap(grad, dim)
                for grad, dim in zip(grads, dims, strict=True)
            ]
            returned = self.cls.backward(sample, *wrapped)
            given = list(returned) if isinstance(returned, (tuple, list)) else [returned]
            in_dims = [*self.in_dims, *[None] * len(given)]
            is_shared = not _any_batched((self.in_dims, dims))
            return [
                _gradient(level, grad, dim, is_shared)
                for grad, dim in zip(given, in_dims, strict=False)
            ]

    @leaves_levels
    def jvp(self, ctx: Any, tangents: tuple[Any, ...]) -> Any:
        dims, structure = flatten(self.out_dims)
        with self.level() as level, ctx.sample.of(ctx, level) as sample:
            sample.take_saved(level, sample.forward_dims or sample.backward_dims)
            given = [
                level.wrap(tangent, dim)
                if isinstance(tangent, TensorBase) and dim is not None
                else tangent
                for tangent, dim in zip(tangents, self.in_dims, strict=False)
            ]
            returned, _ = flatten(self.cls.jvp(sample, *given))
            found = [
                tangent
                if not isinstance(tangent, TensorBase)
                else _shared(level, tangent)
                if dim is None
                else level.spread(tangent)
                for tangent, dim in zip(returned, dims, strict=True)
            ]
        return unflatten(structure, found)


class _SampleContext:
    """The context that a Function sees for one sample. Between calls the context of the batch keeps
    its attributes, with the tensors of the batch among them, and what it saved.
    """

    __slots__ = (
        "__dict__", "_ctx", "_dims", "_non_differentiable", "_saved", "_saved_for_forward",
        "_structure", "backward_dims", "forward_dims",
    )  # fmt: skip

    def __init__(self) -> None:
        self._ctx: Any = None
        self._saved: tuple[Any, ...] = ()
        self._saved_for_forward: tuple[Any, ...] = ()
        self._dims: list[int | None] = []
        self._structure: Structure | None = None
        self.backward_dims: list[int | None] = []
        self.forward_dims: list[int | None] = []
        self._non_differentiable: tuple[Any, ...] = ()

    @contextmanager
    def of(self, ctx: Any, level: VmapLevel) -> Iterator[_SampleContext]:
        """Stand for the context `ctx` of the batch, which holds this object and must not be held by
        it; for samples at `level`.
        """
        self._ctx = ctx
        attributes = self.__dict__
        if self._structure is not None:
            pairs = zip(ctx.kept, self._dims, strict=True)
            kept = [value if dim is None else level.wrap(value, dim) for value, dim in pairs]
            attributes.update(unflatten(self._structure, kept))
        try:
            yield self
        finally:
            leaves, self._structure = flatten(attributes)
            given = [_unwrapped(level, leaf) for leaf in leaves]
            ctx.kept, self._dims = [value for value, _ in given], [dim for _, dim in given]
            attributes.clear()
            self._ctx = None
            self._saved = self._saved_for_forward = self._non_differentiable = ()

    @property
    def needs_input_grad(self) -> Any:
        """Per argument whether it requires grad."""
        return self._ctx.needs_input_grad[1:]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that were saved."""
        return self._saved

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep `tensors` for backward."""
        self._saved = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep `tensors` for jvp."""
        self._saved_for_forward = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether backward is given zeros or None for outputs without gradient."""
        self._ctx.set_materialize_grads(value)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs have no gradient."""
        self._non_differentiable = tensors

    def mark_dirty(self, *tensors: Any) -> NoReturn:
        """Refuse: the arguments of the batch are others. Always raises RuntimeError."""
        raise RuntimeError(
            "mark_dirty is not supported with generate_vmap_rule=True. Write a vmap staticmethod, "
            "or work out of place."
        )

    def hand_over(self, level: VmapLevel) -> None:
        """Save in the context of the batch what was saved for a sample."""
        pairs = [_unwrapped(level, tensor) for tensor in self._saved]
        self.backward_dims = [dim for _, dim in pairs]
        self._ctx.save_for_backward(*[tensor for tensor, _ in pairs])
        pairs = [_unwrapped(level, tensor) for tensor in self._saved_for_forward]
        self.forward_dims = [dim for _, dim in pairs]
        self._ctx.save_for_forward(*[tensor for tensor, _ in pairs])
        if self._non_differentiable:
            self._ctx.mark_non_differentiable(
                *[_unwrapped(level, tensor)[0] for tensor in self._non_differentiable]
            )

    def take_saved(self, level: VmapLevel, dims: Sequence[int | None]) -> None:
        """Take what was saved from the context of the batch, for samples at `level`.

        Parameters
        ----------
        dims
            The batch dimensions, None for what all samples share.
        """
        self._saved = tuple(
            [
                tensor if tensor is None or dim is None else level.wrap(tensor, dim)
                for tensor, dim in zip(self._ctx.saved_tensors, dims, strict=True)
            ]
        )


def _batched(level: VmapLevel, values: Sequence[Any], dims: Sequence[Any]) -> Any:
    leaves, structure = flatten(tuple(values))
    flat = flatten_prefix(tuple(dims), structure)
    assert flat is not None
    return unflatten(
        structure,
        [
            level.wrap(leaf, dim) if isinstance(leaf, TensorBase) and dim is not None else leaf
            for leaf, dim in zip(leaves, flat, strict=True)
        ],
    )


def _unwrapped(level: VmapLevel, value: Any) -> tuple[Any, int | None]:
    return level.unwrap(value) if isinstance(value, TensorBase) else (value, None)


def _any_batched(dims: Any) -> bool:
    """Return whether there is a batch dimension among `dims`."""
    return any([dim is not None for dim in flatten(dims)[0]])


def _repeated(level: VmapLevel, output: TensorBase) -> TensorBase:
    """Return an output that all samples share as a batch that may be written in place."""
    copied: TensorBase = level.run_outside(operator("clone", "default"), level.spread(output))
    return copied


def _shared(level: VmapLevel, derivative: TensorBase) -> TensorBase:
    """Return the derivative of a call that all samples share. Raises RuntimeError if they have
    different ones.
    """
    physical, dim = level.unwrap(derivative)
    if dim is not None:
        raise RuntimeError(
            "backward or jvp of an autograd.Function gave samples of a vmap different derivatives, "
            "but forward gave them the same output. Draw random numbers in forward, and save them."
        )
    return physical


def _gradient(level: VmapLevel, grad: Any, in_dim: Any, is_shared: bool) -> Any:
    """Return the gradient of a physical input: summed over the samples if they share it.

    Parameters
    ----------
    is_shared
        Whether all samples share the call, so that the gradient is that sum already.
    """
    if not isinstance(grad, TensorBase):
        return grad
    if in_dim is not None:
        return level.spread(grad)
    if is_shared:
        return _shared(level, grad)
    physical, dim = level.unwrap(grad)
    if dim is not None:
        return level.run_outside(operator("sum", "dim_IntList"), physical, [0])
    return level.run_outside(operator("mul", "Tensor"), physical, level.info.batch_size)
