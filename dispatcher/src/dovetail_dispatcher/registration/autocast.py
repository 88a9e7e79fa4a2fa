"""Autocast: calls whose tensors are cast to another dtype first, by kernels at the Autocast keys.

The keys are excluded by default; ``with autocast("cpu")`` lets them in, so that a call outside
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

from dovetail_kernel import (
    DecoratingGuard,
    Device,
    DispatchKey,
    DispatchKeySet,
    PluginError,
    TensorBase,
    bfloat16,
    dispatch_state,
    dtype,
    float16,
    float64,
    plugin_manager,
    set_state,
    state,
    warn_user,
)
from dovetail_kernel.keys import STATE, Transition
from dovetail_kernel.types import BY_BIT

from ..sockets import COMPILED_ENTRY
from ..table.base_operators import base_operator
from ..table.operator import Operator

_DEFAULT_DTYPES: Final[dict[str, dtype]] = {"cpu": bfloat16, "cuda": float16}
_LOWER: Final = (bfloat16, float16)
_dtypes: ContextVar[dict[str, dtype]] = ContextVar(
    "dovetail_autocast_dtypes", default=_DEFAULT_DTYPES
)


def is_autocast_available(device_type: str) -> bool:
    """Return whether a device type has an Autocast key.

    Raises
    ------
    RuntimeError
        For an unknown device type.
    """
    return _key_of(device_type) is not None


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on for a device type in the current thread or asyncio task."""
    key = _key_of(device_type)
    return key is not None and key not in dispatch_state().excluded


def get_autocast_dtype(device_type: str) -> dtype:
    """Return the dtype that base operators compute in under autocast; by default bfloat16 on cpu,
    float16 on cuda.

    Raises
    ------
    RuntimeError
        For a device type without autocast.
    """
    autocast_key(device_type)
    return _dtypes.get().get(device_type, float16)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Enable or disable autocast for a device type in the current thread or asyncio task; use
    `autocast` for a block.
    """
    _check_settings("set_autocast_enabled", enabled=enabled)
    set_state(_switch(autocast_key(device_type), enabled)(state()))


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype of autocast for a device type in the current thread or asyncio task."""
    _check_settings("set_autocast_dtype", dtype=dtype)
    autocast_key(device_type)
    _dtypes.set({**_dtypes.get(), device_type: dtype})


class autocast(DecoratingGuard):
    """Run a block, or a function, in mixed precision: operators cast their arguments according to
    `register_autocast`.

    For "cuda" without CUDA, or for an unsupported dtype, it warns (`UserWarning`) and is disabled.

    Parameters
    ----------
    device_type
        "cpu" or "cuda".
    dtype
        Dtype of matrix products; default: bfloat16 on cpu, float16 on cuda.
    enabled
        False disables autocast inside.
    cache_enabled
        Accepted and ignored: casts are not cached.

    Raises
    ------
    RuntimeError
        For a device type without autocast.
    TypeError
        On entering, if `dtype` is not a dtype or `enabled` is not a bool.

    Notes
    -----
    In the base library, matrix products use `dtype`, and some losses and reductions use float32, as
    in PyTorch. Gradients have the dtypes of the original tensors. Tensors of float64 and of
    integers are never cast.
    """

    variables = (STATE, _dtypes)

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(
                f"Expected `device_type` of type `str`, got: `{type(device_type)}`. Give 'cpu' or "
                "'cuda'."
            )
        self._key = autocast_key(device_type)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled
        if enabled and self.fast_dtype not in _LOWER:
            warn_user(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. "
                "Disabling autocast.\n"
                f"{device_type.upper()} Autocast only supports dtypes of torch.bfloat16, "
                f"torch.float16 currently, not {self.fast_dtype}. Give one of these."
            )
            self._enabled = False
        elif enabled and device_type.partition(":")[0] == "cuda" and not _has_backend("cuda"):
            warn_user(
                "CUDA is not available or torch_xla is imported. Disabling autocast. See "
                "dovetail.cuda.why_unavailable(), or give autocast the device type of the tensors."
            )
            self._enabled = False

    def _recreate_cm(self) -> autocast:
        return autocast(self.device, self.fast_dtype, self._enabled)

    def change(self) -> autocast:
        """Set the dtype, and enable or disable autocast."""
        if self.fast_dtype not in _LOWER or self._enabled.__class__ is not bool:
            _check_settings("autocast", dtype=self.fast_dtype, enabled=self._enabled)
        dtypes = _dtypes.get()
        if dtypes.get(self.device) is not self.fast_dtype:
            _dtypes.set({**dtypes, self.device: self.fast_dtype})
        set_state(_switch(self._key, self._enabled)[state()])
        return self


def _check_settings(function: str, **settings: object) -> None:
    """Raise an error for a dtype that is none, and a switch that is not a bool."""
    for name, value in settings.items():
        kind = dtype if name == "dtype" else bool
        if not isinstance(value, kind):
            raise TypeError(
                f"{function}(): argument '{name}' must be {kind.__name__}, not "
                f"{type(value).__name__}. Give a {kind.__name__}."
            )


