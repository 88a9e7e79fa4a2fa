"""Random trials under transforms: what the ways of each hunt give agrees.

[README.md](README.md) says how to run more of them, or one again.
"""

from __future__ import annotations

import pytest
from oracle.driver import by_cause
from oracle.exceptions import Listed, exceptions, listed
from oracle.hunts import HUNTS
from oracle.sharing import seeds

pytestmark = pytest.mark.cpu_only(reason="leaves are arrays of NumPy, in double precision")


@pytest.mark.parametrize("name", HUNTS)
def test_the_ways_of_a_hunt_agree(name: str) -> None:
    hunt = HUNTS[name]
    is_open = any([each.reason.startswith("open") for each in exceptions()])
    first = {"first": 0} if is_open else {}  # until what is known to be wrong is mended
    report = hunt.run(seeds(name, hunt.share, **first))
    print(report)
    wrong = [each for each in report.finds if listed(each) is None]
    assert not wrong, "\n".join(
        [f"{len(finds)} times, first {finds[0]}" for _, finds in by_cause(wrong)]
    )


def _name(entry: Listed) -> str:
    return f"{entry.hunts[0]}-{entry.reason[:40]}"


@pytest.mark.parametrize("entry", exceptions(), ids=_name)
def test_a_listed_exception_is_still_one(entry: Listed) -> None:
    assert entry.reason
    assert entry.examples
    passing = []
    for subject, turn in entry.examples.items():
        _, find = HUNTS[entry.hunts[0]].check(subject, turn)
        if find is None or not entry.holds(find):
            passing.append((subject, turn, find and find.text))
    assert not passing, f"take {passing} off the list"
