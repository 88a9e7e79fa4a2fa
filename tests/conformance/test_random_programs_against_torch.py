"""Random programs, run on Dovetail and on PyTorch: every value, property, gradient and type of
error is the same.

`DOVETAIL_PROGRAMS=50000` runs more of them, `DOVETAIL_FIRST_PROGRAM=1000` begins at another seed.
What fails is made smaller before it is shown.
"""

from __future__ import annotations

import os
from functools import partial

import pytest
import torch
from random_programs import disagreement, random_program, smaller

import dovetail
from dovetail_autograd.graph.engine_ops import has_memory

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "2000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))
CHUNK = 250


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_random_programs_give_on_dovetail_what_they_give_on_pytorch(first: int) -> None:
    compared = partial(disagreement, dovetail, torch, memory=has_memory(dovetail.empty(0)))
    for seed in range(first, min(first + CHUNK, FIRST + PROGRAMS)):
        program = random_program(seed)
        if compared(program):
            least = smaller(program, lambda each: bool(compared(each)))
            pytest.fail(f"program {seed}: {compared(least)}\n{least}")
