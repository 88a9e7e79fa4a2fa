"""TensorBase: the slots and identity attributes of a tensor. Methods that run operators belong to
the base library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..devices.backends import Backend, backend_of_signature
from ..devices.device import Device
from ..devices.known_devices import KNOWN_DEVICES, device_of
from ..keys.interception import (
    class_bits,
    disabled_torch_dispatch_impl,
    disabled_torch_function_impl,
)
from ..signature import DTYPE_MASK, GRAD, NORMAL, OVERRIDES, VIEW
from ..sockets import AUTOGRAD, OVERRIDING_CLASS
from ..types.dtype import BY_BIT, dtype
from ..types.dtype import dtype as Dtype
from .dataless import DatalessArray
from .size import KNOWN_SIZES, Size, single_size, wrap_dim
from .storage import Storage, share_storage
from .unsupported_layouts import OtherKinds
from .version import DETACHED, VersionCounter, WritableCounter


class TensorBase(OtherKinds):
    """An array with a signature, and room for a graph.

    All slots that a fast path reads are always set when a tensor is created (see `new_tensor`).
    There is no ``__init__`` with work in it and no ``__getattr__``, because every call would pay
    for it.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_counter",
        "_grad_fn",
        "_meta",
        "_signature",
        "_storage",
        "array",
        "output_nr",
    )

    array: Any
    """The backend's own array; 0-d arrays are arrays, never the scalars that NumPy makes of
    them.
    """
    _signature: int
    _grad_fn: Any
    output_nr: int
    _storage: Storage | None
    _counter: VersionCounter | None
    _meta: Any

    __torch_function__: ClassVar[Any] = disabled_torch_function_impl
    __torch_dispatch__: ClassVar[Any] = disabled_torch_dispatch_impl

    # -- identity ----------------------------------------------------------------------------------

    @property
    def _backend(self) -> Backend:
        return backend_of_signature(self._signature)

    @property
    def _device_backend(self) -> Backend:
        """The backend of the device that holds the elements: for a tensor of a transform, of what
        it wraps.
        """
        backend = backend_of_signature(self._signature)
        if backend.is_device:
            return backend
        physical: TensorBase = self.array.physical
        return physical._device_backend

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        return BY_BIT[self._signature & DTYPE_MASK]

    @property
    def device(self) -> Device:
        """The device of the elements."""
        found = KNOWN_DEVICES.get(self._signature)
        return device_of(self._signature, self.array) if found is None else found

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return KNOWN_SIZES[self.array.shape]

    def size(self, dim: int | None = None, axis: int | None = None) -> Any:
        """Return the shape, or the size of dimension `dim`, which NumPy calls `axis`."""
        shape = self.array.shape
        dim = dim if axis is None else single_size(axis, dim)
        return KNOWN_SIZES[shape] if dim is None else shape[wrap_dim(dim, len(shape))]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.array.shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self.array.shape)

    def numel(self) -> int:
        """Return the number of elements."""
        return self.array.size  # type: ignore[no-any-return]

    nelement = numel

    def stride(self, dim: int | None = None, axis: int | None = None) -> Any:
        """Return the strides in elements, or that of dimension `dim`, which NumPy calls `axis`."""
        strides = backend_of_signature(self._signature).arrays.strides(self.array)
        if axis is not None:
            dim = single_size(axis, dim)
        elif dim is None:
            return strides
        return strides[wrap_dim(dim, len(strides))]

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def element_size(self) -> int:
        """Return the number of bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel() * self.dtype.itemsize

    def is_complex(self) -> bool:
        """Return whether the dtype is complex."""
        return self.dtype.is_complex

    def is_floating_point(self) -> bool:
        """Return whether the dtype is real and floating point."""
        return self.dtype.is_floating_point

    def is_signed(self) -> bool:
        """Return whether the dtype has negative numbers."""
        return self.dtype.is_signed

    def is_inference(self) -> bool:
        """Return whether the tensor was made in inference mode."""
        return not self._signature & NORMAL

    @property
    def is_cpu(self) -> bool:
        """Whether the elements are in host memory."""
        return self._device_backend.name == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return self._device_backend.name == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has a shape and dtype but no data."""
        return self._device_backend.name == "meta"

    # -- memory ------------------------------------------------------------------------------------

    def untyped_storage(self) -> Storage:
        """Return the memory that this tensor shares with its views."""
        return share_storage(self)

    def storage_offset(self) -> int:
        """Return the distance of the first element from the start of the storage, in elements."""
        array = self.array
        if array.__class__ is DatalessArray:
            return int(array.offset)
        return (
            self._backend.arrays.data_ptr(array) - share_storage(self)._bounds()[0]
        ) // self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 without elements, and for a wrapper subclass,
        which has no data of its own.
        """
        array = self.array
        if array.__class__ is DatalessArray or 0 in array.shape:
            return 0
        return backend_of_signature(self._signature).arrays.data_ptr(array)

    @property
    def _version(self) -> int:
        """How often the data was written in place. Raises RuntimeError for an inference tensor,
        unless it was detached from another outside inference mode.
        """
        if not self._signature & NORMAL and self._counter.__class__ is not WritableCounter:
            raise RuntimeError(
                "Inference tensors do not track version counter. Clone the tensor outside "
                "inference mode."
            )
        return 0 if self._counter is None else self._counter.value % DETACHED

    # -- gradients ---------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor.

        Raises
        ------
        RuntimeError
            On setting: a dtype that has no gradients, or a non-leaf.
        """
        signature = self._signature
        if not signature & GRAD:
            return False
        return not signature & VIEW or AUTOGRAD.plug.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(
                f"requires_grad must be a bool, but got {type(value).__name__}. Give True or False."
            )
        if value and not (self.dtype.is_floating_point or self.dtype.is_complex):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients, "
                f"but this one is {self.dtype}. Convert it first: x.to(dovetail.float32)."
            )
        AUTOGRAD.plug.set_requires_grad(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> TensorBase:
        """Make this leaf require gradients, or not, and return it."""
        AUTOGRAD.plug.check_requires_grad_()
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user rather than by a recorded call."""
        return self._grad_fn is None and (not self._signature & VIEW or AUTOGRAD.plug.is_leaf(self))

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for a leaf."""
        if self._signature & VIEW:
            return AUTOGRAD.plug.grad_fn(self)
        node = self._grad_fn
        return node if node is None else node.presented()

    @property
    def grad(self) -> TensorBase | None:
        """The gradient accumulated by backward, or None."""
        meta = self._meta
        if meta is not None and meta.grad is not None:
            found: TensorBase = meta.grad
            return found
        return AUTOGRAD.plug.grad(self)

    @grad.setter
    def grad(self, value: TensorBase | None) -> None:
        if value is not None:
            AUTOGRAD.plug.set_grad(self, value)
        elif self._meta is not None:
            self._meta.grad = None

    @grad.deleter
    def grad(self) -> None:
        AUTOGRAD.plug.set_grad(self, None)

    @property
    def _grad(self) -> TensorBase | None:
        """The same; reading it of a non-leaf gives no warning."""
        meta = self._meta
        return None if meta is None else meta.grad

    @_grad.setter
    def _grad(self, value: TensorBase | None) -> None:
        AUTOGRAD.plug.set_grad(self, value)

    @_grad.deleter
    def _grad(self) -> None:
        AUTOGRAD.plug.set_grad(self, None)

    @property
    def grad_dtype(self) -> Dtype | None:
        """The dtype in which gradients of this leaf accumulate; None means the dtype of the
        gradient.

        Raises
        ------
        RuntimeError
            For a non-leaf; on setting also for a dtype other than the dtype of the existing
            gradient.
        """
        return AUTOGRAD.plug.leaf_grad_dtype(self)

    @grad_dtype.setter
    def grad_dtype(self, value: Dtype | None) -> None:
        AUTOGRAD.plug.set_grad_dtype(self, value)

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return AUTOGRAD.plug.retains_grad(self)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `grad`."""
        AUTOGRAD.plug.retain_grad(self)

    @property
    def _base(self) -> TensorBase | None:
        """The tensor that this one is a differentiable view of."""
        return AUTOGRAD.plug.base(self)

    def _is_view(self) -> bool:
        """Return whether this tensor is a differentiable view."""
        return AUTOGRAD.plug.base(self) is not None

    @property
    def _backward_hooks(self) -> Any:
        return AUTOGRAD.plug.backward_hooks(self)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: object) -> None:
        AUTOGRAD.plug.set_backward_hooks(self, hooks)

    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        return AUTOGRAD.plug.post_accumulate_grad_hooks(self)

    @property
    def name(self) -> str | None:
        """A name for graphs and messages; None unless given by a subclass."""
        return None

    def register_hook(self, hook: Callable[..., object]) -> Any:
        """Call `hook` with the gradient whenever it is computed; returns a removable handle."""
        return AUTOGRAD.plug.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., object]) -> Any:
        """Call `hook` with this leaf after a gradient came; returns a removable handle."""
        return AUTOGRAD.plug.register_post_accumulate_grad_hook(self, hook)

    def detach_(self) -> TensorBase:
        """Detach this tensor from its graph, in place, and return it."""
        return AUTOGRAD.plug.detach_(self)

    def backward(
        self,
        gradient: TensorBase | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: TensorBase | Sequence[TensorBase] | None = None,
    ) -> None:
        """Compute the gradient of this tensor with respect to the leaves of its graph.

        Parameters
        ----------
        gradient
            The initial gradient, of this tensor's shape; optional for a scalar.
        retain_graph
            Keep what the graph saved for another backward; default: the value of `create_graph`.
        create_graph
            Record the backward itself, for higher derivatives.
        inputs
            Tensors to accumulate into; default: every leaf of the graph.
        """
        AUTOGRAD.plug.backward(self, gradient, retain_graph, create_graph, inputs)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of shape {tuple(self.shape)}, {self.dtype} on {self.device}>"
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._class_bits = 0 if cls.__dict__.get("_is_plain", False) else class_bits(cls)
        if cls._class_bits & OVERRIDES and not any(
            [base._class_bits & OVERRIDES for base in _tensor_bases(cls)]
        ):
            for observer in OVERRIDING_CLASS.plugs:
                observer(cls)

    _class_bits: ClassVar[int] = 0
    """The signature bits of a class whose instances take the long way, else 0."""


def _tensor_bases(cls: type) -> list[type[TensorBase]]:
    return [base for base in cls.__mro__[1:] if issubclass(base, TensorBase)]
