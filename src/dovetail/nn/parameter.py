"""Parameters and buffers: the tensors that modules own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import disabled_torch_function_impl

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Tensors of a custom class stay of that class in ``Parameter(data)``; isinstance knows them by
    a mark.
    """

    def __instancecheck__(self, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            self is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a `Module` registers as its parameter when it is assigned to an attribute.

    Results of operators on it are plain tensors.

    Parameters
    ----------
    data : Tensor, optional
        Any shape; floating point or complex if ``requires_grad``. Its storage is shared. Default:
        an empty tensor.
    requires_grad : bool, default True
        Whether gradients are accumulated into ``.grad``.

    Raises
    ------
    RuntimeError
        "Only Tensors of floating point and complex dtype can require gradients".
    TypeError
        If ``data`` is not a tensor.
    """

    __torch_function__: ClassVar[Any] = disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = aten.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            parameter: Parameter = Tensor._make_subclass(cls, data, requires_grad)
            return parameter
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Parameter(data) expects a Tensor, but got {type(data).__name__}. "
                "Wrap it: Parameter(dovetail.tensor(data))."
            )
        other: Any = data.detach().requires_grad_(requires_grad)
        other._is_param = True
        marked: Parameter = other
        return marked

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        result: Parameter = memo[id(self)]
        return result

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild_parameter, (type(self), self.data, self.requires_grad), vars(self) or None

    # mypy forgets the names of arguments of methods like this one.
    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        data: Any = self.detach().requires_grad_(self.requires_grad)
        return f"Parameter containing:\n{data.__repr__(tensor_contents=tensor_contents)}"


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """A buffer is a plain tensor with a mark, so that operators on it cost nothing extra."""

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a `Module` registers as a buffer when it is assigned to an attribute.

    Parameters
    ----------
    data : Tensor, optional
        Any shape and dtype. Its storage is shared. Default: an empty tensor.
    persistent : bool, default True
        Whether the buffer is part of the module's ``state_dict``.
    """

    __torch_function__: ClassVar[Any] = disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = aten.empty(0)
        other: Any = data.detach().requires_grad_(data.requires_grad)
        other.persistent = persistent
        other._is_buffer = True
        marked: Buffer = other
        return marked


_NO_SHAPE: Final = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
    "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)

_ALLOWED: Final = frozenset(
    [
        *["__get__", "__set__", "__delete__", "__hash__", "size", "is_floating_point"],
        *["is_complex", "detach", "to", "type", "cpu", "cuda", "half", "float", "double"],
        *["bfloat16", "char", "short", "int", "long", "cfloat", "cdouble", "get_device"],
    ]
)
"""Names of what a tensor without shape can be asked for."""


class UninitializedTensorMixin:
    """What `UninitializedParameter` and `UninitializedBuffer` have: a dtype and a device, no shape
    yet.
    """

    cls_to_become: ClassVar[type[Tensor]]

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Become a parameter or buffer of `shape`, without values yet.

        Parameters
        ----------
        shape : sequence of int
            Of the tensor.
        device, dtype : optional
            Default: those given at first.
        """
        this: Any = self
        device = this.data.device if device is None else device
        dtype = this.data.dtype if dtype is None else dtype
        this.data = aten.empty(tuple(shape), device=device, dtype=dtype)
        this.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raise: there is none yet."""
        raise RuntimeError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        """Raise: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{type(self).__name__}>"

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.__name__ not in _ALLOWED:
            raise ValueError(
                f"Attempted to use an uninitialized parameter in {func}. This error happens when "
                "you are using a `LazyModule` or explicitly manipulating "
                f"`dovetail.nn.parameter.{cls.__name__}` objects. When using LazyModules Call "
                "`forward` with a dummy batch to initialize the parameters before calling torch "
                "functions"
            )
        return disabled_torch_function_impl(func, types, args, kwargs or {})


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; lazy modules find it out from their first input.

    Parameters
    ----------
    requires_grad : bool, default True
        Whether gradients are accumulated into ``.grad``.
    device, dtype : optional
        Default: the default device and dtype.
    """

    cls_to_become: ClassVar[type[Tensor]] = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        data = aten.empty(0, device=device, dtype=dtype)
        made: UninitializedParameter = Tensor._make_subclass(cls, data, requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        result: UninitializedParameter = memo[id(self)]
        return result

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.device, self.dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; lazy modules find it out from their first input.

    Parameters
    ----------
    requires_grad : bool, default False
        As of any tensor.
    device, dtype : optional
        Default: the default device and dtype.
    persistent : bool, default True
        Whether the buffer is part of the module's ``state_dict``.
    """

    cls_to_become: ClassVar[type[Tensor]] = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        data = aten.empty(0, device=device, dtype=dtype)
        made: Any = Tensor._make_subclass(cls, data, requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        result: UninitializedBuffer = made
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        if id(self) not in memo:
            memo[id(self)] = _rebuild_buffer(*self.__reduce_ex__(2)[1])
        result: UninitializedBuffer = memo[id(self)]
        return result

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        this: Any = self
        arguments = (type(self), self.requires_grad, self.device, self.dtype, this.persistent)
        return _rebuild_buffer, arguments


def is_lazy(param: Any) -> bool:
    """Say whether `param` has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


def forget_shape(tensor: Any, kind: type[Tensor]) -> None:
    """Make an initialized tensor what it was: one of `kind`, without shape."""
    tensor.data = aten.empty(0, device=tensor.device, dtype=tensor.dtype)
    tensor.__class__ = kind


def _rebuild_buffer(cls: type[UninitializedBuffer], *arguments: Any) -> UninitializedBuffer:
    return cls(*arguments)


def _rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


def type_name(value: Any) -> str:
    """Name ``value``'s type for an error message: a plain tensor by dtype and device, as
    ``dovetail.FloatTensor``.
    """
    if type(value) is Tensor:
        return str(value.type())
    return type(value).__name__
