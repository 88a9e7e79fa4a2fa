# ruff: noqa: E501 - tables with a row per case read better unbroken
"""Every operator of the base library, called with random arguments, gives PyTorch's results,
gradients and errors.

`DOVETAIL_CALLS=500` makes more calls of each. What is not compared, and why, is in `DIFFERENT` and
in `outcome`.
"""

from __future__ import annotations

import math
import os
import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from operator_calls import Caller, TensorSpec, made

import dovetail
from dovetail_dispatcher.table import registry

CALLS = int(os.environ.get("DOVETAIL_CALLS", "12"))
TOLERANCE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 3e-5,
    "complex64": 1e-4,
    "float16": 4e-3,
}
REFUSED = (RuntimeError, IndexError)
"""Which of them it is for two faults at once is the affair of each operator; NotImplementedError is
a RuntimeError.
"""

NOT_CALLED = {
    **dict.fromkeys(
        [
            "rand",
            "randn",
            "randint",
            "randperm",
            "uniform_",
            "normal_",
            "bernoulli",
            "bernoulli_",
            "native_dropout",
            "dropout",
            "multinomial",
            "rand_like",
            "randn_like",
            "empty",
            "empty_strided",
            "empty_like",
            "new_empty",
        ],
        "random, or not initialized",
    ),
    **dict.fromkeys(
        [
            "index",
            "index_put",
            "index_put_",
            "index_select",
            "index_add",
            "index_add_",
            "gather",
            "scatter",
            "scatter_",
            "scatter_add",
            "scatter_add_",
            "take",
            "embedding",
            "one_hot",
            "nll_loss",
            "nll_loss_nd",
            "nll_loss_forward",
            "cross_entropy_loss",
            "layer_norm",
            "native_layer_norm",
            "einsum",
            "linear",
            "pad",
            "as_strided",
        ],
        "needs arguments that fit each other: the tests of indexing, composites and derivatives "
        "call it",
    ),
    **dict.fromkeys(["_local_scalar_dense", "item", "is_nonzero", "equal"], "gives a number"),
    "binary_cross_entropy_with_logits": "PyTorch broadcasts neither weights nor dtypes",
    "sum_to_size": "of a number PyTorch sums, which widens integers",
    "where": "the overloads that take numbers differ in PyTorch between function and method",
}
"""Operators without random calls, and why."""

DIFFERENT = {
    "addcdiv": "the gradient of an integer operand is not asked for",
    "addmm": "PyTorch accepts a fractional alpha of integers here and there",
    "addmv": "PyTorch accepts a fractional alpha of integers, and broadcasts a result of nothing otherwise",
    "addbmm": "PyTorch accepts a fractional alpha of integers here and there",
    "baddbmm": "PyTorch accepts a fractional alpha of integers here and there",
    "allclose": "PyTorch looks at the tolerances first",
    "clamp": "PyTorch clamps bools by one tensor, not by two or by numbers",
    "clip": "PyTorch clamps bools by one tensor, not by two or by numbers",
    "cumprod": "with dtype= of integers PyTorch refuses what requires grad",
    "cumsum": "with dtype= of bools PyTorch refuses",
    "prod": "with dtype= of integers PyTorch refuses what requires grad",
    "sum": "with dtype= of integers PyTorch refuses what requires grad",
    "logaddexp": "PyTorch has no gradient of a real operand beside a complex one",
    "linalg_vector_norm": "of order 0: zeros instead of no gradient",
    "norm": "of order 0: zeros instead of no gradient",
    "logsumexp": "over no dimensions PyTorch refuses most tensors",
    "mse_loss": "of operands that broadcast PyTorch divides the gradient by the wrong count",
    "smooth_l1_loss": "of operands that broadcast PyTorch divides the gradient by the wrong count",
    "std": "over no dimensions PyTorch's gradient is infinite",
    "var": "over no dimensions PyTorch's gradient is infinite",
    "silu": "PyTorch has no gradient of complex numbers",
    "nan_to_num": "PyTorch has no gradient of complex numbers",
    "pow": "PyTorch raises bools to the power of a bool number",
    "view": "as another dtype: PyTorch looks at strides that do not matter",
    "view_as_complex": "PyTorch has complex numbers of half precision",
    "sgn": "the gradient of PyTorch has no memory",
    "repeat": "PyTorch takes negative counts where another is zero",
    "tile": "PyTorch takes negative counts where another is zero",
    "masked_fill": "PyTorch refuses the gradient of a real number put among complex ones",
    "lerp": "PyTorch takes real weights of complex numbers",
    "softmax": "PyTorch takes any dtype where there is nothing",
    "log_softmax": "PyTorch takes any dtype where there is nothing",
    "mm": "PyTorch multiplies bools where there is nothing",
    "bmm": "PyTorch multiplies bools where there is nothing",
    "mv": "PyTorch multiplies bools where there is nothing",
    "inner": "PyTorch multiplies bools where there is nothing",
    "matmul": "PyTorch multiplies bools where there is nothing",
    "rsub": "a bool alpha equal to the default is not seen",
    "floor_divide": "the error of the missing derivative is a NotImplementedError",
}
"""Operators that differ in a corner, which is left out of what is compared; values are compared
where both give some.
"""


