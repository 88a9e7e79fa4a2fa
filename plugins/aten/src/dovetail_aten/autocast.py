"""Autocast with the base library: importing this registers what its operators do, by PyTorch's
lists.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail_dispatcher import Library, transaction
from dovetail_dispatcher.registration.autocast import (
    autocast,
    autocast_key,
    casting_kernel,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    is_eligible,
    set_autocast_dtype,
    set_autocast_enabled,
    without_autocast,
)
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.table.operator import Operator
from dovetail_kernel import float32, promote_types

__all__ = [
    "autocast",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]

_LOWER: Final = {
    "cpu": "mm bmm addmm addbmm baddbmm matmul linear prelu",
    "cuda": "mm bmm mv addmm addmv addbmm baddbmm matmul linear einsum prelu",
}
"""Operators that compute in the dtype of the autocast block."""

_FLOAT32: Final = {
    "cpu": "prod prod.dim_int view_as_complex nll_loss "
    "cross_entropy_loss mse_loss l1_loss smooth_l1_loss "
    "binary_cross_entropy_with_logits",
    "cuda": "pow.Tensor_Tensor pow.Tensor_Scalar pow.Scalar reciprocal "
    "rsqrt exp expm1 log log2 log10 log1p tan asin "
    "acos sinh cosh logsumexp softplus nll_loss mse_loss l1_loss smooth_l1_loss "
    "binary_cross_entropy_with_logits "
    "layer_norm native_layer_norm",
}
"""Operators that compute in float32."""

_RETURN_FLOAT32: Final = {
    "cuda": "sum.dim_IntList sum prod prod.dim_int cumsum cumprod "
    "softmax.int log_softmax.int norm.ScalarOpt_dim "
    "norm.Scalar",
}
"""Operators with an argument ``dtype``, which is float32 unless the caller gives one."""

_WIDEST: Final = {
    "cpu": "cat stack",
    "cuda": "cat stack addcmul addcdiv atan2 dot vdot index_put scatter_add",
}
"""Operators whose arguments are cast to the widest of their dtypes."""


_library = Library("aten", "IMPL")


def _register() -> None:
    """Register the kernels at AutocastCPU and AutocastCUDA, for the operators that there are."""
    for device_type in ("cpu", "cuda"):
        key = autocast_key(device_type).name
        for names, make in (
            (_LOWER, lambda op, device: casting_kernel(op, device, None)),
            (_FLOAT32, lambda op, device: casting_kernel(op, device, float32)),
            (_RETURN_FLOAT32, _returning_float32),
            (_WIDEST, _widest),
        ):
            for name in names.get(device_type, "").split():
                op = registry.find_qualified(f"aten::{name}")
                if op is not None:
                    _library.impl(name, make(op, device_type), key)


def _returning_float32(op: Operator, device_type: str) -> Any:
    if all(argument.name != "dtype" for argument in op.schema.arguments):
        return casting_kernel(op, device_type, float32)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if (
            kwargs.get("dtype") is None
            and _gives_no_dtype(op, args)
            and is_eligible(args[0], device_type)
        ):
            kwargs["dtype"] = float32
        return without_autocast(op, device_type, *args, **kwargs)

    return kernel


def _gives_no_dtype(op: Operator, args: tuple[Any, ...]) -> bool:
    position = next(i for i, argument in enumerate(op.schema.arguments) if argument.name == "dtype")
    return len(args) <= position or args[position] is None


def _widest(op: Operator, device_type: str) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = [
            each
            for value in (*args, *kwargs.values())
            for each in (value if isinstance(value, list | tuple) else [value])
            if is_eligible(each, device_type)
        ]
        if not tensors:
            return without_autocast(op, device_type, *args, **kwargs)
        widest = tensors[0].dtype
        for tensor in tensors[1:]:
            widest = promote_types(widest, tensor.dtype)
        return casting_kernel(op, device_type, widest)(*args, **kwargs)

    return kernel


# The registrations are those of the base library, whoever happens to import this.
with transaction():
    _register()
