"""Parameters and buffers: the tensors that modules own."""

from __future__ import annotations

from typing import Any, ClassVar

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import disabled_torch_function_impl

__all__ = ["Buffer", "Parameter"]


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


def _rebuild_parameter(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


def type_name(value: Any) -> str:
    """Name ``value``'s type for an error message: a plain tensor by dtype and device, as
    ``dovetail.FloatTensor``.
    """
    if type(value) is Tensor:
        return str(value.type())
    return type(value).__name__
