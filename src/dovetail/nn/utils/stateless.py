"""Calling a module with replaced parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
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
    args: object = None,
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
    """Have a module hold other tensors for the block. A name to which the block assigns another
    tensor has that one in `parameters_and_buffers` afterwards.
    """
    tensors = given = parameters_and_buffers
    if strict or tie_weights:
        own = _own_tensors(module)
        if tie_weights:
            tensors = _tied(given, own)
        if strict:
            _check_names(module, tensors, own)
    with _replaced(module, tensors):
        try:
            yield
        finally:
            _return_assigned(module, given)


def _return_assigned(module: Module, given: Mapping[str, Tensor]) -> None:
    """Put parameters and buffers to which the module assigned other tensors into `given`."""
    assigned = {}
    for name, tensor in given.items():
        path, _, attribute = name.rpartition(".")
        owner = module.get_submodule(path)
        for table in (owner._parameters, owner._buffers):
            if table.get(attribute, tensor) is not tensor:
                assigned[name] = table[attribute]
    if assigned and isinstance(given, MutableMapping):
        given.update(assigned)


def _own_tensors(module: Module) -> dict[str, Tensor]:
    """Return the parameters and buffers under all their names, tied ones too."""
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))
    return own


def _check_names(module: Module, given: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    missing = sorted([name for name in own if name not in given])
    unexpected = sorted([name for name in given if name not in own])
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
        present = sorted([name for name in names if name in given])
        if len({id(given[name]) for name in present}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {present}, which are tied. "
                "Consider using tie_weights=False."
            )
        if present:
            found.update(dict.fromkeys(names, given[present[0]]))
    return found


@contextmanager
def _replaced(module: Module, tensors: Mapping[str, Any]) -> Iterator[None]:
    """Have the module hold `tensors` under their names for the block. Raises AttributeError if
    there is no module that a name says, and TypeError if a name stands for a value that is not a
    tensor.
    """
    with ExitStack() as undo:
        for name, tensor in tensors.items():
            path, _, attribute = name.rpartition(".")
            owner = module.get_submodule(path)
            tables: tuple[dict[str, Any], ...] = (owner._parameters, owner._buffers)
            holders = [table for table in tables if attribute in table]
            if not (isinstance(tensor, Tensor) or (holders and tensor is None)):
                raise TypeError(
                    f"{tensor} is not an instance of torch.Tensor. Pass a tensor as {name!r}."
                )
            for holder in holders:
                undo.callback(holder.__setitem__, attribute, holder[attribute])
                holder[attribute] = tensor
            if not holders:
                _assign(owner, attribute, tensors[name], undo)
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
