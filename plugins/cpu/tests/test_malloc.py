"""Tuning of the allocator of the process, in processes of their own."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from dovetail_cpu.memory import malloc

IS_GLIBC = platform.libc_ver()[0] == "glibc"
FAULTS = """
import resource, sys
import numpy as np
from dovetail_cpu.memory.malloc import tune_malloc
if sys.argv[1] == "tuned":
    tune_malloc()
for _ in range(20):  # what is freed first raises the threshold of glibc itself
    np.ones(1 << 23)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1 << 23)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
STEPS = """
import resource
import dovetail
x = dovetail.ones(1024, 1024, requires_grad=True)
def step():
    x.grad = None
    (x.exp() * x).log_softmax(1).sum().backward()
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 1024
"""Of an array of the steps."""


def faults(program: str, *how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", program, *how], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(not IS_GLIBC, reason="The C library is not glibc.")
def test_steps_take_no_new_pages_for_their_arrays():
    assert faults(STEPS) < PAGES


@pytest.mark.skipif(not IS_GLIBC, reason="The C library is not glibc.")
def test_tuned_malloc_keeps_the_pages_of_large_arrays():
    assert faults(FAULTS, "tuned") * 10 < faults(FAULTS, "plain")


def test_sizes_that_glibc_does_not_take_are_refused():
    with pytest.raises(ValueError, match="mmap_threshold must be between 0 and 2147483647"):
        malloc.tune_malloc(1 << 31)
    with pytest.raises(ValueError, match="trim_threshold must be between"):
        malloc.tune_malloc(trim_threshold=-1)


def test_another_c_library_is_refused(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    with pytest.raises(NotImplementedError, match="nothing was changed"):
        malloc.tune_malloc()
