"""Kernels at BackendSelect: operators whose backend is chosen by their ``device`` argument and not
by a tensor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from dovetail_dispatcher import Kernel, Operator
from dovetail_dispatcher.calls import MAX_ROUTES, redispatch_route
from dovetail_dispatcher.schema import default_of
from dovetail_dispatcher.table import TENSOR, Shortcut, add_kernel, place_of_definition, registry
from dovetail_kernel import (
    Backend,
    Device,
    DispatchKey,
    DispatchKeySet,
    Layout,
    TensorBase,
    backend_key,
    dtype,
    get_default_dtype,
    replace_array,
    scalar_category,
    scalar_dtype,
    state,
    strided,
    wrap,
)

from .devices import as_device, backend_for, index_on, is_on
from .pinned_memory import pinned_if_possible

_dense: dict[str, DispatchKeySet] = {}
_routes: dict[tuple[Operator, Backend], dict[int, Callable[..., Any]]] = {}


def register(operators: Iterable[tuple[Any, ...]], composites: Iterable[tuple[Any, ...]]) -> None:
    """Register a BackendSelect kernel for every operator with an argument ``device`` that is not
    made of others: the factories, and the copy between devices.

    Parameters
    ----------
    operators, composites
        The generated records: schemas first; names and keys first.
    """
    made_of_others = {row[0] for row in composites if row[1] == "CompositeImplicitAutograd"}
    for text, *_rest in operators:
        if " device=" in text and (qualified := text[: text.index("(")]) not in made_of_others:
            name, _, overload = qualified.partition(".")
            op = registry.find_or_throw(name, overload)
            selection = Selection(op)
            add_kernel(
                name,
                overload,
                Kernel(selection, DispatchKey.BackendSelect, TENSOR, place_of_definition(op)),
                [],
            )


def dense_keys(backend: Backend) -> DispatchKeySet:
    """Return the key set with nothing but the dense key of `backend`."""
    keys = _dense.get(backend.name)
    if keys is None:
        keys = _dense[backend.name] = DispatchKeySet(backend_key("Dense", backend))
    return keys


class Selection:
    """The BackendSelect kernel of one operator, made when it is first called: it takes all
    arguments of the schema.
    """

    def __init__(self, op: Operator) -> None:
        self._op = op
        self._select: Callable[..., Any] | None = None

    @property
    def __dovetail_shortcut__(self) -> tuple[Shortcut, ...]:
        if self._op.schema.arguments[0].name != "self":
            return ()
        # The call stays on the device of the tensor.
        return (Shortcut("", defaults=("layout", "device", "pin_memory")),)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if options.get("layout") is not None:
            check_layout(self._op.base_name, options["layout"])
        select = self._select
        if select is None:
            select = self._select = _selection_of(self._op)
        return select(*args, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        # Parameters without defaults of their own: the route hands over every argument.
        return inspect.Signature(
            [
                inspect.Parameter(
                    argument.name,
                    inspect.Parameter.KEYWORD_ONLY
                    if argument.kwarg_only
                    else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                )
                for argument in self._op.schema.arguments
            ]
        )


def route_below(op: Operator, backend: Backend, key: int) -> Callable[..., Any]:
    """Return the route of `op` straight to the kernel of `backend`; it takes all arguments of the
    schema.

    Parameters
    ----------
    key
        The signatures of the tensor arguments, or-ed with the state.
    """
    key |= backend.bit
    # The operator's own dict of routes, which every change clears in place; kept here by a key that
    # is cheap to hash.
    routes = _routes.get((op, backend))
    route = None if routes is None else routes.get(key)
    if route is None:
        keys = dense_keys(backend)
        route = redispatch_route(op, keys, key)
        _routes[op, backend] = op.redispatch_routes[keys]
    return route


def factory_routes(op: Operator) -> dict[int, Callable[..., Any]]:
    """Return the dict for the routes of a factory past the choice of its backend: the operator's
    own, which every change of the table clears in place.
    """
    return op.redispatch_routes.setdefault("factory", {})


def factory_route(
    op: Operator, known: dict[int, Callable[..., object]], backend: Backend, key: int
) -> Callable[..., Any]:
    """Return the route as `route_below`, and keep it by `key` in the dict of `factory_routes`,
    unless the table has changed since.
    """
    route = route_below(op, backend, key)
    with registry.lock:
        composed = op.redispatch_routes.get(dense_keys(backend), {}).get(key | backend.bit)
        if route is composed and op.redispatch_routes.get("factory") is known:
            if len(known) >= MAX_ROUTES:
                known.clear()
            known[key] = route
    return route


def is_selected_here(op: Operator) -> bool:
    """Return whether the backend of `op` is chosen by the kernel of this module, and not by one
    registered over it.
    """
    kernel = op.newest(DispatchKey.BackendSelect)
    return kernel is not None and kernel.fn.__class__ is Selection


def _selection_of(op: Operator) -> Callable[..., Any]:
    if op.schema.arguments[0].name != "self":
        return _selecting(op)
    return _like(op) if op.kind in ("factory", "random") else _copying(op)


def _selecting(op: Operator) -> Callable[..., Any]:
    names = [argument.name for argument in op.schema.arguments]
    size = names.index("size") if "size" in names else None
    default = _DEFAULT_DTYPES.get(op.base_name, _declared_default(op))
    writes = "out" in names

    def follow(options: dict[str, object]) -> None:
        """Make what is not given that of ``out``."""
        for each in ("device", "dtype"):
            if options[each] is None:
                options[each] = getattr(options["out"], each)

    def select(*args: Any, **options: Any) -> Any:
        if size is not None:
            check_size(op.base_name, args[size])
        if writes:
            follow(options)
        options["device"] = device = as_device(options["device"])
        if options["dtype"] is None:
            options["dtype"] = default(args)
        backend = backend_for(device)
        if options.get("pin_memory"):
            made = route_below(op, backend, state())(*args, *options.values())
            return pinned_if_possible(made)
        if device.index is None:
            return route_below(op, backend, state())(*args, *options.values())
        with backend.arrays.on_device(device.index):
            return route_below(op, backend, state())(*args, *options.values())

    return select


def _like(op: Operator) -> Callable[..., Any]:
    """Return the selection of a factory that stays on the device of its tensor unless told
    otherwise; on another one it is the factory that it is named after.
    """
    base = op.base_name.removeprefix("new_").removesuffix("_like")
    factory = next(iter(registry.operators[f"aten::{base}"].values())).handle
    names = [argument.name for argument in op.schema.arguments if not argument.kwarg_only]
    wanted = [argument.name for argument in factory._schema.arguments if not argument.kwarg_only]

    def select(*args: Any, **options: Any) -> Any:
        tensor, device = args[0], options["device"]
        if device is None or not tensor._backend.is_device or _holds(device, tensor):
            made = route_below(op, tensor._backend, tensor._signature | state())(
                *args, *options.values()
            )
            return pinned_if_possible(made) if options.get("pin_memory") else made
        given = {"size": tuple(tensor.shape), **dict(zip(names, args, strict=True))}
        options["dtype"] = options["dtype"] or tensor.dtype
        if "memory_format" in options and base != "empty":
            del options["memory_format"]
        return factory(*[given[name] for name in wanted], **options)

    return select


def _holds(device: Device, tensor: TensorBase) -> bool:
    """Return whether `tensor` is on a device, of which the index may be open."""
    backend = tensor._backend
    return device.type == backend.name and is_on(backend.arrays, tensor.array, device)


def _copying(op: Operator) -> Callable[..., Any]:
    def select(self: TensorBase, **options: Any) -> Any:
        device = options["device"]
        backend = self._backend
        if device is None or not backend.is_device or device.type == backend.name:
            copied = route_below(op, backend, self._signature | state())(self, *options.values())
            if device is not None and backend.is_device:
                index = index_on(backend.arrays, device)
                if index is not None:
                    backend_for(device)
                    replace_array(copied, backend.arrays.to_device(copied.array, index))
            return copied
        backend, soon = backend_for(device), options["non_blocking"]
        if device.index is None:
            return copy_to_backend(self, backend, options["dtype"] or self.dtype, soon)
        with backend.arrays.on_device(device.index):
            return copy_to_backend(self, backend, options["dtype"] or self.dtype, soon)

    return select


def copy_to_backend(
    tensor: TensorBase, backend: Backend, wanted: dtype, non_blocking: bool = False
) -> TensorBase:
    """Return a copy of `tensor` on another backend, by way of host memory.

    Parameters
    ----------
    non_blocking
        Whether a device may copy page-locked memory after the return.

    Raises
    ------
    NotImplementedError
        From a tensor without data.
    """
    arrays = backend.arrays
    native = arrays.native_dtypes[wanted]
    if non_blocking and backend.name == "cpu" and tensor._backend.name != "meta":
        own = tensor._backend.arrays
        found = own.to_host_soon(own.cast(tensor.array, own.native_dtypes[wanted]))
        return wrap(found, backend)
    source = (
        tensor.array if backend.name == "meta" else tensor._backend.arrays.to_host(tensor.array)
    )
    array = arrays.from_host_soon(source) if non_blocking else arrays.asarray(source)
    if array.dtype != native or backend.name == "cpu":
        array = arrays.cast(array, native)
    return wrap(array, backend)


def check_layout(name: str, layout: Layout) -> None:
    """Raise an error for a layout other than `strided`. Raises NotImplementedError with the
    layout.
    """
    if layout is not strided:
        raise NotImplementedError(
            f"{name}(): layout {layout!r} is not supported. Leave it out: tensors are strided."
        )


def check_size(name: str, size: tuple[int, ...]) -> None:
    """Raise an error for a negative size.

    Raises
    ------
    RuntimeError
        With the size.
    """
    for n in size:
        if n < 0:
            raise RuntimeError(
                f"{name}: Dimension size must be non-negative. Trying to create tensor with "
                f"negative dimension {n}: "
                f"{list(size)}"
            )


def _declared_default(op: Operator) -> Callable[[tuple[Any, ...]], dtype]:
    """Return what gives the dtype that the schema has for none: ``long``, or the default one."""
    argument = next(
        iter([argument for argument in op.schema.arguments if argument.name == "dtype"])
    )
    declared = default_of(argument)
    return lambda _args: get_default_dtype() if declared is None else declared


def _dtype_of_range(args: tuple[Any, ...]) -> dtype:
    """Return the dtype of an arange over these numbers: the default if one is a float, else
    int64.
    """
    return scalar_dtype(max(1, *map(scalar_category, args)))


_DEFAULT_DTYPES: dict[str, Callable[[tuple[Any, ...]], dtype]] = {
    "arange": _dtype_of_range,
    "full": lambda args: scalar_dtype(scalar_category(args[1])),
    "linspace": lambda args: scalar_dtype(
        max(2, scalar_category(args[0]), scalar_category(args[1]))
    ),
}
"""The dtype of factories that take it from their numbers."""
