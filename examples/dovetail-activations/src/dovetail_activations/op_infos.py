"""Samples of the operators, in both namespaces: what every check of `dovetail.testing` runs on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import dovetail
from dovetail.testing import (
    ErrorInput,
    OpInfo,
    SampleInput,
    Skip,
    TensorMaker,
    all_types_and_complex_and,
    floating_and_complex_types_and,
)

REFERENCES = {
    "squareplus": lambda x, b: (x + np.sqrt(x * x + b)) / 2,
    "snake": lambda x, a: x + np.sin(a * x) ** 2 / a,
}
"""The published formulas."""

COMPOSED = ("activations_custom", "squareplus")
"""What is written with Tensor operations alone takes what these take."""

TWO_KERNELS = ("activations_custom", "snake")
"""Composed as well, but for the cpu there is a kernel that goes by NumPy."""

INEXACT = floating_and_complex_types_and(dovetail.float16)
BOOLS = (Skip("reference", "a product of bools is a bool", frozenset({dovetail.bool})),)
NOT_THE_SAME = (Skip("dtypes", "the kernel for the cpu takes fewer dtypes than the composition"),)
EVERY = all_types_and_complex_and(dovetail.bool, dovetail.float16, dovetail.bfloat16)


def samples(
    info: OpInfo, device: dovetail.device, dtype: dovetail.dtype, requires_grad: bool
) -> Iterator[SampleInput]:
    """Yield an input and a parameter that broadcasts against it, and lies above zero."""
    make = TensorMaker(device=device, dtype=dtype, requires_grad=requires_grad)
    for shape, parameter in (((2, 3), ()), ((2, 3), (3,)), ((3,), (3,)), ((), ()), ((0, 3), (3,))):
        yield SampleInput(make(shape), make(parameter, low=0.5, high=2))


def errors(info: OpInfo, device: dovetail.device) -> Iterator[ErrorInput]:
    """Yield shapes that do not fit."""
    x, parameter = dovetail.ones(2, device=device), dovetail.ones(3, device=device)
    yield ErrorInput(SampleInput(x, parameter), Exception, "broadcast|must match the size")


def op_infos(namespace: str) -> list[OpInfo]:
    """Return the samples of the operators of one of the namespaces."""
    return [
        OpInfo(
            name=f"{namespace}::{name}",
            dtypes=EVERY if (namespace, name) == COMPOSED else INEXACT,
            sample_inputs_func=samples,
            error_inputs_func=errors,
            ref=reference,
            skips={COMPOSED: BOOLS, TWO_KERNELS: NOT_THE_SAME}.get((namespace, name), ()),
        )
        for name, reference in REFERENCES.items()
    ]
