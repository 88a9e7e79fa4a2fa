"""Parameters and buffers that are computed from others on each access."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import publish, restoring

from ..modules.container import ModuleDict
from ..modules.module import Module
from ..parameter import Parameter
from .parametrization_list import ParametrizationList, check_unchanged, register_tensor

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

M = TypeVar("M", bound=Module)

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor at most once within the block.

    Further accesses return the same tensor, until it is assigned to. Leaving the outermost block
    clears the cache.
    """
    global _cache, _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _inject_new_class(module: Module) -> None:
    """Give the module a class of its own, to which properties can be added."""
    cls = type(module)

    def refuse_to_pickle(self: object) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). Save "
            "module.state_dict(), and load it into a module with the same parametrizations."
        )

    def deep_copy(self: object, memo: dict[int, object]) -> Any:
        copied = memo[id(self)] = self.__new__(type(self))
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return copied

    members: dict[str, Any] = {"__getstate__": refuse_to_pickle, "__module__": __name__}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deep_copy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    """Let reading ``tensor_name`` compute it, and writing set the originals."""

    def get_parametrized(self: Any) -> Any:
        parametrizations = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrizations()
        key = id(self), tensor_name
        if key not in _cache:
            _cache[key] = parametrizations()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)
        _cache.pop((id(self), tensor_name), None)

    setattr(type(module), tensor_name, property(get_parametrized, assign))


def register_parametrization(
    module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> M:
    """Replace a parameter or buffer of a module by ``parametrization(original)``.

    The tensor becomes a property of a new class of the module, and the original parameter moves to
    ``module.parametrizations.<tensor_name>.original``. Several parametrizations are applied in the
    order of their registration.

    Parameters
    ----------
    module : Module
        Changed in place.
    tensor_name : str
        Name of the parameter or buffer.
    parametrization : Module
        Its ``forward`` returns a tensor of the same shape and dtype. If it has ``right_inverse``,
        the original is computed by it, so that the tensor keeps its value, and the tensor can be
        assigned to. A ``right_inverse`` that returns several tensors creates several originals,
        which are all passed to ``forward``.
    unsafe : bool, default False
        Allow changes of shape and dtype, and skip all checks.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        If the module has no such tensor, or if the parametrization changes type, shape or dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
        return module
    tensor = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if tensor is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'. named_parameters() and named_buffers() list them."
        )
    value, requires_grad = tensor.data, tensor.requires_grad
    try:
        parametrizations = ParametrizationList([parametrization], tensor, unsafe=unsafe)
    except BaseException:
        tensor.data = value
        tensor.requires_grad_(requires_grad)
        raise
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    _tables(module)[tensor_name] = parametrizations
    return module


def _tables(module: Module) -> ModuleDict:
    found: ModuleDict = module.parametrizations
    return found


def _append(module: Module, tensor_name: str, parametrization: Any, unsafe: bool) -> None:
    parametrizations: Any = _tables(module)[tensor_name]
    if not unsafe:
        before = getattr(module, tensor_name)
        after = parametrization(before)
        check_unchanged(before, after)
        if hasattr(parametrization, "right_inverse"):
            inverse = parametrization.right_inverse(after)
            if not isinstance(inverse, Tensor):
                raise ValueError(
                    "parametrization.right_inverse must return a tensor. Got: "
                    f"{type(inverse).__name__}"
                )
            check_unchanged(before, inverse)
    parametrizations.append(parametrization)
    parametrizations.unsafe |= unsafe


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module, or its tensor ``tensor_name``, has parametrizations."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


@restoring()
def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Turn a parametrized tensor back into a plain parameter or buffer.

    Parameters
    ----------
    module : Module
        Changed in place; gets its old class back when it has no more parametrizations.
    tensor_name : str
        The name of the tensor.
    leave_parametrized : bool, default True
        Whether to keep the current value instead of the original.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        If the tensor is not parametrized, or has several originals and ``leave_parametrized`` is
        False.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"Module {module} does not have a parametrization on {tensor_name}. "
            "module.parametrizations lists those that have."
        )
    parametrizations: Any = _tables(module)[tensor_name]
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del _tables(module)[tensor_name]
    register_tensor(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations of ``from_module`` to ``to_module``, with the same originals.

    Parameters
    ----------
    from_module, to_module : Module
        Source and target. The copies are appended to the parametrizations of the target.
    tensor_name : str, optional
        Copy only the parametrizations of this tensor.

    Returns
    -------
    Module
        ``to_module``.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(_tables(from_module)) if tensor_name is None else [tensor_name]
    for name in names:
        source: Any = _tables(from_module)[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target: Any = _tables(to_module)[name]
        for original in (
            ["original"]
            if source.is_tensor
            else [f"original{place}" for place in range(source.ntensors)]
        ):
            setattr(target, original, getattr(source, original))
    return to_module


publish(__name__)
