"""Trials of wrong indices, pivots, offsets, sizes and strides: a call of an operator, some of whose
integers are replaced by numbers at the limits.

A seed is a trial, the same on every machine. Each floating-point and integer tensor lies between
guards, so that a kernel that reads or writes a little outside its arrays is found; one that does so
far outside ends the process: `index_children` runs trials in children.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import dovetail
from dovetail.testing import OpInfo, SampleInput, op_infos

__all__ = ["MODES", "Outcome", "run", "subjects"]

INTEGERS = ("int", "SymInt")
INDICES = ("index", "indices", "pivots", "LU_pivots", "offsets", "lengths", "sorter", "repeats")
"""Arguments that are tensors of integers which say where elements are."""
LIMITS = (
    *(-1, 0, 1, 2, 5, 7, 100, -100),
    *(2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**32 + 1),
    *(2**40, -(2**40), 2**61, 2**62, -(2**62)),
    *(2**63 - 1, 2**63 - 2, 2**63 - 1000, -(2**63), -(2**63) + 1),
)
MODES = ("forward", "backward", "changed before backward", "mapped", "in place", "on meta")
GUARD = 64
"""Elements on both sides of a tensor."""
MARK = 1.2345e30
"""Number in the guards of floating-point tensors: results are compared with it."""
MULTIPLES = np.arange(1, 9) * MARK
"""Magnitudes of results that come of the mark: samples are small."""
SMALL = 200
"""Elements of the largest tensor of a sample."""
MOST = 10**7
"""Elements of a result beyond which a trial stops: an expanded tensor may have any number."""
NO_ERRORS = (AttributeError, KeyError, NameError, AssertionError, ZeroDivisionError, StopIteration)
"""Errors that say nothing to a user: a mistake of ours."""


@dataclass
class Outcome:
    """What a trial came to.

    Attributes
    ----------
    text
        The call.
    error
        Type and text of the error; empty for a value.
    wrong
        What is wrong; empty if nothing is.
    """

    text: str = ""
    error: str = ""
    wrong: list[str] = field(default_factory=list)


@cache
def subjects() -> tuple[OpInfo, ...]:
    """Return the operators that take integers, or tensors of integers."""
    return tuple(
        [
            info
            for info in op_infos("aten")
            if any(
                [
                    a.name in INDICES or _has_integers(a.real_type.schema_str)
                    for a in info.operator.schema.arguments
                ]
            )
        ]
    )


def _has_integers(kind: str) -> bool:
    return kind.rstrip("?").partition("[")[0] in INTEGERS


def _is_index(value: Any) -> bool:
    return isinstance(value, dovetail.Tensor) and value.dtype in (dovetail.int64, dovetail.int32)


@cache
def _samples(info: OpInfo) -> tuple[SampleInput, ...]:
    """Return the small samples of an operator, in double precision where it takes that."""
    cpu = dovetail.device("cpu")
    dtype = next(
        iter([each for each in (dovetail.float64, dovetail.int64) if each in info.dtypes]), None
    )
    if dtype is None:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = info.sample_inputs(cpu, dtype, dtype is dovetail.float64)
    return tuple([s for s in samples if all([t.numel() <= SMALL for t in s.tensors()])])


# -- wrong numbers ---------------------------------------------------------------------------------


def _number(r: random.Random, right: int) -> int:
    """Return a wrong integer: at a limit, or a little beside the right one."""
    if r.random() < 0.3:
        return right + r.choice((-2, -1, 1, 2))
    return r.choice(LIMITS)


def _places(sample: SampleInput, info: OpInfo) -> Iterator[tuple[Any, Any]]:
    """Yield the places of a sample that hold integers, with these."""
    arguments = info.operator.schema.arguments
    kinds = {a.name: a.real_type.schema_str for a in arguments}
    named = [*zip([a.name for a in arguments], sample.arguments, strict=False)]
    for place, (name, value) in enumerate(named):
        yield from _inside(place, kinds.get(name, ""), value)
    for name, value in sample.kwargs.items():
        yield from _inside(name, kinds.get(name, ""), value)


def _inside(place: Any, kind: str, value: Any) -> Iterator[tuple[Any, Any]]:
    if _is_index(value) or (type(value) is int and _has_integers(kind)):
        yield place, value
    elif isinstance(value, list | tuple) and value:
        integers = _has_integers(kind) and all([type(each) is int for each in value])
        if integers or any([_is_index(each) for each in value]):
            yield place, value


def _spoiled(r: random.Random, value: Any) -> Any:
    """Return an argument with wrong integers."""
    if isinstance(value, dovetail.Tensor):
        return _spoiled_tensor(r, value)
    if type(value) is int:
        return _number(r, value)
    made = list(value)
    if any([_is_index(each) for each in made]):
        at = r.choice([place for place, each in enumerate(made) if _is_index(each)])
        made[at] = _spoiled_tensor(r, made[at])
    elif r.random() < 0.1:
        made = made[:-1] if r.random() < 0.5 else [*made, _number(r, 1)]
    else:
        at = r.randrange(len(made))
        made[at] = _number(r, made[at])
    return type(value)(made)


def _spoiled_tensor(r: random.Random, tensor: Any) -> Any:
    values = tensor.detach().numpy().copy()
    if not values.size:
        return tensor
    info = np.iinfo(values.dtype)
    flat = values.reshape(-1)
    for _ in range(r.choice((1, 1, 2, values.size))):
        at = r.randrange(values.size)
        flat[at] = min(max(_number(r, int(flat[at])), info.min), info.max)
    return dovetail.tensor(values)


# -- guards ----------------------------------------------------------------------------------------


class Guarded:
    """Copies of tensors between guards, and whether anything but them has changed."""

    def __init__(self) -> None:
        self._memory: list[tuple[Any, Any]] = []

    def __call__(self, tensor: Any) -> Any:
        values = tensor.detach().numpy()
        if values.dtype.kind not in "fi" or tensor.layout is not dovetail.strided:
            return tensor
        mark = MARK if values.dtype.kind == "f" else 77
        memory = np.full(values.size + 2 * GUARD, mark, values.dtype)
        inner = memory[GUARD : GUARD + values.size].reshape(values.shape)
        inner[...] = values
        made = dovetail.from_numpy(inner)
        self._memory.append((memory, memory.copy()))
        return made.requires_grad_(tensor.requires_grad)

    def note(self) -> None:
        """Take what the tensors hold now for right."""
        self._memory = [(memory, memory.copy()) for memory, _ in self._memory]

    def outside(self) -> bool:
        """Say whether a guard was written to."""
        return any(
            [
                bool((memory[part] != before[part]).any())
                for memory, before in self._memory
                for part in (slice(GUARD), slice(-GUARD, None))
            ]
        )

    def changed(self) -> bool:
        """Say whether anything was written to."""
        return any([memory.tobytes() != before.tobytes() for memory, before in self._memory])


def _leaks(value: Any) -> str:
    """Return how a result shows what is no element of an argument; empty if it does not."""
    if isinstance(value, list | tuple):
        return next(iter([text for text in map(_leaks, value) if text]), "")
    if not isinstance(value, dovetail.Tensor) or value.device.type != "cpu":
        return ""
    array = value.array
    if not isinstance(array, np.ndarray):
        return ""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if array.size and owner is not array:
        low, high = np.lib.array_utils.byte_bounds(array)
        first, behind = np.lib.array_utils.byte_bounds(owner)
        if low < first or high > behind:
            return "a view of memory outside"
    if array.dtype.kind == "f" and array.size <= 10**6:
        with np.errstate(all="ignore"):
            if bool(np.isclose(np.abs(array)[..., None], MULTIPLES, 1e-5, 0).any()):
                return "a value from outside"
    return ""


# -- trials ----------------------------------------------------------------------------------------


def run(seed: int, announce: Callable[[str], object] = len) -> Outcome:
    """Run the trial of a seed, after announcing its text."""
    r = random.Random(seed * 2654435761 % 2**32)
    found = subjects()
    info = found[seed % len(found)]
    outcome = Outcome(info.name)
    samples = [each for each in _samples(info) if list(_places(each, info))]
    if not samples:
        return outcome
    sample, mode, guarded = r.choice(samples), r.choice(MODES), Guarded()
    positional, named = list(sample.arguments), dict(sample.kwargs)
    places = list(_places(sample, info))
    wrong = {
        place: _spoiled(r, value)
        for place, value in r.sample(places, min(len(places), r.choice((1, 1, 2))))
    }
    later = mode == "changed before backward"
    if not later:
        for place, value in wrong.items():
            (named if isinstance(place, str) else positional)[place] = value
    outcome.text = f"{mode}: {info.name}{_shown(positional)} {_shown(named)}" + (
        f", then {_shown(wrong)}" if later else ""
    )
    announce(outcome.text)
    arguments = SampleInput(*positional, **named).transform(guarded)
    mutable = info.operator.schema.is_mutable
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = _called(info, arguments, mode, wrong, guarded)
        except Exception as error:
            outcome.error = f"{type(error).__name__}: {str(error)[:300]}"
            if isinstance(error, NO_ERRORS):
                outcome.wrong.append("an error that says nothing")
            if guarded.changed() and not guarded.outside():
                outcome.wrong.append("a refused call has changed an argument")
        else:
            if guarded.changed() and not mutable and mode != "in place":
                outcome.wrong.append("an argument has changed")
            text = "" if "empty" in info.name or "resize" in info.name else _leaks(results)
            outcome.wrong += [text] if text else []
    if guarded.outside():
        outcome.wrong.append("memory outside was written to")
    return outcome


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join([f"{name}={_shown(each)}" for name, each in value.items()])
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_shown, value))})"
    if not isinstance(value, dovetail.Tensor):
        return repr(value)
    return f"{value.dtype}{value.tolist()}" if _is_index(value) else f"{list(value.shape)}"


def _called(
    info: OpInfo, sample: SampleInput, mode: str, wrong: dict[Any, Any], guarded: Guarded
) -> Any:
    function: Callable[..., Any] = info.op
    if mode == "in place":
        variants = [each for each in info.operator.variants if each.schema.is_mutable]
        function = next(iter([v for v in variants if not _outs(v)]), function)
        return function(*[_leafless(each) for each in sample.arguments], **sample.kwargs)
    if mode == "on meta":
        moved = sample.transform(lambda tensor: tensor.detach().to("meta"))
        return function(*moved.arguments, **moved.kwargs)
    if mode == "mapped":
        return _mapped(function, sample)
    results = function(*sample.arguments, **sample.kwargs)
    if mode == "forward":
        return results
    if mode == "changed before backward":
        for place, value in wrong.items():
            _overwrite(
                (sample.kwargs if isinstance(place, str) else sample.arguments)[place], value
            )
        guarded.note()
    flat = results if isinstance(results, list | tuple) else [results]
    flat = [each for each in flat if isinstance(each, dovetail.Tensor) and each.numel() <= MOST]
    losses = [each.sum() for each in flat if each.requires_grad]
    leaves = [each for each in sample.tensors() if each.requires_grad]
    if not losses or not leaves:
        return results
    grads = dovetail.autograd.grad(losses, leaves, allow_unused=True)
    return [*flat, *[each for each in grads if each is not None]]


def _outs(operator: Any) -> bool:
    return any([a.is_out for a in operator.schema.arguments])


def _leafless(value: Any) -> Any:
    return value.detach() if isinstance(value, dovetail.Tensor) else value


def _overwrite(target: Any, value: Any) -> None:
    """Write wrong indices into the right ones, past the version."""
    if isinstance(target, list | tuple):
        for each, other in zip(target, value, strict=False):
            _overwrite(each, other)
    elif isinstance(target, dovetail.Tensor) and target.shape == value.shape:
        target.data.copy_(value)


def _mapped(function: Callable[..., Any], sample: SampleInput) -> Any:
    """Call a function for two of each tensor."""
    tensors = sample.tensors()
    if not tensors:
        return function(*sample.arguments, **sample.kwargs)

    def call(*given: Any) -> Any:
        rest = iter(given)
        moved = sample.transform(lambda _tensor: next(rest))
        return function(*moved.arguments, **moved.kwargs)

    return dovetail.vmap(call)(*[dovetail.stack([each.detach()] * 2) for each in tensors])
