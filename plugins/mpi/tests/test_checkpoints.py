"""Programs that are killed and go on, with as many processes or another number."""

from pathlib import Path

import pytest
from ranks import CHECKS, mpiexec, names_in, passes

import dovetail


@pytest.mark.parametrize("name", names_in("checkpoints"))
def test_checkpoints(name: str) -> None:
    passes("checkpoints", name, 2)


def test_a_killed_program_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    program, killed, whole = str(CHECKS / "resuming.py"), tmp_path / "killed", tmp_path / "whole"
    assert mpiexec(1, program, str(whole), "0").status == 0
    wanted = dovetail.load(whole)
    assert len(wanted["order"]) == 10
    assert sorted(i for step in wanted["order"][:5] for i in step) == list(range(60))
    for size, steps in ((2, 3), (3, 4)):
        assert mpiexec(size, program, str(killed), str(steps)).status != 0
    assert mpiexec(2, program, str(killed), "0").status == 0
    found = dovetail.load(killed)
    assert found["order"] == wanted["order"]
    for name, value in wanted["model"].items():
        dovetail.testing.assert_close(found["model"][name], value, rtol=1e-5, atol=1e-6)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []
