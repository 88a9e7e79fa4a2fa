"""Moving and casting a module: ``to``, ``double``, ``cpu``, ``to_empty`` …; Parameter objects are
kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import (
    PYTHON_DTYPES,
    Device,
    bfloat16,
    dtype,
    float16,
    float32,
    float64,
    restoring,
    warn_user,
)

from ...parameter import Parameter
from .conversion_settings import (
    get_overwrite_module_params_on_conversion,
    get_swap_module_params_on_conversion,
)
from .traversal import Traversal


class Moves(Traversal):
    """Methods that replace the data of all parameters and buffers; every one returns self."""

    @restoring()
    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every parameter's data, its gradient's data, and every buffer by ``fn`` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                moved = fn(parameter)
                gradient: Any = parameter.grad
                moved_gradient = None if gradient is None else fn(gradient)
            if moved is parameter:
                continue
            if _keeps(parameter, moved):
                parameter.grad = None
                parameter.data = moved
            else:
                parameter = Parameter(moved, parameter.requires_grad)
                self._parameters[name] = parameter
            if moved_gradient is not None:
                parameter.grad = moved_gradient.requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device and/or cast the floating point and complex parameters and buffers.

        Called as ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype,
        non_blocking=False)``, ``to(tensor, non_blocking=False)`` (that tensor's device and
        dtype), or ``to(memory_format=...)``, which is for tensors of 4 and 5 dimensions. Parameter
        objects are kept.

        Raises
        ------
        TypeError
            If the dtype is neither floating point nor complex.
        NotImplementedError
            If a meta tensor would have to be copied; use `to_empty`.
        """
        layout = kwargs.pop("memory_format", None)
        target, kind, non_blocking = parse_to(*args, **kwargs)
        if kind is not None and not (kind.is_floating_point or kind.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={kind}. "
                "Cast single tensors with Tensor.to instead."
            )

        if kind is not None and kind.is_complex:
            warn_user(
                "Complex modules are a new feature under active development whose design may "
                "change, and some modules might not work as expected when using complex tensors "
                "as parameters or buffers."
            )

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_meta and target is not None and target.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    "torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            castable = tensor.is_floating_point() or tensor.is_complex()
            options: dict[str, Any] = {}
            if layout is not None and tensor.dim() in (4, 5):
                options["memory_format"] = layout
            moved: Tensor = tensor.to(
                device=target,
                dtype=kind if castable else None,
                non_blocking=non_blocking,
                **options,
            )
            return moved

        return self._apply(convert)

    def to_empty(self, *, device: str | Device | int | None, recurse: bool = True) -> Self:
        """Move to ``device`` without copying: the new parameters and buffers are uninitialised."""
        target: Any = device
        return self._apply(lambda tensor: aten.empty_like(tensor, device=target), recurse)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that other processes can share."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def type(self, dst_type: dtype | str) -> Self:
        """Cast all parameters and buffers to ``dst_type``."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating point parameters and buffers to float32."""
        return self._cast(float32)

    def double(self) -> Self:
        """Cast floating point parameters and buffers to float64."""
        return self._cast(float64)

    def half(self) -> Self:
        """Cast floating point parameters and buffers to float16."""
        return self._cast(float16)

    def bfloat16(self) -> Self:
        """Cast floating point parameters and buffers to bfloat16."""
        return self._cast(bfloat16)

    def _cast(self, kind: dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(kind) if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: int | Device | None = None) -> Self:
        """Move all parameters and buffers to a CUDA device (default: the current one)."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: int | Device | None = None) -> Self:
        """Move all parameters and buffers to an XPU device, if there is a backend for it."""
        return self._to_device("xpu", device)

    def ipu(self, device: int | Device | None = None) -> Self:
        """Move all parameters and buffers to an IPU device, if there is a backend for it."""
        return self._to_device("ipu", device)

    def mtia(self, device: int | Device | None = None) -> Self:
        """Move all parameters and buffers to an MTIA device, if there is a backend for it."""
        return self._to_device("mtia", device)

    def _to_device(self, kind: str, device: int | Device | None) -> Self:
        return self.to(f"{kind}:{device}" if isinstance(device, int) else device or kind)


def _keeps(parameter: Tensor, moved: Tensor) -> bool:
    """Say whether a parameter gets new data, instead of a new one in its place: by default unless
    one of them is a meta tensor.
    """
    if get_swap_module_params_on_conversion():
        return True
    is_alike = moved.is_meta == parameter.is_meta
    return is_alike and not get_overwrite_module_params_on_conversion()


def parse_to(*args: Any, **kwargs: Any) -> tuple[Device | None, dtype | None, bool]:
    """Sort the arguments of `Moves.to` into device, dtype and non_blocking."""
    unknown = set(kwargs) - {"device", "dtype", "non_blocking", "tensor"}
    if unknown:
        raise TypeError(
            f"to() got an unexpected keyword argument '{sorted(unknown)[0]}'. Use device, dtype "
            "or tensor."
        )
    target: Any = kwargs.get("device")
    kind: Any = kwargs.get("dtype")
    non_blocking: Any = kwargs.get("non_blocking", False)
    rest = list(args)
    first = kwargs.get("tensor", rest[0] if rest else None)
    if first.__class__ is type:
        first = PYTHON_DTYPES.get(first, first)
    if isinstance(first, Tensor):
        target, kind = first.device, first.dtype
        rest = rest if "tensor" in kwargs else rest[1:]
    elif isinstance(first, dtype):
        kind, rest = first, rest[1:]
    elif rest:
        target, rest = rest[0], rest[1:]
        if rest:
            kind, rest = rest[0], rest[1:]
    if rest:
        non_blocking, rest = rest[0], rest[1:]
    expected = ((target, (str, int, Device)), (kind, dtype), (non_blocking, bool))
    if rest or not all(
        [value is None or isinstance(value, classes) for value, classes in expected]
    ):
        given = ", ".join(type(value).__name__ for value in (*args, *kwargs.values()))
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({given}). "
            "Use to(device, dtype), to(dtype) or to(tensor), each with an optional non_blocking."
        )
    return (None if target is None else Device(target)), kind, bool(non_blocking)
