"""Decorators for methods of an `autograd.Function` that run with the autocast state of the forward
call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dovetail_aten import Tensor
from dovetail_aten.autocast import autocast, get_autocast_dtype, is_autocast_enabled
from dovetail_kernel import dtype, float64, restoring


def custom_fwd(
    fwd: Callable[..., object] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorate the ``forward`` of an `autograd.Function`.

    Parameters
    ----------
    fwd : callable, optional
        The method; if omitted, a decorator is returned.
    device_type : str
        Device type whose autocast applies.
    cast_inputs : dtype, optional
        Dtype to cast floating-point arguments on the device to under autocast; autocast is then
        disabled inside. Default: ``forward`` runs in the current autocast state.

    Raises
    ------
    ValueError
        If ``device_type`` is not a string.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    @restoring(*autocast.variables)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = get_autocast_dtype(device_type)
        is_enabled = is_autocast_enabled(device_type)
        context._fwd_used_autocast = is_enabled and cast_inputs is None
        if cast_inputs is None or not is_enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorated


def custom_bwd(bwd: Callable[..., object] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the ``backward`` of an `autograd.Function` whose ``forward`` has `custom_fwd`: it
    runs with the autocast state of ``forward``.

    Raises
    ------
    ValueError
        If ``device_type`` is not a string.
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    @restoring(*autocast.variables)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        with autocast(
            device_type=device_type, enabled=context._fwd_used_autocast, dtype=context._dtype
        ):
            return bwd(*args, **kwargs)

    return decorated


def _check_device_type(device_type: object) -> None:
    if not isinstance(device_type, str):
        raise ValueError(
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`. Pass 'cpu', say."
        )


def _cast(value: object, device_type: str, wanted: dtype) -> Any:
    """Cast floating point tensors on a device, also within lists, tuples and mappings."""
    if isinstance(value, Tensor):
        is_eligible = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype != float64
        )
        return value.to(wanted) if is_eligible else value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, wanted): _cast(item, device_type, wanted)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(item, device_type, wanted) for item in value])
    return value
