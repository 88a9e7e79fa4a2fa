"""Kernels at BackendSelect: operators whose backend is chosen by their ``device`` argument and not by a tensor."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dovetail_dispatcher import Kernel, Operator, registry
from dovetail_dispatcher.kernels import TENSOR
from dovetail_dispatcher.routes import redispatch_route
from dovetail_kernel import (
    Backend,
    DispatchKey,
    DispatchKeySet,
    TensorBase,
    backend_key,
    dtype,
    get_default_dtype,
    scalar_category,
    scalar_dtype,
    state,
    wrap,
)

from .devices import as_device, backend_for

LIKE = ("empty_like", "rand_like", "randn_like")
"""Factories that stay on the device of their tensor unless told otherwise, by the factory that they are on another one."""

_dense: dict[str, DispatchKeySet] = {}


def register() -> None:
    """Register a BackendSelect kernel for every factory and for the copy between devices."""
    for op in registry.all_operators():
        if op.namespace != "aten" or op.kind not in ("factory", "random") or op.variant_of is not None:
            continue
        if op.newest(DispatchKey.CompositeExplicitAutograd) or op.newest(DispatchKey.CompositeImplicitAutograd):
            continue
        arguments = [argument.name for argument in op.schema.arguments]
        if "device" not in arguments:
            continue
        _add(op, _like(op) if op.base_name in LIKE else _selecting(op))
    copy = registry.find_or_throw("aten::_to_copy")
    _add(copy, _copying(copy))


def dense_keys(backend: Backend) -> DispatchKeySet:
    """Return the key set with nothing but the dense key of `backend`."""
    keys = _dense.get(backend.name)
    if keys is None:
        keys = _dense[backend.name] = DispatchKeySet(backend_key("Dense", backend))
    return keys


def _add(op: Operator, fn: Callable[..., Any]) -> None:
    # With the schema's own signature the route hands over every argument and need not look for defaults.
    fn.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                f"{a.name}_" if a.name in ("from",) else a.name,
                inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
            for a in op.schema.arguments
        ]
    )
    registry.add_kernel(op.name, op.overload, Kernel(fn, DispatchKey.BackendSelect, TENSOR, f"{__file__}:1"), [])


def _below(op: Operator, backend: Backend, values: list[Any], key: int = 0) -> Any:
    return redispatch_route(op, dense_keys(backend), key | state() | backend.bit)(*values)


def _selecting(op: Operator) -> Callable[..., Any]:
    has_size = any(argument.name == "size" for argument in op.schema.arguments)
    names = [argument.name for argument in op.schema.arguments if not argument.kwarg_only]
    default = _DEFAULT_DTYPES.get(op.base_name, _default_float)

    def select(*args: Any, **options: Any) -> Any:
        if has_size:
            check_size(op.base_name, args[names.index("size")])
        options["device"] = device = as_device(options["device"])
        if options["dtype"] is None:
            options["dtype"] = default(args)
        return _below(op, backend_for(device), [*args, *options.values()])

    return select


def _like(op: Operator) -> Callable[..., Any]:
    factory = registry.find_or_throw(f"aten::{op.base_name.removesuffix('_like')}", "memory_format" if op.base_name == "empty_like" else "")

    def select(self: TensorBase, **options: Any) -> Any:
        device = options["device"]
        if device is None or device.type == self._backend.name:
            return _below(op, self._backend, [self, *options.values()], self._signature)
        values = {"size": tuple(self.shape), **options, "dtype": options["dtype"] or self.dtype}
        return factory.handle(*[values[a.name] for a in factory.schema.arguments if not a.kwarg_only],
            **{a.name: values[a.name] for a in factory.schema.arguments if a.kwarg_only})

    return select


def _copying(op: Operator) -> Callable[..., Any]:
    def select(self: TensorBase, **options: Any) -> Any:
        device = options["device"]
        if device is None or device.type == self._backend.name:
            return _below(op, self._backend, [self, *options.values()], self._signature)
        return copy_to_backend(self, backend_for(device), options["dtype"] or self.dtype)

    return select


def copy_to_backend(tensor: TensorBase, backend: Backend, wanted: dtype) -> TensorBase:
    """Return a copy of `tensor` on another backend, by way of host memory.

    Raises
    ------
    NotImplementedError
        From a tensor without data.
    """
    arrays = backend.arrays
    native = arrays.native_dtypes[wanted]
    source = tensor.array if backend.name == "meta" else tensor._backend.arrays.to_host(tensor.array)
    array = arrays.asarray(source)
    if array.dtype != native or backend.name == "cpu":
        array = arrays.cast(array, native)
    return wrap(array, backend)


def check_size(name: str, size: tuple[int, ...]) -> None:
    """Refuse a negative size.

    Raises
    ------
    RuntimeError
        With the size.
    """
    for n in size:
        if n < 0:
            raise RuntimeError(
                f"{name}: Dimension size must be non-negative. Trying to create tensor with negative dimension {n}: "
                f"{list(size)}"
            )


def _default_float(_args: tuple[Any, ...]) -> dtype:
    return get_default_dtype()


def _dtype_of_range(args: tuple[Any, ...]) -> dtype:
    """Return the dtype of an arange over these numbers: the default if one is a float, else int64."""
    return scalar_dtype(max(1, *map(scalar_category, args)))


_DEFAULT_DTYPES: dict[str, Callable[[tuple[Any, ...]], dtype]] = {
    "arange": _dtype_of_range,
    "full": lambda args: scalar_dtype(scalar_category(args[1])),
    "linspace": lambda args: scalar_dtype(max(2, scalar_category(args[0]), scalar_category(args[1]))),
    "randint": lambda _args: scalar_dtype(1),
    "randperm": lambda _args: scalar_dtype(1),
}