@cache  # keys of backends stay
def autocast_key(device_type: str) -> DispatchKey:
    """Return the Autocast key of a device type.

    Raises
    ------
    RuntimeError
        For an unknown device type, or one without autocast.
    """
    key = _key_of(device_type)
    if key is None:
        raise RuntimeError(
            f"User specified an unsupported autocast device_type '{device_type}': it has no "
            f"Autocast key. Autocast works on: {', '.join(_device_types())}."
        )
    return key


def _has_backend(device_type: str) -> bool:
    try:
        plugin_manager.load_backend(device_type)
    except PluginError:
        return False
    return True


def _key_of(device_type: str) -> DispatchKey | None:
    backend = Device(device_type).type
    return DispatchKey.__members__.get(f"Autocast{backend.upper()}")


def _device_types() -> list[str]:
    return sorted(
        name.removeprefix("Autocast").lower()
        for name in DispatchKey.__members__
        if name[:8] == "Autocast"
    )


@cache
def _switch(key: DispatchKey, enabled: bool) -> Transition:
    only = DispatchKeySet(key)
    return Transition(
        lambda s: s._replace(excluded=s.excluded - only if enabled else s.excluded | only)
    )


# -- kernels ---------------------------------------------------------------------------------------


def casting_kernel(op: Operator, device_type: str, wanted: dtype | None) -> Callable[..., Any]:
    """Return a kernel for the Autocast key: it casts eligible arguments, then calls `op` with that
    key excluded.

    Eligible are floating-point tensors of the device type except float64, also in lists. Arguments
    that `op` writes to are not cast, since a write to a copy would be lost.

    Parameters
    ----------
    wanted
        The dtype to cast to; None means the dtype of the innermost `autocast`.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        dtype = get_autocast_dtype(device_type) if wanted is None else wanted
        values = [cast_value(value, device_type, dtype) for value in args]
        named = {name: cast_value(v, device_type, dtype) for name, v in kwargs.items()}
        if op.schema.is_mutable:
            for position, argument in enumerate(op.schema.arguments):
                if argument.is_write and argument.name in named:
                    named[argument.name] = kwargs[argument.name]
                elif argument.is_write and position < len(values):
                    values[position] = args[position]
        return without_autocast(op, device_type, *values, **named)

    def parts(text: Callable[..., object]) -> list[Any] | None:
        if device_type != "cpu" or op.schema.is_mutable:
            return None
        without = _switch(autocast_key(device_type), False)
        eligible = sum([bit for bit, each in BY_BIT.items() if _is_cast(each)])
        convert = base_operator("convert").op, ("dtype",)
        called = op.handle.op, without
        return ["cast", *convert, *called, wanted, _dtypes, device_type, eligible]

    kernel.__qualname__ = f"autocast of {op.qualified_name}"
    kernel.hands_on = True  # type: ignore[attr-defined]  # it may be given defaults, too
    return COMPILED_ENTRY.plug(kernel, parts)


def checked_cast(
    op: Operator, device_type: str, cast_inputs: object
) -> tuple[str, Callable[..., Any]]:
    """Return the Autocast key of a device type, and the kernel that casts to `cast_inputs` there.
    Raises ValueError if the device type has no autocast, and TypeError if `cast_inputs` is not a
    dtype.
    """
    if not is_autocast_available(device_type):
        raise ValueError(
            f"Device type '{device_type}' does not support autocast. Choose 'cpu' or 'cuda'."
        )
    if not isinstance(cast_inputs, dtype):
        raise TypeError(
            f"register_autocast: cast_inputs must be a dtype, but got {type(cast_inputs).__name__}."
        )
    return autocast_key(device_type).name, casting_kernel(op, device_type, cast_inputs)


def without_autocast(op: Operator, device_type: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call `op` with the Autocast key of a device type excluded."""
    before = state()
    try:
        set_state(_switch(autocast_key(device_type), False)(before))
        return op.handle(*args, **kwargs)
    finally:
        set_state(before)


def is_eligible(value: object, device_type: str) -> bool:
    """Return whether `value` is a tensor that autocast may cast."""
    return (
        isinstance(value, TensorBase)
        and value._backend.name == device_type
        and _is_cast(value.dtype)
    )


def _is_cast(own: dtype) -> bool:
    return own.is_floating_point and own is not float64


def cast_value(value: Any, device_type: str, wanted: dtype) -> Any:
    """Return an argument with every eligible tensor in it cast to `wanted`; the cast is
    differentiable.
    """
    if isinstance(value, TensorBase):
        if is_eligible(value, device_type) and value.dtype is not wanted:
            return base_operator("convert")(value, dtype=wanted)
    elif isinstance(value, list | tuple):
        return type(value)([cast_value(item, device_type, wanted) for item in value])
    return value
