"""Parameters and buffers without a shape: tensors on which every function raises an error."""

from __future__ import annotations

from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_kernel import Device, dtype

from .parameter import Parameter, UninitializedTensorMixin


# mypy forgets the names of arguments of Tensor.__repr__, and knows no metaclass of tensors.
class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc,metaclass]
    """A parameter whose shape is not known yet; ``materialize`` turns it into a `Parameter`.

    Until then only its dtype, its device and ``requires_grad`` can be read and changed.

    Parameters
    ----------
    requires_grad : bool, default True
        Whether gradients will be accumulated.
    device, dtype : optional
        Default: the default device and dtype.

    Raises
    ------
    ValueError
        "Attempted to use an uninitialized parameter", from any tensor function.
    RuntimeError
        If its shape is read or its memory shared.
    """

    cls_to_become = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: str | Device | None = None,
        dtype: dtype | None = None,
    ) -> UninitializedParameter:
        data = aten.empty(0, device=device, dtype=dtype)
        made: UninitializedParameter = Tensor._make_subclass(cls, data, requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        copied: UninitializedParameter = memo[id(self)]
        return copied


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is not known yet; ``materialize`` turns it into a plain buffer.

    Parameters
    ----------
    requires_grad : bool, default False
        Whether gradients will be accumulated.
    device, dtype : optional
        Default: the default device and dtype.
    persistent : bool, default True
        Whether the buffer is part of the module's ``state_dict``.

    Raises
    ------
    ValueError, RuntimeError
        As `UninitializedParameter`.
    """

    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: str | Device | None = None,
        dtype: dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        data = aten.empty(0, device=device, dtype=dtype)
        made: Any = Tensor._make_subclass(cls, data, requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        buffer: UninitializedBuffer = made
        return buffer


for _class in (UninitializedParameter, UninitializedBuffer):
    _class.__module__ = Parameter.__module__  # where PyTorch has them, and pickles look
