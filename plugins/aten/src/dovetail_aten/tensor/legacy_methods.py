"""Methods of `Tensor` that old programs call, and names that PyTorch's own code calls."""

from __future__ import annotations

from typing import Any, NoReturn

from dovetail_kernel import Device, TensorBase, warn_user
from dovetail_kernel import bool as bool_
from dovetail_kernel import float32 as float32_

from .._generated.tensor_methods import TensorMethods
from ..typing import Array


class LegacyMethods(TensorMethods):
    """The part of Tensor that was there once, or is rarely called."""

    __slots__ = ()

    _has_symbolic_sizes_strides = False
    """Whether a size is a symbol: every size is a number."""

    def __delitem__(self, index: Array) -> NoReturn:
        """Refuse. Raises TypeError."""
        raise TypeError("Tensor does not support deleting items. Select those that stay.")

    def __setstate__(self, state: Any) -> None:
        """Take over what an old pickle says of a tensor.

        Parameters
        ----------
        state
            Attributes by name. Or storage, offset, sizes and strides; or whether the tensor
            requires grad, something that has no meaning any more, and its hooks.

        Raises
        ------
        RuntimeError
            If the tensor has a graph, or what stands for `requires_grad` is not a bool.
        ValueError
            If there are more or fewer items.
        """
        if isinstance(state, dict):  # the attributes of a tensor, as pickles of ours have them
            vars(self).update(state)
            return
        if len(state) == 2 and isinstance(state[1], dict):  # and the slots of its class
            vars(self).update(state[0])
            for slot, value in state[1].items():
                setattr(self, slot, value)
            return
        tensor: Any = self
        if not tensor.is_leaf:
            raise RuntimeError(
                "__setstate__ can be only called on leaf Tensors. Detach the tensor first."
            )
        if len(state) == 4:
            storage, *rest = state
            tensor.set_(getattr(storage, "_untyped_storage", storage), *rest)
            return
        requires_grad, _, hooks = state
        if not isinstance(requires_grad, bool):
            raise RuntimeError(
                f"requires_grad must be a bool, not {type(requires_grad).__name__}. Give the state "
                "of a pickle."
            )
        tensor.requires_grad = requires_grad
        tensor._backward_hooks = hooks

    def const_data_ptr(self) -> int:
        """Return the address of the first element, which is not to be written to."""
        address: int = self.data_ptr()
        return address

    def dequantize(self) -> Any:
        """Return the tensor in float32: its numbers are not quantized."""
        tensor: Any = self
        return tensor.to(float32_)

    def is_distributed(self) -> bool:
        """Return whether the tensor lies on several processes: none does."""
        return False

    def record_stream(self, stream: object) -> NoReturn:
        """Refuse: memory that a tensor has left may be used anew at once. Always raises
        NotImplementedError.
        """
        raise NotImplementedError(
            f"record_stream is not available on {self.device}. Keep the tensor until "
            "stream.synchronize() has returned, or let its own stream wait for the other."
        )

    def reinforce(self, reward: object) -> NoReturn:
        """Refuse. Raises RuntimeError."""
        raise RuntimeError(
            "reinforce() was removed. Use dovetail.distributions: sample an action, and "
            "differentiate -log_prob(action) * reward."
        )

    def resize(self, *sizes: Any) -> Any:
        """Return the tensor with other sizes of as many elements, with a warning: `reshape` does
        so. Raises RuntimeError if the number of elements differs.
        """
        warn_user("non-inplace resize is deprecated. Use reshape().")
        tensor: Any = self
        wanted = tensor.new_empty(*sizes, device=Device("meta"))
        if wanted.numel() != tensor.numel():
            raise RuntimeError(
                f"requested resize to {tuple(wanted.shape)} ({wanted.numel()} elements in total), "
                f"but the given tensor has a size of {tuple(tensor.shape)} ({tensor.numel()} "
                "elements). resize can only change the shape. Use resize_() for another number."
            )
        return tensor.contiguous().view(wanted.shape)

    def resize_as(self, tensor: TensorBase) -> Any:
        """Return the tensor with the sizes of another; as `resize`."""
        return self.resize(tensor.shape)

    def storage_type(self) -> Any:
        """Return the storage class of the dtype: `FloatStorage`."""
        tensor: Any = self
        return tensor.storage()._get_legacy_storage_class()

    def _is_all_true(self) -> Any:
        """Return whether all elements are true, as a tensor. Raises RuntimeError for another dtype
        than bool.
        """
        return self._of_bools().all()

    def _is_any_true(self) -> Any:
        """Return whether an element is true, as a tensor. Raises RuntimeError for another dtype
        than bool.
        """
        return self._of_bools().any()

    def _of_bools(self) -> Any:
        if self.dtype is not bool_:
            raise RuntimeError(
                f"expected a tensor of bool, but got one of {self.dtype}. Compare it: (x != 0)."
            )
        return self

    def _is_zerotensor(self) -> bool:
        """Return whether the tensor stands for zeros without memory: none does."""
        return False

    def _fix_weakref(self) -> None:
        """Do nothing: weak references hold."""
