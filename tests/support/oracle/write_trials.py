"""Trials of operators that write to their first argument, inside `vmap` and `functionalize`."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dovetail
from dovetail.testing import OpInfo, SampleInput, op_infos
from dovetail_dispatcher import Operator

from .levels import Leaves, Level
from .op_info_trials import batched, drawn_level, nesting_of, results
from .trials import Trial

__all__ = ["names", "writing_trial"]

NESTINGS = (
    *[("vmap",), ("functionalize",), ("vmap", "vmap")],
    *[("vmap", "functionalize"), ("functionalize", "vmap")],
    *[("grad", "vmap"), ("jvp", "vmap"), ("backward", "vmap")],
    *[("vmap", "grad"), ("vmap", "jvp")],
    *[("grad", "functionalize"), ("jvp", "functionalize"), ("backward", "functionalize")],
    *[("functionalize", "grad"), ("functionalize", "jvp"), ("functionalize", "jvp", "grad")],
    *[("vmap", "functionalize", "grad"), ("jvp", "functionalize", "vmap")],
)
DIFFERENTIAL = ("grad", "jvp", "backward")
SIZE = 80

Target = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]
"""``(make, view)``: ``make(lib, x)`` returns a new tensor, ``view(base, x)`` the part of it that is
written, which has the shape of `x`.
"""
TARGETS: dict[str, Target] = {
    "a copy": (lambda lib, x: x.clone(), lambda base, x: base),
    "a product": (lambda lib, x: x * True, lambda base, x: base),  # of the same dtype
    "an entry": (lambda lib, x: lib.stack([x, x]), lambda base, x: base[1]),
    "a squeezed view": (lambda lib, x: x.clone().unsqueeze(0), lambda base, x: base.squeeze(0)),
    "a transposed view": (
        lambda lib, x: x.mT.clone() if x.ndim > 1 else x.clone(),
        lambda base, x: base.mT if x.ndim > 1 else base,
    ),
    "a reshaped view": (
        lambda lib, x: x.reshape(-1).clone(),
        lambda base, x: base.view(tuple(x.shape)),
    ),
    "an expanded view": (lambda lib, x: x.clone().expand(1, *x.shape), lambda base, x: base[0]),
}


@functools.cache
def writing() -> dict[str, tuple[OpInfo, Operator]]:
    """Return the operators that write to their first argument, with the `OpInfo` of samples."""
    found: dict[str, tuple[OpInfo, Operator]] = {}
    for info in op_infos("aten"):
        for operator in (info.operator, *info.operator.variants):
            arguments = operator.schema.arguments
            if not arguments or not arguments[0].is_write or arguments[0].is_out or info.is_random:
                continue
            if any(each.is_out for each in arguments):
                continue
            found.setdefault(str(operator.handle), (info, operator))
    return dict(sorted(found.items()))


@functools.cache
def fitting_samples(name: str, dtype: Any) -> list[SampleInput]:
    """Return the small samples of an operator that it takes in place."""
    info, operator = writing()[name]
    if dtype not in info.dtypes:
        return []
    found = []
    for sample in info.sample_inputs(dovetail.device("cpu"), dtype):
        tensors = sample.tensors()
        if not isinstance(sample.input, dovetail.Tensor) or not tensors:
            continue
        if sum([each.numel() for each in tensors]) > SIZE:
            continue
        try:
            results(operator.handle, sample.transform(lambda tensor: tensor.detach().clone()))
        except Exception:  # refused in place: the result has another shape or dtype
            continue
        found.append(sample)
    return found


def names() -> list[str]:
    """Return the names of the operators that write to their first argument."""
    return list(writing())


def writing_trial(name: str, turn: int) -> Trial | None:
    """Return an operator that writes, under one of the nestings, on a copy, a view or a leaf."""
    _, operator = writing()[name]
    r = random.Random(f"write {name} {turn}")
    kinds = nesting_of(name, turn * 5, NESTINGS)
    differentiated = [each for each in kinds if each in DIFFERENTIAL]
    dtypes = [dovetail.float64] * 4 + [dovetail.complex128]
    if not differentiated:
        dtypes += [dovetail.int64, dovetail.bool, dovetail.float32, dovetail.int32]
    r.shuffle(dtypes)
    sampled = [fitting_samples(name, each) for each in dtypes]
    found = next((each for each in sampled if each), None)
    if not found:
        return None
    number = r.randrange(len(found))
    sample = found[number]
    tensors = sample.tensors()
    values = [each.detach().resolve_conj().numpy().copy() for each in tensors]
    varied = [place for place, each in enumerate(values) if each.dtype.kind in "fc"]
    if differentiated and (0 not in varied or name.startswith("aten.set_")):
        return None  # `set_` shows another tensor: it has no derivative
    levels = tuple([_level(kind, varied, len(tensors), r) for kind in kinds])
    in_memory = name.startswith("aten.as_strided_")
    if in_memory:  # offsets of memory are those of an entry in `vmap` alone
        levels = tuple([replace(each, dim=0) for each in levels])
    batched(values, levels)
    tags = str(operator.tags)
    # A write to the leaf itself reaches the tensor of the caller.
    is_same_size = "inplace_view" not in tags and not name.startswith("aten.resize_")
    direct = not differentiated and is_same_size and r.random() < 0.3
    target = "a copy" if in_memory else r.choice(sorted(TARGETS))
    direct = direct and not in_memory

    def body(lib: Any, leaves: Leaves) -> list[Any]:
        make, view = TARGETS[target]
        base = leaves[0] if direct else make(lib, leaves[0])
        written = leaves[0] if direct else view(base, leaves[0])
        remaining = iter([written, *leaves[1:]])
        made = sample.transform(lambda tensor: next(remaining))
        returned = [each for each in results(operator.handle, made) if isinstance(each, lib.Tensor)]
        return [base * 1, written * 1, *[each * 1 for each in returned]]

    text = f"sample {number} {sample} writes to {'the leaf' if direct else target}"
    return Trial(name, body, tuple(values), levels, watched=direct, text=text)


def _level(kind: str, varied: list[int], count: int, r: random.Random) -> Level:
    """Return a level. `vmap` and `functionalize` take the written leaf: they refuse to write to
    captured tensors.
    """
    level = drawn_level("vmap" if kind == "functionalize" else kind, varied, count, r)
    writes = kind in ("vmap", "functionalize")
    leaves = tuple(sorted({0, *level.leaves})) if writes else level.leaves
    return Level(kind, leaves, level.seed, level.dim)
