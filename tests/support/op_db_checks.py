"""PyTorch's table of operators (`op_db`) run here: samples, gradients and error inputs.

An entry passes a check if all its samples do. They are compared in float32, else in the first dtype
that PyTorch supports; gradients in float64, else in complex128.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from oracle.outcomes import Closeness, Comparison, Outcome, Seen, outcome, seen
from torch.testing._internal.common_methods_invocations import op_db
from torch_twins import Absent, function_twin, here, twin

import dovetail

CHECKS = ("forward", "gradients", "errors")

LEFT_OUT = {
    **dict.fromkeys(
        [
            "jiterator_unary",
            "jiterator_binary",
            "jiterator_binary_return_by_ref",
            "jiterator_4inputs_with_extra_args",
            "jiterator_2inputs_2outputs",
        ],
        "compiles CUDA",
    ),
    **dict.fromkeys(["to_sparse", "sparse.mm", "sparse.sampled_addmm"], "sparse layouts"),
    **dict.fromkeys(["torch._scaled_mm", "torch._scaled_mm_v2"], "needs 8-bit floats"),
    **dict.fromkeys(
        ["torch.ops.aten._flash_attention_forward", "torch.ops.aten._efficient_attention_forward"],
        "CUDA alone",
    ),
}
"""Entries that make no sense here, with the reason."""

RANDOM = frozenset(
    [
        "bernoulli",
        "cauchy",
        "exponential",
        "geometric",
        "log_normal",
        "multinomial",
        "normal",
        "nn.functional.alpha_dropout",
        "nn.functional.dropout",
        "nn.functional.dropout2d",
        "nn.functional.dropout3d",
        "nn.functional.feature_alpha_dropout",
        "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d",
        "nn.functional.rrelu",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "svd_lowrank",
        "pca_lowrank",
        "uniform",
        "nn.functional.multi_head_attention_forward",
        "nn.functional.scaled_dot_product_attention",
    ]
)
"""Entries whose results are drawn: compared by shape and dtype."""

UNINITIALISED = frozenset(
    ["empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"]
)

TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 4e-5, "complex64": 4e-5}
"""How far results of a dtype may lie apart; others by a ten-millionth."""


class Different(Exception):
    """Says what differs from PyTorch."""


@dataclass(frozen=True)
class Check:
    """What one check of one entry gave.

    Attributes
    ----------
    entry
        Name of the entry, with its variant.
    check
        One of `CHECKS`.
    passed, count
        How many of its samples passed, of how many.
    reason
        Why the first that did not pass did not.
    """

    entry: str
    check: str
    passed: int
    count: int
    reason: str = ""

    @property
    def is_passed(self) -> bool:
        """Whether all samples passed."""
        return self.passed == self.count


def name_of(entry: Any) -> str:
    """Return the name of an entry with its variant: ``linalg.lstsq.grad_oriented``."""
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def family_of(entry: Any) -> str:
    """Return the family of an entry: the namespace of its function, else ``torch``."""
    return entry.name.rpartition(".")[0] or "torch"


@functools.cache
def entries() -> dict[str, Any]:
    """Return the entries of the table that make sense here, by name."""
    return {name_of(entry): entry for entry in op_db if entry.name not in LEFT_OUT}


def run(name: str, check: str) -> Check | None:
    """Run one check of an entry; None where the entry has nothing to check."""
    entry = entries()[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return _RUNNERS[check](name, entry)


# -- what is called --------------------------------------------------------------------------------


def _function(entry: Any) -> Callable[..., Any]:
    """Return the function of an entry here.

    Raises
    ------
    Absent
        If there is none.
    """
    try:
        return function_twin(entry.op)
    except Absent:
        return here(entry.name)


def counted(name: str, check: str, samples: Iterator[Any], one: Callable[[Any], None]) -> Check:
    passed = count = 0
    reason = ""
    for sample in samples:
        count += 1
        try:
            one(sample)
            passed += 1
        except Exception as error:
            text = (
                str(error) if isinstance(error, Different) else f"{type(error).__name__}: {error}"
            )
            reason = reason or f"sample {count}: {text}"
    return Check(name, check, passed, count, reason)


def _guarded(name: str, check: str, entry: Any, samples: Iterator[Any], one: Any) -> Check:
    """Run the samples of an entry; none passes where its function is not here."""
    try:
        function = _function(entry)
    except Absent as missing:
        return Check(name, check, 0, sum(1 for _ in samples), f"there is no {missing}")
    return counted(name, check, samples, functools.partial(one, entry, function))


# -- results ---------------------------------------------------------------------------------------


def _forward(name: str, entry: Any) -> Check | None:
    dtypes = entry.supported_dtypes("cpu")
    if not dtypes:
        return None
    dtype = torch.float32 if torch.float32 in dtypes else sorted(dtypes, key=str)[0]
    samples = entry.sample_inputs("cpu", dtype, requires_grad=False)
    return _guarded(name, "forward", entry, samples, _same_results)


def _same_results(entry: Any, function: Any, sample: Any) -> None:
    ours = _called(function, twin_of(sample))
    theirs = _called(entry.op, sample)
    compare(
        function_twin(sample.output_process_fn_grad)(ours),
        sample.output_process_fn_grad(theirs),
        values=entry.name not in RANDOM | UNINITIALISED,
    )


def twin_of(sample: Any) -> Any:
    """Return a sample with tensors of Dovetail."""
    own, args, kwargs = twin((sample.input, sample.args, sample.kwargs))
    made = type(sample)(own, args=args, kwargs=kwargs)
    made.output_process_fn_grad = sample.output_process_fn_grad
    return made


def _called(function: Any, sample: Any) -> Any:
    return function(sample.input, *sample.args, **sample.kwargs)


def compare(ours: Any, theirs: Any, *, values: bool = True, loose: float = 1.0) -> None:
    """Compare results.

    Raises
    ------
    Different
        If structure, types, dtypes, shapes or values differ.
    """

    def close(dtype: str) -> Closeness:
        most = TOLERANCES.get(dtype, 1e-7) * loose
        # Numbers that cancel in a tensor are as exact as the greatest of them.
        return Closeness(most, most, of_largest=dtype not in ("float", "complex"))

    comparison = Comparison("PyTorch", close)
    if text := comparison.difference(observed(ours, values), observed(theirs, values)):
        raise Different(text)


def observed(value: Any, values: bool = True) -> Any:
    """Return what is compared of a result; of complex numbers that are not finite, only that."""
    if isinstance(value, dict):
        return [(key, observed(each, values)) for key, each in value.items()]
    if isinstance(value, list | tuple):
        plain = tuple if isinstance(value, tuple) else list
        return plain([observed(each, values) for each in value])
    if isinstance(value, torch.Tensor | dovetail.Tensor):
        found = seen(value)
    elif isinstance(value, float | complex):
        found = Seen(type(value).__name__, (), np.array(value))
    else:
        kind = type(value).__name__
        return kind, str(value).rpartition(".")[2] if kind == "dtype" else value
    if found.values.dtype.kind == "c":
        found.values[~np.isfinite(found.values)] = np.nan
    return found if values else replace(found, values=None)


# -- gradients -------------------------------------------------------------------------------------


def _gradients(name: str, entry: Any) -> Check | None:
    if not entry.supports_autograd:
        return None
    dtypes = entry.supported_backward_dtypes("cpu") & entry.supported_dtypes("cpu")
    wide = [each for each in (torch.float64, torch.complex128, torch.float32) if each in dtypes]
    if not wide:
        return None
    samples = entry.sample_inputs("cpu", wide[0], requires_grad=True)
    return _guarded(name, "gradients", entry, samples, _same_gradients)


def _same_gradients(entry: Any, function: Any, sample: Any) -> None:
    own = twin_of(sample)
    ours = _backward(dovetail, function, own, function_twin(sample.output_process_fn_grad))
    theirs = _backward(torch, entry.op, sample, sample.output_process_fn_grad)
    loose = 1000.0 if entry.name == "cov" else 10.0  # by weights in float32, which nearly cancel
    compare(ours, theirs, values=entry.name not in RANDOM, loose=loose)


def _backward(lib: Any, function: Any, sample: Any, process: Any) -> list[Any]:
    """Return the gradients of the leaves among the arguments, None where there is none."""
    outputs = [each for each in flat(lib, process(_called(function, sample))) if each.requires_grad]
    leaves = [
        each
        for each in flat(lib, [sample.input, sample.args, sample.kwargs])
        if each.requires_grad and each.is_leaf
    ]
    if not outputs:
        return [None] * len(leaves)
    seeds = [seed_of(lib, each) for each in outputs]
    return list(lib.autograd.grad(outputs, leaves, seeds, allow_unused=True))


def seed_of(lib: Any, output: Any) -> Any:
    """Return a gradient of an output that is no constant."""
    steps = [math.cos(1.0 + 0.7 * place) for place in range(output.numel())]
    return lib.tensor(steps, dtype=lib.float64).reshape(tuple(output.shape)).to(output.dtype)


def flat(lib: Any, value: Any) -> list[Any]:
    """Return the tensors in nested lists, tuples and dicts."""
    if isinstance(value, lib.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return []
    return [tensor for each in value for tensor in flat(lib, each)]


# -- errors ----------------------------------------------------------------------------------------


def _errors(name: str, entry: Any) -> Check | None:
    if entry.error_inputs_func is None:
        return None
    # PyTorch's own references refuse more than its operators.
    refused = [each for each in entry.error_inputs("cpu") if _tried(entry.op, each).error]
    return _guarded(name, "errors", entry, iter(refused), _same_error)


def _tried(function: Any, refused: Any) -> Outcome:
    return outcome(lambda: _called(function, refused.sample_input))


def _same_error(entry: Any, function: Any, refused: Any) -> None:
    comparison = Comparison(
        "reference",
        same_error=lambda mine, other: isinstance(mine, (type(other), refused.error_type)),
    )
    own = twin_of(refused.sample_input)
    _, text = comparison.of(outcome(lambda: _called(function, own)), _tried(entry.op, refused))
    if text:
        raise Different(text)


_RUNNERS: dict[str, Callable[[str, Any], Check | None]] = {
    "forward": _forward,
    "gradients": _gradients,
    "errors": _errors,
}
