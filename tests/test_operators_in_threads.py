"""Calls of one operator by several threads at once, on the same tensors, return what one thread
gets: results and gradients.

`make test-threads-sanitized` runs these tests under the sanitizer of threads, with compiled code
that releases the interpreter's lock in every call.
"""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail import Tensor
from dovetail.testing import OpInfo, SampleInput, op_infos
from dovetail_kernel import Device

pytestmark = pytest.mark.cpu_only(reason="compiled code is the cpu's")

THREADS = 3
SAMPLES = 3
INFOS = [
    info
    for info in op_infos("aten")
    if not (info.is_random or info.operator.schema.is_mutable)
    # Batch norm writes to the statistics, which its schema does not tell.
    and all(argument.name != "running_mean" for argument in info.operator.schema.arguments)
]


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors in the results of an operator."""
    if isinstance(value, list | tuple):
        return [each for one in value for each in tensors(one)]
    return [value] if isinstance(value, Tensor) and value.layout is dovetail.strided else []


def results(info: OpInfo, sample: SampleInput) -> list[np.ndarray]:
    """Return the results of a call, and the gradients of its differentiable arguments."""
    found = tensors(info.op(*sample.arguments, **sample.kwargs))
    leaves = [each for each in tensors(list(sample.arguments)) if each.requires_grad]
    roots = [each for each in found if each.requires_grad]
    if leaves and roots:
        ones = [dovetail.ones_like(each) for each in roots]
        found += tensors(dovetail.autograd.grad(roots, leaves, ones, allow_unused=True))
    # NumPy has no bfloat16.
    kept = [each.float() if each.dtype is dovetail.bfloat16 else each for each in found]
    return [each.detach().resolve_conj().resolve_neg().numpy() for each in kept]


def results_of_threads(info: OpInfo, sample: SampleInput) -> list[list[np.ndarray]]:
    """Return what each of several threads gets that call at once."""
    barrier, found = Barrier(THREADS), []

    def work() -> None:
        barrier.wait()
        found.append(results(info, sample))

    threads = [Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.operators("info", INFOS)
def test_threads_get_what_one_thread_gets(info: OpInfo) -> None:
    for kind in sorted(info.dtypes, key=str):
        requires_grad = kind.is_floating_point and info.supports_autograd
        samples = info.sample_inputs(Device("cpu"), kind, requires_grad)
        for sample in list(samples)[:SAMPLES]:
            expected = results(info, sample)
            found = results_of_threads(info, sample)
            assert len(found) == THREADS
            for each in found:
                for one, other in zip(each, expected, strict=True):
                    np.testing.assert_array_equal(one, other)
