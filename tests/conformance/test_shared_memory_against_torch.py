"""Results show the memory of an argument where those of PyTorch do, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_samples import as_torch, results_of, torch_operator

import dovetail
from dovetail.testing import OpInfo, op_infos
from dovetail_kernel import Device

pytestmark = [
    pytest.mark.cpu_only(reason="the arrays of others do not tell what memory they show"),
    pytest.mark.filterwarnings("ignore"),
]

DIFFERENT = {
    **dict.fromkeys(["conj", "adjoint", "mH", "matrix_H"], "conjugates are computed here"),
    "histogramdd": "PyTorch returns the edges that it was given",
}
INFOS = [
    info
    for info in op_infos("aten")
    if not info.operator.schema.is_mutable
    and info.operator.base_name not in DIFFERENT
    and torch_operator(torch, info) is not None
]


def shared(lib: Any, arguments: Any, results: Any) -> list[list[bool]]:
    """Return for each result which of the tensors among the arguments it shows."""
    arrays = [
        [
            each.numpy()
            for value in values
            for each in (value if isinstance(value, list | tuple) else [value])
            if isinstance(each, lib.Tensor)
        ]
        for values in (arguments, results_of(lib, results))
    ]
    return [[np.shares_memory(result, given) for given in arrays[0]] for result in arrays[1]]


@pytest.mark.operators("info", INFOS)
def test_results_show_the_memory_of_the_arguments_that_they_show_in_pytorch(info: OpInfo) -> None:
    operator = torch_operator(torch, info)
    for dtype in (dovetail.float64, dovetail.int64, dovetail.complex128):
        if dtype not in info.dtypes:
            continue
        for sample in info.sample_inputs(Device("cpu"), dtype, False):
            args, kwargs = as_torch(torch, sample)
            try:
                expected = shared(torch, args, operator(*args, **kwargs))
            except (RuntimeError, IndexError, TypeError, ValueError):
                continue  # other tests compare what is refused
            found = shared(dovetail, sample.arguments, info.op(*sample.arguments, **sample.kwargs))
            assert found == expected, repr(sample)
