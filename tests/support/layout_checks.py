"""Strides of results beside PyTorch's: the samples of its table of operators (`op_db`) with images
and volumes in channels_last, and with every tensor in a memory order of its own.

An entry passes a check if all its samples do: of results (also of the in-place form) or of
gradients, whose values are compared too.
"""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from op_db_checks import (
    RANDOM,
    UNINITIALISED,
    Check,
    Different,
    compare,
    counted,
    entries,
    family_of,
    flat,
    seed_of,
    twin_of,
)
from oracle.outcomes import steps
from torch_twins import Absent, function_twin, here

import dovetail

__all__ = ["CHECKS", "Check", "entries", "family_of", "run"]

CHECKS = ("channels_last", "permuted", "channels_last gradients", "permuted gradients")

MOST = 40
"""Samples of an entry that are tried."""


def run(name: str, check: str) -> Check | None:
    """Run one check of an entry; None where the entry has nothing to check."""
    entry = entries()[name]
    arrangement, _, of_gradients = check.partition(" ")
    dtypes = entry.supported_dtypes("cpu")
    if of_gradients:
        dtypes = dtypes & entry.supported_backward_dtypes("cpu")
    wanted = (torch.float32, torch.complex64, *([] if of_gradients else sorted(dtypes, key=str)))
    dtype = next((each for each in wanted if each in dtypes), None)
    if dtype is None or (of_gradients and not entry.supports_autograd):
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            functions = list(_functions(entry))
        except Absent:
            return None  # which the checks of `op_db` say
        samples = entry.sample_inputs("cpu", dtype, requires_grad=bool(of_gradients))
        rearrange = partial(_ARRANGEMENTS[arrangement], random.Random(f"{name} {check}"))
        changed = _rearranged(islice(samples, MOST), rearrange)
        if of_gradients:
            return counted(name, check, changed, partial(_same_gradients, entry, *functions[0]))
        return counted(name, check, changed, partial(_same_results, entry, functions))


def _functions(entry: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the function of an entry and its in-place form that are here, before PyTorch's."""
    try:
        yield function_twin(entry.op), entry.op
    except Absent:
        yield here(entry.name), entry.op
    if entry.inplace_variant is not None and entry.name not in RANDOM:
        with contextlib.suppress(Absent):
            yield function_twin(entry.inplace_variant), entry.inplace_variant


# -- arrangements ----------------------------------------------------------------------------------


def _in_channels_last(_chosen: random.Random, tensor: Any) -> Any:
    if tensor.ndim not in (4, 5):
        return tensor
    name = "channels_last" if tensor.ndim == 4 else "channels_last_3d"
    return tensor.clone(memory_format=getattr(torch, name))


def _permuted(chosen: random.Random, tensor: Any) -> Any:
    """Copy a tensor into a memory order of its own, at times with gaps."""
    if tensor.ndim < 2 or chosen.random() < 0.25:
        return tensor
    strides, step = [0] * tensor.ndim, 1
    for dim in chosen.sample(range(tensor.ndim), tensor.ndim):
        strides[dim] = step
        step *= max(tensor.shape[dim], 1) + (chosen.random() < 0.1)
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)


_ARRANGEMENTS: dict[str, Callable[[random.Random, Any], Any]] = {
    "channels_last": _in_channels_last,
    "permuted": _permuted,
}


def _rearranged(samples: Iterator[Any], rearrange: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield the samples in which the strides of a tensor change."""
    for sample in samples:
        changes: list[bool] = []

        def renewed(value: Any, changes: list[bool] = changes) -> Any:
            if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
                return value
            made = rearrange(value.detach())
            changes.append(made.stride() != value.stride())
            return made.detach().requires_grad_(value.requires_grad)

        made = sample.transform(renewed)
        if any(changes):
            yield made


# -- comparisons -----------------------------------------------------------------------------------


def _same_results(entry: Any, functions: list[tuple[Any, Any]], sample: Any) -> None:
    for function, model in functions:
        own, other = twin_of(sample), sample.transform(_copy)
        try:
            theirs = _called(model, other)
        except RuntimeError:
            continue  # PyTorch refuses views and writes of some layouts
        ours = _called(function, own)
        process = sample.output_process_fn_grad
        in_place = "in place: " if model is not entry.op else ""
        _compare_strides(in_place, flat(dovetail, ours), flat(torch, theirs))
        values = entry.name not in RANDOM | UNINITIALISED | {"resize_"}  # which has new memory here
        compare(function_twin(process)(ours), process(theirs), values=values)


def _copy(value: Any) -> Any:
    """Return a copy of a tensor with its strides, so that a write leaves the sample unchanged."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return value
    if any(n > 1 and not s for n, s in zip(value.shape, value.stride(), strict=True)):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)


def _called(function: Any, sample: Any) -> Any:
    return function(sample.input, *sample.args, **sample.kwargs)


def _same_gradients(entry: Any, function: Any, model: Any, sample: Any) -> None:
    try:
        theirs = _gradients(torch, model, sample, sample.output_process_fn_grad)
    except RuntimeError:
        return  # PyTorch refuses views of some layouts
    process = function_twin(sample.output_process_fn_grad)
    ours = _gradients(dovetail, function, twin_of(sample), process)
    _compare_strides("", ours, theirs)
    compare(ours, theirs, values=entry.name not in RANDOM, loose=100.0)


def _gradients(lib: Any, function: Any, sample: Any, process: Any) -> list[Any]:
    """Return what a backward gives the leaves, from gradients that lie in memory as the outputs."""
    outputs = [each for each in flat(lib, process(_called(function, sample))) if each.requires_grad]
    leaves = flat(lib, [sample.input, sample.args, sample.kwargs])
    seeds = [seed_of(lib, each) for each in outputs]
    like = [lib.empty_like(each).copy_(seed) for each, seed in zip(outputs, seeds, strict=True)]
    lib.autograd.backward(outputs, like)
    return [each.grad for each in leaves]


def _compare_strides(what: str, ours: list[Any], theirs: list[Any]) -> None:
    """Compare strides, of the dimensions that are stepped along."""
    found, expected = (
        [None if each is None else steps(each.shape, each.stride()) for each in tensors]
        for tensors in (ours, theirs)
    )
    if found != expected:
        shapes = [None if each is None else tuple(each.shape) for each in theirs]
        raise Different(f"{what}strides {found} instead of {expected} for {shapes}")
