"""Calling a module with replaced parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from dovetail_aten import Tensor
from dovetail_kernel import warn_user

from ..modules.module import Module
from .parametrize import is_parametrized

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`dovetail.func.functional_call` under its old name; warns."""
    warn_user(
        "`dovetail.nn.utils.stateless.functional_call` is deprecated. Please use "
        "`dovetail.func.functional_call` instead, which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    args: object = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors; what `dovetail.func.functional_call` does with one dict."""
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: Mapping[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
) -> Iterator[None]:
    """Have a module hold other tensors for the block."""
    own = _own_tensors(module)
    if strict:
        _check_names(module, parameters_and_buffers, own)
    given = parameters_and_buffers
    with _replaced(module, _tied(given, own) if tie_weights else given):
        yield


def _own_tensors(module: Module) -> dict[str, Tensor]:
    """Return the parameters and buffers under all their names, tied ones too."""
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))
    return own


def _check_names(module: Module, given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    known = {id(own[name]) for name in given if name in own}
    missing = [
        name for name, tensor in own.items() if name not in given and id(tensor) not in known
    ]
    unexpected = [name for name in given if name not in own]
    lines = []
    if unexpected:
        lines.append(f"Unexpected key(s): {', '.join([repr(name) for name in unexpected])}.")
    if missing:
        lines.append(f"Missing key(s): {', '.join([repr(name) for name in missing])}.")
    if lines:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(lines)
        )


def _tied(given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return `given` with each tensor under all names that the module has for the one it
    replaces.
    """
    groups: dict[int, list[str]] = {}
    for name, tensor in own.items():
        groups.setdefault(id(tensor), []).append(name)
    found = dict(given)
    for names in groups.values():
        present = [name for name in names if name in given]
        if len({id(given[name]) for name in present}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {present}, which are tied. "
                "Consider using "
                "tie_weights=False"
            )
        if present:
            found.update(dict.fromkeys(names, given[present[0]]))
    return found


@contextmanager
def _replaced(module: Module, tensors: Mapping[str, Tensor]) -> Iterator[None]:
    """Have the module hold `tensors` under their names for the block.

    Raises
    ------
    AttributeError
        If there is no module that a name says.
    TypeError
        If a name stands for a value that is not a tensor.
    """
    modules = dict(module.named_modules(remove_duplicate=False))
    with ExitStack() as undo:
        for name, tensor in tensors.items():
            path, _, attribute = name.rpartition(".")
            if path not in modules:
                raise AttributeError(
                    f"{type(module).__name__} has no module `{path}`, which the name {name!r} asks "
                    "for. Its modules are those of named_modules()."
                )
            owner = modules[path]
            tables: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers)
            holders = [table for table in tables if attribute in table]
            for holder in holders:
                undo.callback(holder.__setitem__, attribute, holder[attribute])
                holder[attribute] = tensor
            if not holders:
                _assign(owner, attribute, tensor, undo)
        yield


def _assign(owner: Module, attribute: str, tensor: Tensor, undo: ExitStack) -> None:
    """Assign `tensor` to what is neither a parameter nor a buffer, as a parametrized tensor."""
    if not hasattr(owner, attribute):
        undo.callback(delattr, owner, attribute)
        setattr(owner, attribute, tensor)
        return
    before = getattr(owner, attribute)
    if not isinstance(before, Tensor):
        raise TypeError(
            f"attribute `{attribute}`: {before!r} is not an instance of Tensor. Give parameters, "
            "buffers and other tensors of the module alone."
        )
    if is_parametrized(owner, attribute):
        if tensor.requires_grad:
            raise RuntimeError(
                f"the gradient of the tensor for `{attribute}` would be lost: it is parametrized, "
                "and assigning to it computes its original in no_grad mode. Give the original: "
                f"`parametrizations.{attribute}.original`."
            )
        listed = getattr(owner.parametrizations, attribute)
        for original in (*listed.parameters(recurse=False), *listed.buffers(recurse=False)):
            undo.callback(setattr, original, "data", original.data)
    else:
        undo.callback(setattr, owner, attribute, before)
    setattr(owner, attribute, tensor)
