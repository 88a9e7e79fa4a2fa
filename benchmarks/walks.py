"""Walks through the house: the Python calls that one call of a user makes, counted.

    python benchmarks/walks.py           a row per walk
    python benchmarks/walks.py --list    every call of every walk, with the room that it is in

Counts do not depend on the machine. A frame is a call of a Python function of Dovetail; its room is
the distribution and the folder in it. A turn is a call whose frame is in another room than the one
before. Compiled code makes no frames, and with several threads routes look at sizes: both are off.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

os.environ |= {"DOVETAIL_NATIVE": "0", "OMP_NUM_THREADS": "1"}

import dovetail
from dovetail_dispatcher import custom_op

_INLINE: Final = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Have frames up to Python 3.11 only."""

ROUTE: Final = "route"
"""The room of printed functions."""


class Frame(NamedTuple):
    """One call of a function: the room that it is in, and its name."""

    room: str
    name: str


def frames_of(call: Callable[[], object]) -> list[Frame]:
    """Make `call`, and return the calls that it makes in Dovetail, in their order."""
    found: list[Frame] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_name
        if event == "call" and name not in _INLINE and (room := _room(frame.f_code.co_filename)):
            found.append(Frame(room, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def turns(frames: list[Frame]) -> int:
    """Return how often the room changes from one call to the next."""
    return sum(one.room != other.room for one, other in pairwise(frames))


def _room(filename: str) -> str:
    if filename.startswith("<dovetail"):
        return ROUTE
    parts = Path(filename).parts
    at = [number for number, part in enumerate(parts) if part == "src"]
    if not at or not parts[at[-1] + 1].startswith("dovetail"):
        return ""
    inside = parts[at[-1] + 1 :]
    return "/".join(inside[:2]) if len(inside) > 2 else inside[0]


# -- the walks -------------------------------------------------------------------------------------


def _warm(call: Callable[[], object]) -> Callable[[], object]:
    for _ in range(3):
        call()
    return call


def _missed_sum() -> Callable[[], object]:
    """Return ``x + y`` of a signature that was not called yet, in a process that called others."""
    for other in (dovetail.int32, dovetail.float64):
        _warm(lambda other=other: dovetail.ones(2, dtype=other) + dovetail.ones(2, dtype=other))
    x, y = dovetail.ones(2), dovetail.ones(2)
    return lambda: x + y


def _missed_recorded_sum() -> Callable[[], object]:
    missed = _missed_sum()
    missed()
    x, y = dovetail.ones(2, requires_grad=True), dovetail.ones(2)
    _warm(lambda: dovetail.ones(2, dtype=dovetail.float64, requires_grad=True) + 1)
    return lambda: x + y


def _warm_sum() -> Callable[[], object]:
    x, y = dovetail.ones(2), dovetail.ones(2)
    return _warm(lambda: x + y)


def _custom() -> Callable[[], object]:
    @custom_op("walks::twice", mutates_args=())
    def twice(x: dovetail.Tensor) -> dovetail.Tensor:
        return x.clone()

    x = dovetail.ones(2)
    return _warm(lambda: twice(x))


def _vmap_of_grad() -> Callable[[], object]:
    def loss(row: Any) -> Any:
        return (row * row).sum()

    x = dovetail.ones(3, 2)
    return _warm(lambda: dovetail.vmap(dovetail.func.grad(loss))(x))


def _backward() -> Callable[[], object]:
    x = dovetail.ones(2, requires_grad=True)

    def step() -> Any:
        x.grad = None
        return (x * x).sum()

    for _ in range(3):
        step().backward()
    return step().backward


WALKS: Final[dict[str, Callable[[], Callable[[], object]]]] = {
    "x + y, missed": _missed_sum,
    "x + y, missed, recorded": _missed_recorded_sum,
    "x + y, warm": _warm_sum,
    "custom operator, warm": _custom,
    "vmap(grad(f)), warm": _vmap_of_grad,
    "backward, warm": _backward,
}
"""Each prepares a call and returns it. A missed one comes before any that would warm it up."""


def walk_all() -> dict[str, list[Frame]]:
    """Return the frames of every walk."""
    return {name: frames_of(prepare()) for name, prepare in WALKS.items()}


def main() -> None:
    """Print the counts of the walks, or their frames."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print every call")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    walks = walk_all()
    if options.json:
        print(json.dumps({name: [len(frames), turns(frames)] for name, frames in walks.items()}))
        return
    for name, frames in walks.items():
        print(f"{name}: {len(frames)} frames, {turns(frames)} turns")
        if options.list:
            print(*[f"    {frame.room}: {frame.name}" for frame in frames], sep="\n")


if __name__ == "__main__":
    main()
