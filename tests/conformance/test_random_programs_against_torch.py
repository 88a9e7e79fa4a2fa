"""Random programs, run on Dovetail and on PyTorch: every value, property, gradient and type of
error is the same.

`DOVETAIL_PROGRAMS=50000` runs more of them, `DOVETAIL_FIRST_PROGRAM=1000` begins at another seed.
What fails is made smaller before it is shown.
"""

from __future__ import annotations

import os

import pytest
import torch
from random_programs import disagreement, random_program, smaller

import dovetail

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "2000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))
CHUNK = 250


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, CHUNK))
def test_random_programs_give_on_dovetail_what_they_give_on_pytorch(first: int) -> None:
    for seed in range(first, min(first + CHUNK, FIRST + PROGRAMS)):
        program = random_program(seed)
        if disagreement(dovetail, torch, program):
            least = smaller(program, lambda each: bool(disagreement(dovetail, torch, each)))
            pytest.fail(f"program {seed}: {disagreement(dovetail, torch, least)}\n{least}")
