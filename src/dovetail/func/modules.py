"""Modules as functions of their parameters: `functional_call` and `stack_module_state`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor

from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils.stateless import _functional_call


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with replaced parameters and buffers.

    Parameters
    ----------
    module
        The module, which is restored afterwards. Writes of `forward` to a buffer go to the passed
        tensor; if `forward` assigns another tensor, the passed dict has that one afterwards.
    parameter_and_buffer_dicts
        Tensors by name, as in `named_parameters` and `named_buffers`: one dict, or a sequence of
        dicts without common names. Other parameters and buffers are unchanged.
    args
        The positional arguments: a tuple, or a single argument that is not a tuple. Default: none.
    kwargs
        The keyword arguments. Default: none.
    tie_weights
        Whether to replace a tensor with several names under all of them. Default: True.
    strict
        Raise an error unless exactly all parameters and buffers are passed. Default: False.

    Returns
    -------
    object
        The result of ``module(*args, **kwargs)``.

    Raises
    ------
    ValueError
        If the dicts are not dicts, have common names, or have different tensors for tied names.
    RuntimeError
        If `strict`, and names are missing or unknown.
    """
    given = _merged(parameter_and_buffer_dicts)
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the parameters and buffers of several models of the same class, stacked along a new
    first dimension.

    To call the whole ensemble, map a `functional_call` of one model over them with `vmap`.

    Parameters
    ----------
    models
        Modules of the same class, all in training or all in evaluation mode.

    Returns
    -------
    tuple
        ``(parameters, buffers)``: dicts by name of tensors without a graph; stacked parameters
        require grad if the originals do.

    Raises
    ------
    RuntimeError
        If there are no models, or if they differ in class or mode.
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


def _merged(dicts: object) -> Mapping[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dicts
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


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make all batch norms in a module, in place, use only the statistics of each batch: running
    statistics are written in place, which `vmap` does not permit.

    Parameters
    ----------
    root
        The module, which is also returned.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
