"""Looks up the array kernels of a backend by name, for derivative bodies over arrays: ``k.mul(grad,
other)``.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

from dovetail_kernel import Backend, DispatchKey, backend_key

from ..sockets import COMPILED_KERNEL
from . import registry
from .computed_table import may_ask
from .kernels import ARRAY
from .operator import Operator

NAMESPACE: Final = "aten"


class NoArrayKernelError(LookupError):
    """An operator has no array kernel on a backend, or another kernel stands before it: the tensors
    body must run.
    """


class KernelNamespace:
    """The array kernels of one backend as attributes, found when first used.

    ``k.mul`` is the array kernel of the first overload of ``aten::mul`` that has one; its faster
    plain form if all arguments of the operator are tensors. `helpers` are functions of the backend
    without an operator.

    Raises
    ------
    NoArrayKernelError
        If a call of the operator would not run its array kernel directly.
    """

    def __init__(self, backend: Backend, helpers: Mapping[str, Callable[..., object]]) -> None:
        self._backend = backend
        self._epoch = registry.epoch
        self._helpers = helpers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._helpers:
            function = self.__dict__[name] = self._helpers[name]
            return function
        key = backend_key("Dense", self._backend)
        for op in registry.operators.get(f"{NAMESPACE}::{name}", {}).values():
            kernel = op.newest(key)
            if (
                kernel is not None
                and kernel.convention == ARRAY
                and not may_ask(op)
                and not _is_intercepted(op, self._backend)
            ):
                function = (
                    kernel.fast_path
                    if kernel.fast_path is not None and _only_tensors(op)
                    else kernel.fn
                )
                function = COMPILED_KERNEL.plug(function)
                if op.joins_tensors:
                    function = self._backend.arrays.in_order(function)
                self.__dict__[name] = function
                return function
        raise NoArrayKernelError(f"{NAMESPACE}::{name} has no array kernel on {self._backend.name}")


_helpers: dict[str, ChainMap[str, Callable[..., Any]]] = {}
_known: dict[str, KernelNamespace] = {}


def add_helpers(backend: Backend, helpers: MutableMapping[str, Callable[..., object]]) -> None:
    """Add functions of `backend` without an operator, which derivative bodies may call."""
    earlier = _helpers.get(backend.name, ChainMap())
    _helpers[backend.name] = ChainMap(helpers, *earlier.maps)
    _known.pop(backend.name, None)


def kernel_namespace(backend: Backend) -> KernelNamespace:
    """Return the array kernels of `backend` as they are registered now."""
    known = _known.get(backend.name)
    if known is None or known._epoch != registry.epoch:
        known = _known[backend.name] = KernelNamespace(backend, _helpers.get(backend.name, {}))
    return known


def _is_intercepted(op: Operator, backend: Backend) -> bool:
    """Return whether a call of `op` would run a registered kernel before it comes to that of the
    backend.
    """
    return any(
        [
            op.newest(k)
            for k in (DispatchKey.Autograd, backend_key("AutogradFunctionality", backend))
        ]
    )


def _only_tensors(op: Operator) -> bool:
    return all([a.real_type.schema_str == "Tensor" for a in op.schema.arguments])
