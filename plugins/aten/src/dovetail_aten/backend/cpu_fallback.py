"""Operators without kernel on a backend run on the cpu, on copies: opt-in, and one warning for each
operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_dispatcher import Library, OpOverload, transaction
from dovetail_dispatcher.calls import write_into, write_out
from dovetail_kernel import Backend, Device, TensorBase, backend, bump_version, warn_user

from .backend_select import copy_to_backend
from .devices import ready_backend
from .generator import Generator

_libraries: dict[str, Library] = {}
"""The registrations, by device type."""


def use_cpu_fallback(device_type: str) -> None:
    """Run operators without a kernel on a backend on the cpu: copy the arguments there, compute,
    and copy the results back.

    The first call of each operator warns with its name. Views are not possible and raise an error,
    because devices share no memory.

    Parameters
    ----------
    device_type
        A device type other than cpu and meta.

    Raises
    ------
    RuntimeError
        For cpu or meta, or an unknown device type.
    """
    if device_type in ("cpu", "meta"):
        raise RuntimeError(
            f"there is no cpu fallback for {device_type!r}. Name a device type that computes "
            "elsewhere."
        )
    if device_type in _libraries:
        return
    own = backend(device_type)
    with transaction():
        library = Library("_", "IMPL")
        library.fallback(_fallback_of(own), own.key_name)
    _libraries[device_type] = library


def _fallback_of(own: Backend) -> Callable[..., Any]:
    """Return the backend fallback of `own`."""
    warned: set[str] = set()

    def cpu_fallback(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
        name = op.name()
        _refuse_views(op, own)
        if name not in warned:
            warned.add(name)
            base = name.removesuffix(".default").partition("::")
            warn_user(
                f"The operator '{name}' is not currently supported on the {own.name} backend and "
                "will fall back to run "
                "on the CPU. This may have performance implications. To compute it on the device, "
                "register a kernel: "
                f"Library({base[0]!r}, 'IMPL', {own.key_name!r}).array_impl({base[2]!r}, fn)."
            )
        copies: dict[int, TensorBase] = {}
        cpu = ready_backend("cpu")

        def there(value: object) -> Any:
            if isinstance(value, TensorBase) and value._backend is own:
                return copies.setdefault(id(value), copy_to_backend(value, cpu, value.dtype))
            if isinstance(value, Device) and value.type == own.name:
                return Device("cpu")
            if isinstance(value, Generator):
                raise RuntimeError(
                    f"{name} falls back to the cpu, where a generator of {value.device} cannot be "
                    "used. Leave the "
                    "generator out, or register a kernel."
                )
            return _mapped(there, value)

        def back(value: object) -> Any:
            if isinstance(value, TensorBase):
                original = originals.get(id(value))
                return copy_to_backend(value, own, value.dtype) if original is None else original
            return _mapped(back, value)

        moved_args, moved_kwargs = there(args), there(kwargs)
        result = op(*moved_args, **moved_kwargs)
        originals: dict[int, TensorBase] = {}
        for original, moved in zip(
            _written(op, args, kwargs), _written(op, moved_args, moved_kwargs), strict=True
        ):
            originals[id(moved)] = original
            write = write_into if original.array.shape == moved.array.shape else write_out
            write(original, copy_to_backend(moved, own, moved.dtype).array)
            bump_version(original)
        return back(result)

    return cpu_fallback


def _written(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[TensorBase]:
    """Return the tensors that the schema of `op` says are written to."""
    found: list[TensorBase] = []
    for place, argument in enumerate(op._schema.arguments):
        if argument.is_write:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            found += [
                each
                for each in (value if isinstance(value, list | tuple) else [value])
                if each is not None
            ]
    return found


def _refuse_views(op: OpOverload, own: Backend) -> None:
    if op._schema._is_view_op():
        raise RuntimeError(
            f"The operator {op.name()} appears to be a view operator, but it has no "
            "implementation for the backend "
            f'"{own.name}:0". View operators don\'t support falling back to run on the CPU, '
            "since the tensor's "
            f"storage cannot be shared across devices. Register a kernel for {own.key_name}."
        )


def _mapped(function: Callable[..., object], value: object) -> Any:
    """Return a container with `function` applied to what is in it; anything else as it is."""
    if isinstance(value, dict):
        return {name: function(each) for name, each in value.items()}
    if value.__class__ in (list, tuple):
        return value.__class__([function(each) for each in value])
    return value
