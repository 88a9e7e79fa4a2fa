"""Modules as functions of their parameters: `functional_call` and `stack_module_state`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dovetail_aten as aten
from dovetail_aten import Tensor

if TYPE_CHECKING:
    from ..nn.module import Module

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers in place of its own.

    Parameters
    ----------
    module
        The module; afterwards it is as it was. A buffer that `forward` writes in place is written
        in the tensor given.
    parameter_and_buffer_dicts
        Tensors by name, as `named_parameters` and `named_buffers` give them: one dict, or a
        sequence of dicts without common names. What has no name there keeps its own.
    args
        The positional arguments: a tuple, or one that is no tuple. Default: none.
    kwargs
        The keyword arguments. Default: none.
    tie_weights
        A tensor that the module has under several names is replaced under all of them. Default:
        True.
    strict
        Raise unless every parameter and buffer is given, and nothing else. Default: False.

    Returns
    -------
    object
        What ``module(*args, **kwargs)`` returns.

    Raises
    ------
    ValueError
        If the dicts are none, have a name in common, or give different tensors for one that is
        tied.
    RuntimeError
        If `strict`, and names are missing or unknown.
    """
    given = _merged(parameter_and_buffer_dicts)
    own = _own_tensors(module)
    if strict:
        _check_names(module, given, own)
    replacements = _tied(given, own) if tie_weights else given
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, replacements):
        return module(*positional, **(kwargs or {}))


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and the buffers of several models of one class, each stacked along a
    new first dimension.

    Mapping a `functional_call` of one of the models over them with `vmap` calls the whole ensemble.

    Parameters
    ----------
    models
        Modules of the same class, all in training or all in evaluation mode.

    Returns
    -------
    tuple
        ``(parameters, buffers)``: by name, tensors without graph; those of parameters require grad
        as theirs did.

    Raises
    ------
    RuntimeError
        If there is no model, or they differ in class or mode.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not all([m.training for m in models]) and any([m.training for m in models]):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any([type(m) is not type(models[0]) for m in models]):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {name: _stacked([each[name] for each in parameters]) for name in parameters[0]},
        {name: _stacked([each[name] for each in buffers]) for name in buffers[0]},
    )


def _stacked(tensors: list[Tensor]) -> Tensor:
    flags = {tensor.requires_grad for tensor in tensors}
    if len(flags) > 1:
        raise RuntimeError(
            "stack_module_state: Expected each parameter to have the same .requires_grad in all "
            "models, which they "
            "have not. Call requires_grad_() on all of them."
        )
    stacked = aten.stack(tensors).detach()
    stacked.requires_grad = flags.pop()
    return stacked


def _merged(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, (list, tuple)) or not all(
        [isinstance(each, Mapping) for each in dicts]
    ):
        kind = (
            type(dicts) if not isinstance(dicts, (list, tuple)) else [type(each) for each in dicts]
        )
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{kind}"
        )
    names = [name for each in dicts for name in each]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for each in dicts for name, tensor in each.items()}


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
    """Have the module hold `tensors` under their names for the block; names that it has not are
    passed over.
    """
    modules = dict(module.named_modules(remove_duplicate=False))
    undo: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for name, tensor in tensors.items():
            path, _, attribute = name.rpartition(".")
            owner = modules.get(path)
            holders: tuple[dict[str, Any], ...] = (
                () if owner is None else (owner._parameters, owner._buffers)
            )
            for holder in holders:
                if attribute in holder:
                    undo.append((holder, attribute, holder[attribute]))
                    holder[attribute] = tensor
        yield
    finally:
        for holder, attribute, before in reversed(undo):
            holder[attribute] = before