def operators() -> list[Any]:
    """Return the functional operators that are called."""
    found = [
        op
        for op in registry.all_operators()
        if op.namespace == "aten"
        and op.base_name not in NOT_CALLED
        and "backward" not in op.base_name
        and not op.base_name.startswith("_")
        and not any(a.is_out or a.is_write for a in op.schema.arguments)
    ]
    return sorted(found, key=lambda op: op.qualified_name)


def numbers(tensor: Any) -> Any:
    return np.array(tensor.detach().tolist())


def outcome(lib: Any, operator: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the error, or (dtype, shape, requires_grad, values) of the results and the gradients
    of the leaves.
    """
    ready, named = made(args, lib), {name: made(value, lib) for name, value in kwargs.items()}
    try:
        result = operator(*ready, **named)
    except Exception as error:
        return error
    results = [
        each
        for each in (result if isinstance(result, list | tuple) else [result])
        if isinstance(each, lib.Tensor)
    ]
    described = [
        (str(each.dtype).rpartition(".")[2], tuple(each.shape), each.requires_grad, numbers(each))
        for each in results
    ]
    flat = [each for value in ready for each in (value if isinstance(value, list) else [value])]
    leaves = [each for each in flat if isinstance(each, lib.Tensor) and each.requires_grad]
    outputs = [each for each in results if each.requires_grad]
    if not outputs:
        return described, []
    try:
        grads = lib.autograd.grad(
            outputs, leaves, [lib.ones_like(each) for each in outputs], allow_unused=True
        )
        return described, [
            each if each is None else (tuple(each.shape), numbers(each)) for each in grads
        ]
    except RuntimeError as error:
        return described, error


def close(ours: Any, theirs: Any, dtype: str, factor: float = 1.0) -> bool:
    tolerance = TOLERANCE.get(dtype, 0.0) * factor
    with np.errstate(all="ignore"):
        if ours.dtype.kind == "c" or theirs.dtype.kind == "c":
            finite = np.isfinite(theirs)
            return bool((np.isfinite(ours) == finite).all()) and np.allclose(
                ours[finite], theirs[finite], tolerance, tolerance
            )
        return np.allclose(ours, theirs, tolerance, tolerance, equal_nan=True)


def difference(ours: Any, theirs: Any, *, corners: bool) -> str:
    """Return how two outcomes differ; `corners`: also in which calls are errors, and in gradients."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        same = type(ours) is type(theirs) or (
            isinstance(ours, REFUSED) and isinstance(theirs, REFUSED)
        )
        return "" if same or not corners else f"{ours!r:.300} instead of {theirs!r:.300}"
    for mine, other in zip(ours[0], theirs[0], strict=True):
        if mine[:3] != other[:3]:
            return f"{mine[:3]} instead of {other[:3]}"
        if not close(mine[3], other[3], mine[0]):
            return f"{mine[0]} {mine[3].tolist()} instead of {other[3].tolist()}"
    if not corners:
        return ""
    if isinstance(ours[1], Exception) or isinstance(theirs[1], Exception):
        return (
            ""
            if type(ours[1]) is type(theirs[1])
            else f"gradients: {ours[1]!r:.300} instead of {theirs[1]!r:.300}"
        )
    dtype = max(
        [each[0] for each in ours[0]], key=lambda name: TOLERANCE.get(name, 0.0), default="float64"
    )
    for mine, other in zip(ours[1], theirs[1], strict=True):
        if (mine is None) != (other is None):
            return f"gradient {mine} instead of {other}"
        if mine is not None and (mine[0] != other[0] or not close(mine[1], other[1], dtype, 10)):
            return f"gradient {mine[1].tolist()} instead of {other[1].tolist()}"
    return ""


