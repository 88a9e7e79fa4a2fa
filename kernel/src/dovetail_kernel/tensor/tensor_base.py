"""TensorBase: the slots and identity attributes of a tensor. Methods that run operators belong to
the base library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from ..devices.backends import Backend, backend_of_signature
from ..devices.device import Device
from ..keys.interception import (
    class_bits,
    disabled_torch_dispatch_impl,
    disabled_torch_function_impl,
    on_overriding_class,
)
from ..keys.state import dispatch_state
from ..types.dtype import dtype, dtype_of_signature
from ..types.layout import Layout, strided
from ..types.signature import DTYPE_MASK, GRAD, INFERENCE, NORMAL, OVERRIDES, VIEW, ZERO_DIM
from . import autograd_interface
from .dataless import DatalessArray
from .size import Size
from .storage import Storage, share_storage
from .version import DETACHED, WritableCounter

if TYPE_CHECKING:
    from ..types.dtype import dtype as Dtype
    from .version import VersionCounter


class TensorBase:
    """An array with a signature, and room for a graph.

    A field that a hot path reads is always set: whoever makes a tensor stores all slots (see
    `wrap`). There is no ``__init__`` with work in it and no ``__getattr__``, because either would
    be paid by every call.
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
    """The backend's own array; 0-d arrays are arrays, never the scalars that NumPy makes of them.
    """
    _signature: int
    _grad_fn: Any
    output_nr: int
    _storage: Storage | None
    _counter: VersionCounter | None
    _meta: Any

    __torch_function__: ClassVar[Any] = disabled_torch_function_impl
    __torch_dispatch__: ClassVar[Any] = disabled_torch_dispatch_impl

    layout: ClassVar[Layout] = strided
    is_sparse: ClassVar[bool] = False
    is_sparse_csr: ClassVar[bool] = False
    is_quantized: ClassVar[bool] = False
    is_nested: ClassVar[bool] = False
    is_mkldnn: ClassVar[bool] = False
    is_vulkan: ClassVar[bool] = False
    is_xpu: ClassVar[bool] = False
    is_mps: ClassVar[bool] = False
    is_xla: ClassVar[bool] = False
    volatile: ClassVar[bool] = False

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
        return dtype_of_signature(self._signature)

    @property
    def device(self) -> Device:
        """Where the elements are."""
        backend = self._backend
        if not backend.is_device:
            wrapped: Device = self.array.physical.device
            return wrapped
        return Device(backend.name, backend.arrays.device_index(self.array))

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(self.array.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of dimension `dim`."""
        if dim is None:
            return Size(self.array.shape)
        return self.array.shape[self._wrap_dim(dim)]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.array.shape)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return len(self.array.shape)

    def numel(self) -> int:
        """Return the number of elements."""
        return self.shape.numel()

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or that of dimension `dim`."""
        strides = self._backend.arrays.strides(self.array)
        return strides if dim is None else strides[self._wrap_dim(dim)]

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def element_size(self) -> int:
        """Return the bytes per element."""
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

    def _wrap_dim(self, dim: int) -> int:
        ndim = len(self.array.shape)
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, "
                f"{max(ndim, 1) - 1}], "
                f"but got {dim})"
            )
        return dim % ndim

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
            self._backend.arrays.data_ptr(array) - share_storage(self).data_ptr()
        ) // self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 for a wrapper subclass, which has no data of
        its own.
        """
        array = self.array
        return 0 if array.__class__ is DatalessArray else self._backend.arrays.data_ptr(array)

    @property
    def _version(self) -> int:
        """How often the data was written in place.

        Raises
        ------
        RuntimeError
            For an inference tensor, unless it was detached from another outside inference mode.
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
        return not signature & VIEW or autograd_interface.interface.requires_grad(self)

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
        autograd_interface.interface.set_requires_grad(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> TensorBase:
        """Make this leaf require gradients, or not, and return it."""
        autograd_interface.interface.check_requires_grad_()
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was made by the user rather than by a recorded call."""
        return self._grad_fn is None and (
            not self._signature & VIEW or autograd_interface.interface.is_leaf(self)
        )

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for a leaf."""
        if self._signature & VIEW:
            return autograd_interface.interface.grad_fn(self)
        node = self._grad_fn
        return node if node is None else node.presented()

    @property
    def grad(self) -> TensorBase | None:
        """The gradient that backward accumulated; None before."""
        meta = self._meta
        if meta is not None and meta.grad is not None:
            found: TensorBase = meta.grad
            return found
        return autograd_interface.interface.grad(self)

    @grad.setter
    def grad(self, value: TensorBase | None) -> None:
        if value is not None:
            autograd_interface.interface.set_grad(self, value)
        elif self._meta is not None:
            self._meta.grad = None

    @grad.deleter
    def grad(self) -> None:
        autograd_interface.interface.set_grad(self, None)

    @property
    def grad_dtype(self) -> Dtype | None:
        """The dtype in which gradients of this leaf accumulate; None for whichever comes.

        Raises
        ------
        RuntimeError
            For a non-leaf; on setting also for a dtype other than that of the gradient that is
            there.
        """
        return autograd_interface.interface.leaf_grad_dtype(self)

    @grad_dtype.setter
    def grad_dtype(self, value: Dtype | None) -> None:
        autograd_interface.interface.set_grad_dtype(self, value)

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return autograd_interface.interface.retains_grad(self)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `grad`."""
        autograd_interface.interface.retain_grad(self)

    @property
    def _base(self) -> TensorBase | None:
        """The tensor that this one is a differentiable view of."""
        return autograd_interface.interface.base(self)

    def _is_view(self) -> bool:
        """Return whether this tensor is a differentiable view."""
        return autograd_interface.interface.base(self) is not None

    @property
    def _backward_hooks(self) -> Any:
        return autograd_interface.interface.backward_hooks(self)

    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        return autograd_interface.interface.post_accumulate_grad_hooks(self)

    @property
    def name(self) -> str | None:
        """A name for graphs and messages; None unless given by a subclass."""
        return None

    def register_hook(self, hook: Any) -> Any:
        """Call `hook` with the gradient of this tensor whenever it is computed; returns a removable
        handle.
        """
        return autograd_interface.interface.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call `hook` with this leaf after a gradient was accumulated into it; returns a removable
        handle.
        """
        return autograd_interface.interface.register_post_accumulate_grad_hook(self, hook)

    def detach_(self) -> TensorBase:
        """Detach this tensor from its graph, in place, and return it."""
        return autograd_interface.interface.detach_(self)

    def backward(
        self,
        gradient: TensorBase | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Compute the gradient of this tensor with respect to the leaves of its graph.

        Parameters
        ----------
        gradient
            The gradient to begin with, of this tensor's shape; a scalar needs none.
        retain_graph
            Keep what the graph saved for another backward; default: the value of `create_graph`.
        create_graph
            Record the backward itself, for higher derivatives.
        inputs
            Tensors to accumulate into; default: every leaf of the graph.
        """
        autograd_interface.interface.backward(self, gradient, retain_graph, create_graph, inputs)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of shape {tuple(self.shape)}, {self.dtype} on {self.device}>"
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._class_bits = 0 if cls.__dict__.get("_is_plain", False) else class_bits(cls)
        if cls._class_bits & OVERRIDES and not any(
            base._class_bits & OVERRIDES for base in _tensor_bases(cls)
        ):
            for observer in on_overriding_class:
                observer(cls)

    _class_bits: ClassVar[int] = 0
    """The signature bits of a class whose instances take the long way, else 0."""


def _tensor_bases(cls: type) -> list[type[TensorBase]]:
    return [base for base in cls.__mro__[1:] if issubclass(base, TensorBase)]


_tensor_class: type[TensorBase] | None = None
_frozen = False


def tensor_class() -> type[TensorBase]:
    """Return the class of new tensors: the base library's Tensor, or TensorBase without it."""
    global _frozen
    _frozen = True
    return _tensor_class or TensorBase


def set_tensor_class(cls: type[TensorBase]) -> None:
    """Set the class of new tensors, once, before the first tensor exists.

    Raises
    ------
    RuntimeError
        If tensors of another class exist already.
    """
    global _tensor_class
    if _tensor_class is cls:
        return
    if _tensor_class is not None or _frozen:
        raise RuntimeError(
            f"the class of new tensors is {(_tensor_class or TensorBase).__qualname__} already "
            "and tensors of it "
            f"exist, so it cannot become {cls.__qualname__}. Import the base library before the "
            "first tensor is made."
        )
    _tensor_class = cls


def bare_tensor_maker() -> Callable[[], TensorBase]:
    """Return what makes an instance of the class of new tensors with no slot stored.

    It costs what calling a class without metaclass does: what a class does when it is called is for
    users.
    """
    maker: Callable[[], TensorBase] = type.__call__.__get__(tensor_class())
    return maker


def wrap(array: Any, backend: Backend, cls: type[TensorBase] | None = None) -> TensorBase:
    """Return a new leaf around `array`, in whatever inference state the task is in.

    Parameters
    ----------
    array
        An array of `backend`; a 0-d scalar object is made an array.
    backend
        The backend that the array belongs to.
    cls
        Class of the result; default: the class of new tensors.
    """
    arrays = backend.arrays
    if not isinstance(array, arrays.array_types) and array.__class__ is not DatalessArray:
        array = arrays.asarray(array)
    if cls is None:
        cls = tensor_class()
    return new_tensor(array, signature_of(array, backend) | cls._class_bits, cls)


def new_tensor(array: Any, signature: int, cls: type[TensorBase]) -> TensorBase:
    """Return a new leaf of class `cls` with every slot stored; what routes write out inline."""
    tensor = object.__new__(cls)
    tensor.array = array
    tensor._signature = signature
    tensor._grad_fn = None
    tensor.output_nr = 0
    tensor._storage = None
    tensor._counter = None
    tensor._meta = None
    return tensor


def signature_of(array: Any, backend: Backend) -> int:
    """Return the signature of a new tensor around `array`, made in the present state."""
    signature = backend.bit | backend.arrays.dtype_bits[array.dtype]
    if not array.shape:
        signature |= ZERO_DIM
    return signature | (INFERENCE if dispatch_state().inference else NORMAL)


def replace_array(tensor: TensorBase, array: Any) -> None:
    """Give `tensor` another array of the same backend (``.data =``, ``set_``), keeping its graph
    and version.
    """
    backend = tensor._backend
    tensor._signature = (
        tensor._signature & ~(DTYPE_MASK | ZERO_DIM)
        | backend.arrays.dtype_bits[array.dtype]
        | (0 if array.shape else ZERO_DIM)
    )
    tensor.array = array
    tensor._storage = None
    if tensor._meta is not None:
        tensor._meta.array_replaced(array)
