"""Parameters and buffers: the tensors of modules, including those without a known shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeGuard

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Device, disabled_torch_function_impl, dtype

from ..names.missing import serve_names

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Tensors of a custom class stay of that class in ``Parameter(data)``; isinstance knows them by
    a mark.
    """

    def __instancecheck__(self, instance: object) -> bool:
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
        detached = data.detach().requires_grad_(requires_grad)
        if type(detached) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires "
                "that detach() returns an instance of the same type, but return type "
                f"{type(detached).__name__} was found instead. Let its __torch_dispatch__ or "
                "__torch_function__ return one."
            )
        other: Any = detached
        other._is_param = True
        marked: Parameter = other
        return marked

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        result: Parameter = memo[id(self)]
        return result

    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        made_by = _rebuild_parameter, (type(self), self.data, self.requires_grad)
        return (*made_by, vars(self)) if vars(self) else made_by

    # mypy forgets the names of arguments of methods like this one.
    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        data: Any = self.detach().requires_grad_(self.requires_grad)
        return f"Parameter containing:\n{data.__repr__(tensor_contents=tensor_contents)}"


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """A buffer is a plain tensor with a mark, so that operators on it cost nothing extra."""

    def __instancecheck__(self, instance: object) -> bool:
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


class UninitializedTensorMixin:
    """A tensor that has a dtype and a device, but no shape before `materialize`."""

    __slots__ = ()

    _allowed_methods: ClassVar[list[Any]] = [
        Tensor.__hash__,
        Tensor.size,
        Tensor.copy_,
        Tensor.is_complex,
        Tensor.is_floating_point,
        Tensor.half,
        Tensor.float,
        Tensor.double,
        Tensor.char,
        Tensor.short,
        Tensor.int,
        Tensor.long,
        Tensor.cuda,
        Tensor.cpu,
        Tensor.to,
        Tensor.get_device,
    ]
    cls_to_become: ClassVar[type[Tensor]]

    def materialize(
        self, shape: Any, device: str | Device | None = None, dtype: dtype | None = None
    ) -> None:
        """Become a parameter or a buffer of this shape, with uninitialised values.

        Parameters
        ----------
        shape : tuple of int
            The shape.
        device, dtype : optional
            Default: the device and dtype passed to the constructor.
        """
        this: Any = self
        this.data = aten.empty(
            shape,
            device=this.data.device if device is None else device,
            dtype=this.data.dtype if dtype is None else dtype,
        )
        this.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raise RuntimeError: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        """Raise RuntimeError: there is no memory to share yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto: object) -> tuple[Any, ...]:
        this: Any = self
        made_with = this.requires_grad, this.data.device, this.data.dtype
        return type(self), made_with, vars(self) or None

    def __setstate__(self, state: Mapping[str, object]) -> None:
        vars(self).update(state)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., object], types: object, args: object = (), kwargs: object = None
    ) -> Any:
        # A method-wrapper reads an attribute, which needs no values.
        if func in cls._allowed_methods or type(func).__name__ == "method-wrapper":
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating `dovetail.nn.parameter."
            f"{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to "
            "initialize the parameters before calling functions of tensors."
        )


def is_lazy(param: object) -> TypeGuard[Any]:
    """Return whether ``param`` is a parameter or a buffer without a shape."""
    return isinstance(param, UninitializedTensorMixin)


def _rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


def type_name(value: object) -> str:
    """Name ``value``'s type for an error message: a plain tensor by dtype and device, as
    ``dovetail.FloatTensor``.
    """
    if type(value) is Tensor:
        return str(value.type())
    return type(value).__name__


# Imported when asked for: they override functions, and once a class does, all functions look for
# classes that do.
UninitializedBuffer: Any
UninitializedParameter: Any
serve_names(
    __name__,
    (),
    dict.fromkeys(("UninitializedBuffer", "UninitializedParameter"), "dovetail.nn.uninitialized"),
)
