"""Every public name of ``torch.cuda`` is in ``dovetail.cuda``, or is named as absent with what to
use.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from cuda_of_pytorch import skip_if_built_with_cuda

import dovetail
from dovetail.cuda.absent import REMEDIES

MODULES = {"graphs", "memory", "random", "streams", "sparse"}
"""The last has a reason of its own: tensors are dense."""
NAMES = sorted({*torch.cuda.__all__, "AcceleratorError", "OutOfMemoryError", "gds"} - MODULES)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_here_or_is_named_as_absent(name):
    assert hasattr(dovetail.cuda, name) != (name in REMEDIES)
    if name in REMEDIES:
        with pytest.raises(AttributeError, match=f"has no attribute '{name}': it is not in") as got:
            getattr(dovetail.cuda, name)
        assert REMEDIES[name] in str(got.value)


def test_no_other_name_is_named_as_absent():
    assert {*REMEDIES} - {"green_contexts"} <= {*NAMES}


def test_sparse_tensors_of_cuda_are_made_as_all_are():
    with pytest.raises(AttributeError, match=r"dovetail\.sparse_coo_tensor"):
        _ = dovetail.cuda.sparse


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch has CUDA")
@pytest.mark.skipif(dovetail.cuda.is_available(), reason="there is CUDA here")
@pytest.mark.parametrize(
    "name",
    [
        "get_arch_list",
        "get_gencode_flags",
        "memory_stats_as_nested_dict",
        "memory_cached",
        "max_memory_cached",
        "default_generators",
        "has_half",
        "get_sync_debug_mode",
        "ipc_collect",
        "get_per_process_memory_fraction",
        "current_blas_handle",
        "current_solver_handle",
    ],
)
def test_what_asks_answers_without_cuda_as_there(name):
    skip_if_built_with_cuda()

    def answer(module):
        found = getattr(module, name)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                value = found() if callable(found) else found
            except AssertionError as error:
                value = str(error).partition(":")[0]
        return value, [each.category for each in told]

    assert answer(dovetail.cuda) == answer(torch.cuda)
