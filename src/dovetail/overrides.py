"""``dovetail.overrides``: `__torch_function__` for subclasses, other classes, and modes; what can
be overridden.
"""

import inspect as _inspect
from collections.abc import Callable
from functools import cache as _cache
from importlib import import_module as _import_module
from typing import Any

from dovetail_aten import Tensor
from dovetail_dispatcher import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    interceptable,
    is_overridable,
    operator_modules,
    overridden_name,
    wrap_torch_function,
)

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_PYTHON_FUNCTIONS = ("as_tensor", "tensor")
_ROOT = "dovetail"
_MODULES = (_ROOT, "dovetail.nn.functional", "dovetail._nn")


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a Tensor or has a ``__torch_function__``, and so may stand where a
    Tensor does.
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


@_cache
def get_default_nowrap_functions() -> frozenset[Callable[..., Any]]:
    """Return the functions whose tensors the default ``__torch_function__`` returns as they are."""
    return frozenset({_getter("_base"), _getter("grad")})


def _getter(name: str) -> Any:
    return getattr(Tensor, name).__get__


@_cache
def _overridable() -> dict[Any, list[Callable[..., Any]]]:
    found: dict[Any, list[Callable[..., Any]]] = {}
    for module in map(_import_module, _MODULES):
        functions = [getattr(module, name) for name in dir(module) if not name.startswith("_")]
        found[module] = [
            f for f in functions if _is_operator(f) or _is_factory(f) or is_overridable(f)
        ]
    root = _import_module(_ROOT)
    found[root] += [getattr(root, name) for name in _PYTHON_FUNCTIONS]
    methods: list[Any] = []
    for name in dir(Tensor):
        value = getattr(Tensor, name)
        if _is_operator(value):
            methods.append(value)
    for name, value in interceptable(Tensor):
        if isinstance(value, property):
            methods.append(value.__get__)
            if value.fset is not None:
                methods.append(value.__set__)
        else:
            methods.append(getattr(Tensor, name))
    found[Tensor] = methods
    return found


_FACTORIES = frozenset(
    {
        "arange",
        "empty",
        "eye",
        "full",
        "linspace",
        "ones",
        "rand",
        "randint",
        "randn",
        "randperm",
        "zeros",
    }
)


def _is_factory(value: Any) -> bool:
    return getattr(value, "__name__", "") in _FACTORIES


def _is_operator(value: Any) -> bool:
    return _inspect.isfunction(value) and value.__module__ in operator_modules


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that can be overridden, by the module or class that has them.

    Getters and setters of properties are in it as ``Tensor.shape.__get__``. A function and the
    method of the same name are one object.
    """
    return {owner: list(functions) for owner, functions in _overridable().items()}


@_cache
def get_ignored_functions() -> frozenset[Callable[..., Any]]:
    """Return the public functions at the top level that cannot be overridden: they have no tensors,
    or call others.
    """
    overridable = {f for functions in _overridable().values() for f in functions}
    root = _import_module(_ROOT)
    public = [getattr(root, name) for name in root.__all__]
    return frozenset(f for f in public if _inspect.isfunction(f) and f not in overridable)


@_cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return for every overridable function one with the same parameters that returns -1."""
    return {f: _dummy(f) for functions in _overridable().values() for f in functions}


def _dummy(function: Callable[..., Any]) -> Callable[..., int]:
    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        signature = _inspect.signature(function)
    except (TypeError, ValueError):  # the getter of a property has none
        return dummy
    dummy.__signature__ = signature  # type: ignore[attr-defined]
    return dummy


@_cache
def _tensor_functions() -> frozenset[Callable[..., Any]]:
    return frozenset(_overridable()[Tensor])


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether `func`, as a handler gets it, is a method of tensors or the getter or setter
    of a property.

    What is both a function and a method counts as a method.
    """
    return func in _tensor_functions() or getattr(func, "__name__", None) in (
        "__get__",
        "__set__",
        "__delete__",
    )


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name of an overridable function as users write it, or None: ``"dovetail.add"``."""
    if hasattr(f, "_operator") or hasattr(f, "_qualified_op_name"):
        return overridden_name(f)
    known = any(f in functions for functions in _overridable().values())
    return overridden_name(f) if known else None
