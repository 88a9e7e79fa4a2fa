"""Samples of operators for PyTorch, and outcomes of calls that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from call_values import TOLERANCES, name_of
from oracle.outcomes import numbers

import dovetail
from dovetail.testing import OpInfo, SampleInput

REFUSED = (RuntimeError, IndexError)
"""Which of them it is for two faults at once is the affair of each operator; NotImplementedError
is a RuntimeError.
"""


def torch_operator(torch: Any, info: OpInfo) -> Any:
    """Return PyTorch's overload, or None."""
    base, _, overload = info.name.partition("::")[2].partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return None if packet is None else getattr(packet, overload or "default", None)


def torch_tensor(torch: Any, tensor: Any) -> Any:
    """Return a tensor of PyTorch with the same values, strides and `requires_grad`."""
    size = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n)
    memory = torch.zeros(size, dtype=getattr(torch, name_of(tensor.dtype)))
    made = memory.as_strided(tuple(tensor.shape), tensor.stride())
    values = tensor.detach()
    if name_of(tensor.dtype) == "bfloat16":
        values = values.to(dovetail.float32)
    source = torch.from_numpy(np.array(values.cpu().numpy()))
    own = made
    for dim, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.shape[dim] > 1:  # expanded: written once
            own, source = own.narrow(dim, 0, 1), source.narrow(dim, 0, 1)
    if tensor.numel():
        own.copy_(source)
    return made.detach().requires_grad_(tensor.requires_grad)


def as_torch(torch: Any, sample: SampleInput) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a sample for PyTorch."""

    def convert(value: Any) -> Any:
        if isinstance(value, dovetail.dtype | dovetail.memory_format | dovetail.layout):
            return getattr(torch, name_of(value))
        return torch.device("cpu") if isinstance(value, dovetail.device) else value

    made = sample.transform(lambda tensor: torch_tensor(torch, tensor))
    return [convert(value) for value in made.arguments], {
        name: convert(value) for name, value in made.kwargs.items()
    }


def results_of(lib: Any, result: Any) -> list[Any]:
    several = result if isinstance(result, list | tuple) else [result]
    return [each for each in several if isinstance(each, lib.Tensor)]


def outcome(lib: Any, operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the error, or (dtype, shape, requires_grad, values) of the results, and the gradients
    of the leaves.
    """
    flat = [
        each
        for value in (*args, *kwargs.values())
        for each in (value if isinstance(value, list | tuple) else [value])
    ]
    leaves = [each for each in flat if isinstance(each, lib.Tensor) and each.requires_grad]
    try:
        result = operator(*args, **kwargs)
    except Exception as error:
        return error
    results = results_of(lib, result)
    described = [
        (name_of(each.dtype), tuple(each.shape), each.requires_grad, numbers(each))
        for each in results
    ]
    if not results:
        described = [(type(result).__name__, (), False, np.asarray(result))]
    outputs = [each for each in results if each.requires_grad]
    if not outputs:
        return described, []
    try:
        seeds = [lib.ones_like(each) for each in outputs]
        grads = lib.autograd.grad(outputs, leaves, seeds, allow_unused=True)
        return described, [
            each if each is None else (tuple(each.shape), numbers(each)) for each in grads
        ]
    except RuntimeError as error:
        return described, error


def close(ours: Any, theirs: Any, dtype: str, factor: float = 1.0) -> bool:
    """Say whether values agree up to rounding; of complex ones only which are finite, and those."""
    tolerance = TOLERANCES.get(dtype, 0.0) * factor
    with np.errstate(all="ignore"):
        if ours.dtype.kind == "c" or theirs.dtype.kind == "c":
            finite = np.isfinite(theirs)
            return bool((np.isfinite(ours) == finite).all()) and np.allclose(
                ours[finite], theirs[finite], tolerance, tolerance
            )
        return np.allclose(ours, theirs, tolerance, tolerance, equal_nan=True)


def difference(ours: Any, theirs: Any, *, corners: bool, values: bool = True) -> str:
    """Return how two outcomes differ, or nothing.

    `corners`: also in which calls are errors, and in gradients; `values`: not only in shapes and
    dtypes.
    """
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        both = isinstance(ours, REFUSED) and isinstance(theirs, REFUSED)
        same = type(ours) is type(theirs) or both
        return "" if same or not corners else f"{ours!r:.300} instead of {theirs!r:.300}"
    if len(ours[0]) != len(theirs[0]):
        return f"{len(ours[0])} results instead of {len(theirs[0])}"
    for mine, other in zip(ours[0], theirs[0], strict=True):
        if mine[:3] != other[:3]:
            return f"{mine[:3]} instead of {other[:3]}"
        if values and not close(mine[3], other[3], mine[0]):
            return f"{mine[0]} {mine[3].tolist()} instead of {other[3].tolist()}"
    if not corners or not values:
        return ""
    if isinstance(ours[1], Exception) or isinstance(theirs[1], Exception):
        same = type(ours[1]) is type(theirs[1])
        return "" if same else f"gradients: {ours[1]!r:.300} instead of {theirs[1]!r:.300}"
    names = [each[0] for each in ours[0]]
    dtype = max(names, key=lambda name: TOLERANCES.get(name, 0.0), default="float64")
    for mine, other in zip(ours[1], theirs[1], strict=True):
        if (mine is None) != (other is None):
            return f"gradient {mine} instead of {other}"
        if mine is not None and (mine[0] != other[0] or not close(mine[1], other[1], dtype, 10)):
            return f"gradient {mine[1].tolist()} instead of {other[1].tolist()}"
    return ""
