"""The node of a Function call, which is also the context that `forward` and `backward` are
given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from dovetail_kernel import DTYPES, TensorBase, backend_of_signature, share_version, warn_user
from dovetail_kernel.signature import GRAD, NORMAL

from . import engine_ops
from .hooks import Hooks, RemovableHandle, TensorHooks, add_hook
from .node import EdgeTuple, Node
from .saved_extras import Pack, Unpack, needs_extras, recorded, recording_extras
from .saved_slots import SECOND_TIME, Packed, current_version, modified, placed, save_input
from .saved_tensor import pack_tensor

_CLEARED: Final = [None]
"""Stands for the saved values of a node whose Function clears them when they are read."""

_READ_TWICE: Final = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)

DIFFERENTIABLE = sum(each.bit for each in DTYPES if each.is_floating_point or each.is_complex)
"""The signature bits of the dtypes that gradients can have."""


def no_backward(ctx: object, *grad_outputs: Any) -> Any:
    """Return one gradient, or None, per argument of `apply`, for the gradients of the outputs."""
    raise NotImplementedError(
        "You must implement either the backward or vjp method for your custom autograd.Function "
        "to use it with "
        "backward mode AD."
    )


class _HookMixin:
    """Adds hooks to a dict that may not be there yet."""

    __slots__ = ()

    @staticmethod
    def _register_hook(
        backward_hooks: TensorHooks | None, hook: Callable[..., object]
    ) -> tuple[TensorHooks, RemovableHandle]:
        """Return the hooks with `hook` among them, and the handle that removes it.

        Parameters
        ----------
        backward_hooks
            The hooks so far; None makes a new dict.
        """
        hooks = Hooks() if backward_hooks is None else backward_hooks
        return hooks, add_hook(hooks, hook)


class FunctionCtx:
    """The context of a Function's methods, as far as `forward` and `setup_context` write to it.
    Attributes may be set freely: ``ctx.scale = 2``.

    A program may make one and call `forward` with it: it keeps what it is given.
    """

    # Most calls never change the defaults.
    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    dirty_tensors: tuple[TensorBase, ...] | None = None
    non_differentiable: tuple[TensorBase, ...] | None = None
    materialize_grads = True
    _materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: TensorBase | None) -> None:
        """Save `tensors` for backward; only the last call has an effect. None is allowed.

        Raises
        ------
        TypeError
            When the call returns, if one is neither a tensor nor None.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: TensorBase | None) -> None:
        """Save `tensors` for `jvp`.

        Raises
        ------
        AssertionError
            If one is neither a tensor nor None.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors, but one is of type "
                    f"{type(tensor).__name__}. Set it as an attribute of ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: TensorBase) -> None:
        """Declare that `forward` wrote to these arguments, which it must return."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: TensorBase) -> None:
        """Declare that these outputs have no gradient; backward gets zeros for them."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros (default) or None for outputs without a gradient."""
        self.materialize_grads = value

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing but warn: tensors with one storage are found without it."""
        warn_user(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
        )


class _FunctionBase:
    """Attributes of a Function's nodes that describe the call; `Function` itself derives from it,
    as in PyTorch.
    """

    __slots__ = ()

    _clears_saved: ClassVar[bool]
    _entries: Any
    _no_tensors: Sequence[int]
    next_edges: tuple[EdgeTuple | None, ...]

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """Per argument of the call whether it requires grad."""
        needs = [edge is not None for edge in self.next_edges]
        for position in self._no_tensors:
            needs.insert(position, False)
        return tuple(needs)

    @property
    def saved_tensors(self) -> tuple[TensorBase | None, ...]:
        """The tensors that were saved; empty during forward.

        Raises
        ------
        RuntimeError
            After the values were freed, or if one was written in place since.
        """
        saved = self._entries
        if saved is None:
            raise RuntimeError(SECOND_TIME)
        if saved is _CLEARED:
            raise RuntimeError(_READ_TWICE)
        opened = tuple([self._open(entry) for entry in saved])
        if saved and self._clears_saved:
            self._entries = _CLEARED
        return opened

    saved_variables = saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self._entries is None:
            raise RuntimeError(SECOND_TIME)
        return tuple(self._entries)

    def _open(self, entry: object) -> TensorBase | None:
        """Return what an entry of `_entries` saved."""
        raise NotImplementedError


class BackwardCFunction(_FunctionBase, FunctionCtx, _HookMixin, Node):
    """One call of a Function: its node in the graph and its context.

    Attributes
    ----------
    _forward_cls
        The Function.
    _made
        Signatures of the outputs; 0 for one that is not a tensor.
    _no_tensors
        Positions of the arguments of the call that are not tensors, in order: no edge is for them.
    """

    __slots__ = ("_made", "_no_tensors")

    _is_flat = True
    _clears_saved = False
    _forward_cls: ClassVar[Any]
    _made: Sequence[int]
    _no_tensors: Sequence[int]
    _entries: Any = ()

    __repr__ = object.__repr__  # with the module, as classes made by a program have it

    def _open(self, entry: Any) -> TensorBase | None:
        if entry is None:
            return None
        value, version, output_nr = entry
        if type(value) is Packed:
            opened = value.open()
            return opened if output_nr is None else placed(opened, (self, output_nr))
        if output_nr is None:
            if current_version(value) != version:
                raise modified(
                    value, current_version(value), version, value._grad_fn, value.output_nr
                )
            tensor: TensorBase = value
            return tensor
        if current_version(value) != version:
            raise modified(value, current_version(value), version, self, output_nr)
        tensor = engine_ops.twin(value, type(value))
        tensor._counter = value._counter
        if tensor._signature & DIFFERENTIABLE:
            tensor._grad_fn = self
            tensor.output_nr = output_nr
            tensor._signature |= GRAD
        return tensor

    # -- recording ---------------------------------------------------------------------------------

    def _keep_saved(self, *outputs: TensorBase) -> None:
        """Save `to_save` for good: an output of the call outside its graph, since it holds this
        node.
        """
        if self.to_save:
            self._entries = [
                self._entry(index, value, outputs) for index, value in enumerate(self.to_save)
            ]
            self.to_save = ()
        extras = recording_extras() if needs_extras() else None
        if extras is not None:
            recorded(self, extras)
            if extras.hooks:
                self._entries = [
                    entry and (self._packed(entry, *extras.hooks[-1]), *entry[1:])
                    for entry in self._entries
                ]

    def _packed(self, entry: Any, pack: Pack, unpack: Unpack) -> Packed:
        tensor, _, output_nr = entry
        is_output = output_nr is not None and tensor._signature & DIFFERENTIABLE
        return pack_tensor(tensor, pack, unpack, (self, output_nr) if is_output else None)

    def _entry(self, index: int, value: object, outputs: Sequence[TensorBase]) -> Any:
        """Return what to keep of `value`: None, or the tensor, its version, and its number if it is
        an output.
        """
        if value is None:
            return None
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {index} is of type "
                f"{type(value).__name__}. "
                "Set it as an attribute of ctx."
            )
        for output in outputs:
            if value is output:
                twin = engine_ops.twin(value, type(value))
                twin._counter = share_version(value)
                is_constant = any([value is each for each in self.non_differentiable or ()])
                output_nr = None if is_constant else value.output_nr
                return twin, current_version(value), output_nr
        counter = value._counter
        if counter is None and value._signature & NORMAL:
            return value, 0, None
        return value, save_input(value), None

    def _describe_outputs(self, outputs: Sequence[object]) -> None:
        """Note where zeros for the outputs would be, for calls with several."""
        all_have_zeros = self._materialize_non_diff_grads
        self._made = [
            output._signature
            if isinstance(output, TensorBase) and (all_have_zeros or output._signature & GRAD)
            else 0
            for output in outputs
        ]

    # -- backward ----------------------------------------------------------------------------------

    def apply(self, *grads: Any) -> Any:
        """Return what the user's `backward`, or `vjp`, returns for gradients of the outputs."""
        function = self._forward_cls
        backward = self._user_backward() if function._is_special else function.backward
        return backward(self, *grads)

    def _user_backward(self) -> Any:
        """Return `backward` of a Function that has `vjp` instead, or takes its gradients in one
        list.
        """
        function = self._forward_cls
        chosen = self._vjp() if function._has_vjp else function.backward
        if not function.boxed_grads_call:
            return chosen
        return lambda ctx, *grads: chosen(ctx, list(grads))

    def _vjp(self) -> Any:
        if self._forward_cls.backward is not no_backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                "You should only "
                "implement one of them."
            )
        return self._forward_cls.vjp

    def apply_tensors(self, *grads: TensorBase | None) -> Sequence[TensorBase | None]:
        """Call the user's backward, and check what it returns."""
        function = self._forward_cls
        backward = self._user_backward() if function._is_special else function.backward
        result: Any
        if len(grads) == 1 and grads[0] is not None:
            result = backward(self, grads[0])
        else:
            if self.materialize_grads:
                grads = tuple(
                    [
                        self._zeros(index) if each is None else each
                        for index, each in enumerate(grads)
                    ]
                )
            result = backward(self, *grads)
        returned: tuple[Any, ...] = result if type(result) is tuple else (result,)
        if self._no_tensors or len(returned) != len(self.next_edges):
            returned = self._of_tensors(returned)
        for grad in returned:
            if grad is not None and not isinstance(grad, TensorBase):
                raise RuntimeError(
                    f"expected Variable or None (got {type(grad).__name__}). Return a tensor or "
                    f"None from {function.__name__}.backward."
                )
        return returned

    def _zeros(self, index: int) -> TensorBase | None:
        if index >= len(self._made) or not self._made[index]:
            return None
        metadata = self.input_metadata
        shape, native = metadata[index] if isinstance(metadata, list) else metadata
        return engine_ops.filled(shape, native, backend_of_signature(self._made[index]), 0)

    def _of_tensors(self, grads: tuple[object, ...]) -> tuple[Any, ...]:
        """Return those of the gradients that edges are for: of arguments that are tensors."""
        expected = len(self.next_edges) + len(self._no_tensors)
        if len(grads) > expected and all([grad is None for grad in grads[expected:]]):
            grads = grads[:expected]
        if len(grads) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got "
                f"{len(grads)}). Return one per argument of apply(), None where there is none."
            )
        kept = list(grads)
        for index in reversed(self._no_tensors):
            if kept.pop(index) is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{index + 1}, but the "
                    "corresponding forward input was not a Variable. Return None there."
                )
        return tuple(kept)

    def _release_saved(self) -> None:
        if self._entries:
            self._entries = None


def new_node(node_class: type[BackwardCFunction]) -> BackwardCFunction:
    """Return a new node; `Function.apply` writes this out, since a frame would cost as much as all
    in it.
    """
    node = node_class()
    node._array_backend = node._node_hooks = None
    node._made = node._no_tensors = ()
    return node


FunctionNode = BackwardCFunction
"""The name in pickles of earlier versions."""
