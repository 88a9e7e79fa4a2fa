"""Operators that join, split and shape tensors: the arguments that they take and refuse, as in
PyTorch.
"""

from __future__ import annotations

import pytest
from same_programs import Programs, assert_same

PROGRAMS = Programs(
    {
        "view takes sizes one by one": lambda lib: lib.arange(6).view(2, 3),
        "split of a number": lambda lib: lib.tensor(1.0).split([1]),
        "cat of nothing": lambda lib: lib.cat([]),
        "cat of nothing into something": lambda lib: lib.cat([], out=lib.ones(1)),
        "cat of numbers": lambda lib: lib.cat([lib.tensor(1.0), lib.tensor(1.0)]),
        "stack of nothing": lambda lib: lib.stack([]),
        "stack of other sizes": lambda lib: lib.stack([lib.ones(2), lib.ones(3)]),
        "stack of other sizes along no dimension": lambda lib: lib.stack(
            [lib.ones(2), lib.ones(3)], 3
        ),
        "concat of nothing": lambda lib: lib.concat(()),
        "hstack of nothing": lambda lib: lib.hstack([]),
        "vstack of nothing": lambda lib: lib.vstack([]),
        "roll of a number": lambda lib: lib.tensor(1.0).roll(1, 0),
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=0, close=True)