def is_sensible(name: str, args: list[Any]) -> bool:
    """Say whether PyTorch has the numbers: complex ones of half precision are of no dtype here.

    In single precision its gelu of infinity is NaN, and so is the power of 0 to some complex
    numbers.
    """
    tensors = [each for each in args if isinstance(each, TensorSpec)]
    if name == "gelu" and any(
        math.inf in each.values or -math.inf in each.values for each in tensors
    ):
        return False
    dtypes = {each.dtype for each in tensors}
    if name == "pow" and any(dtype.startswith("complex") for dtype in dtypes):
        return False
    return not (
        "float16" in dtypes and any(isinstance(each, complex) or each == math.inf for each in args)
    )


@pytest.mark.parametrize("op", operators(), ids=lambda op: op.qualified_name.removeprefix("aten::"))
def test_random_calls_of_the_operator_give_what_pytorch_gives(op: Any) -> None:
    name = op.qualified_name.removeprefix("aten::")
    ours = getattr(getattr(dovetail.ops.aten, op.base_name), op.overload or "default")
    theirs = getattr(getattr(torch.ops.aten, op.base_name), op.overload or "default")
    for seed in range(CALLS):
        args, kwargs = Caller(name, random.Random(f"{name} {seed}")).call(op.schema)
        if not is_sensible(op.base_name, [*args, *kwargs.values()]):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = outcome(dovetail, ours, args, kwargs), outcome(torch, theirs, args, kwargs)
        wrong = difference(*found, corners=op.base_name not in DIFFERENT)
        assert not wrong, f"{name}({args}, {kwargs}): {wrong}"


def with_keywords(op: Any) -> bool:
    """Say whether the operator is a public function of both libraries."""
    # PyTorch's split is a function in Python with names of its own.
    return op.base_name not in ("split", "binary_cross_entropy_with_logits") and all(
        hasattr(lib, op.base_name) for lib in (dovetail, torch)
    )


@pytest.mark.parametrize(
    "op",
    [op for op in operators() if with_keywords(op)],
    ids=lambda op: op.qualified_name.removeprefix("aten::"),
)
def test_the_function_takes_the_keywords_that_pytorchs_takes(op: Any) -> None:
    name = op.qualified_name.removeprefix("aten::")
    for seed in range(3):
        args, kwargs = Caller(name, random.Random(f"{name} {seed}")).call(op.schema)
        names = [a.name for a in op.schema.arguments]
        named = dict(zip(names, args, strict=False)) | kwargs
        if isinstance(named.get("self"), TensorSpec):
            named["input"] = named.pop("self")
        outcomes = []
        for lib in (dovetail, torch):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    getattr(lib, op.base_name)(
                        **{key: made(value, lib) for key, value in named.items()}
                    )
                except Exception as error:
                    outcomes.append(isinstance(error, TypeError))
                else:
                    outcomes.append(False)
        assert outcomes[0] == outcomes[1], f"{op.base_name}(**{list(named)})"
