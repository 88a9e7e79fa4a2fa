"""When lazy tensors are computed, and a drawing of what is to be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import dask

import dovetail
from dovetail_aten.backend import ready_backend
from dovetail_dispatcher.calls import replace
from dovetail_kernel import TensorBase, wrap

from .error_state import computed, persisted

_HOLDERS = (TensorBase, dovetail.nn.Module, dovetail.optim.Optimizer, Mapping, list, tuple)


def compute(*values: Any, **options: Any) -> Any:
    """Compute tensors on device ``dask`` together, and return them on the cpu.

    What several of them need is computed once: ask for a loss and its gradients in one call.

    Parameters
    ----------
    values
        Tensors, or dicts, lists and tuples of them; all else is returned as it is.
    options
        Of `dask.compute`, such as ``scheduler="synchronous"``. By default the threads of this
        process compute, or the `distributed.Client` that there is.

    Returns
    -------
    Any
        One value for one, a tuple for several.
    """
    tensors = _lazy_tensors(values)
    arrays = computed(*[each.array for each in tensors], **options)
    cpu = ready_backend("cpu")
    known = {
        id(tensor): wrap(cpu.arrays.asarray(array), cpu)
        for tensor, array in zip(tensors, arrays, strict=True)
    }
    made = tuple(_replaced(each, known) for each in values)
    return made[0] if len(made) == 1 else made


def persist(*values: Any, **options: Any) -> None:
    """Compute tensors on device ``dask``, and let them hold the result from now on, chunk by chunk
    where it was computed: in this process, or on the workers of a cluster.

    Call it once a step for what outlives the step. Without it, the graph of the parameters contains
    all steps there were, and every value asked for computes them all.

    Parameters
    ----------
    values
        Tensors, modules, optimizers, or dicts, lists and tuples of them. Of a module it is the
        parameters, their gradients and the buffers; of an optimizer its parameters and its state.
    options
        Of `dask.persist`.

    Raises
    ------
    TypeError
        For a value that can hold no tensor.
    """
    for each in values:
        if not isinstance(each, _HOLDERS):
            raise TypeError(
                f"persist takes tensors, modules, optimizers, and dicts, lists and tuples of them, "
                f"not {type(each).__name__}. Give it what is to hold the result."
            )
    tensors = _lazy_tensors(values)
    gradients = [each.grad for each in tensors if each.is_leaf and each.grad is not None]
    tensors += _lazy_tensors(gradients)
    arrays = persisted(*[each.array for each in tensors], **options)
    for tensor, array in zip(tensors, arrays, strict=True):
        replace(tensor, array)


def visualize(
    *values: Any, filename: str | None = "dovetail", optimize_graph: bool = False, **options: Any
) -> Any:
    """Draw the tasks that computing tensors on device ``dask`` would run, by Graphviz.

    Parameters
    ----------
    values
        As for `compute`.
    filename
        Of the picture, without or with ``.svg`` or ``.png``; None for none.
    optimize_graph
        Whether tasks are drawn as they are fused before they run.
    options
        Of `dask.visualize`.
    """
    arrays = [each.array for each in _lazy_tensors(values)]
    return dask.visualize(*arrays, filename=filename, optimize_graph=optimize_graph, **options)


def _lazy_tensors(values: object) -> list[Any]:
    """Return the tensors on device ``dask`` in some values, each once."""
    found = {id(each): each for each in _tensors(values) if each.device.type == "dask"}
    return list(found.values())


def _tensors(value: object) -> Iterator[Any]:
    """Yield the tensors in a value."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, dovetail.nn.Module):
        yield from _tensors([*value.parameters(), *value.buffers()])
    elif isinstance(value, dovetail.optim.Optimizer):
        yield from _tensors([group["params"] for group in value.param_groups])
        yield from _tensors(list(value.state.values()))
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)


def _replaced(value: object, known: Mapping[int, object]) -> Any:
    """Return a value with its lazy tensors replaced by what was computed of them."""
    if isinstance(value, Mapping):
        return {key: _replaced(each, known) for key, each in value.items()}
    if isinstance(value, list | tuple):
        made = [_replaced(each, known) for each in value]
        return type(value)._make(made) if hasattr(value, "_make") else type(value)(made)
    return known.get(id(value), value)
