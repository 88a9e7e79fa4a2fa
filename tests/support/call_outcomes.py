"""What a call gives, and how the outcomes of two libraries disagree, by class."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from call_values import TOLERANCES, Name, TensorValue, name_of
from oracle.outcomes import numbers, steps
from random_calls import Call

UNINITIALIZED = ("empty", "empty_like", "empty_strided", "new_empty")


@dataclass
class TensorOutcome:
    """What is compared of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires_grad: bool
    shares: tuple[int, ...]
    values: np.ndarray[Any, Any]


@dataclass
class Outcome:
    """What is compared of a call: the error, or results, what became of the arguments, and
    gradients.
    """

    error: Exception | None
    results: list[Any]
    arguments: list[np.ndarray[Any, Any]]
    gradients: list[Any]
    warned: str = ""


def made(lib: Any, value: Any) -> Any:
    if isinstance(value, TensorValue | Name):
        return value.of(lib)
    if isinstance(value, list | tuple):
        return type(value)([made(lib, each) for each in value])
    return value


def callee(lib: Any, call: Call, args: list[Any]) -> Any:
    """Return what is called, or None if the library has no such form of the operator."""
    base, _, overload = call.operator.partition(".")
    if call.form == "method":
        if not args or not isinstance(args[0], lib.Tensor):
            return None
        method = getattr(lib.Tensor, base, None)
        return method if callable(method) else None
    if call.form == "function":
        return getattr(lib, base, None)
    packet = getattr(lib.ops.aten, base, None)
    return packet if call.form == "packet" else getattr(packet, overload or "default", None)


def tensors_in(lib: Any, values: Any) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat += value if isinstance(value, list | tuple) else [value]
    return [each for each in flat if isinstance(each, lib.Tensor)]


def memory(tensor: Any) -> tuple[int, int]:
    """Return the bytes that the storage of a tensor takes, from and to."""
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.data_ptr() + storage.nbytes()


def outcome(lib: Any, call: Call) -> Outcome | None:
    """Return what a call gives, or None if the library has no such form of it."""
    args = [made(lib, each) for each in call.args]
    kwargs = {name: made(lib, each) for name, each in call.kwargs.items()}
    function = callee(lib, call, args)
    if function is None:
        return None
    given = tensors_in(lib, [*args, *kwargs.values()])
    if call.is_random:
        lib.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            return Outcome(error, [], [], [], _of_numpy(caught))
        results = list(result) if isinstance(result, list | tuple) else [result]
        described = [_described(lib, each, given, call) for each in results]
        gradients = _gradients(lib, results, given)
    return Outcome(None, described, [numbers(each) for each in given], gradients, _of_numpy(caught))


def _of_numpy(caught: list[Any]) -> str:
    return "; ".join(
        [str(each.message) for each in caught if issubclass(each.category, RuntimeWarning)]
    )


def _described(lib: Any, value: Any, given: list[Any], call: Call) -> Any:
    if not isinstance(value, lib.Tensor):
        return value if value is None or isinstance(value, bool | int | float | complex) else None
    own = memory(value)
    shares = [
        place
        for place, each in enumerate(given)
        if own[0] < own[1] and memory(each)[0] == own[0] and value.numel()
    ]
    return TensorOutcome(
        name_of(value.dtype),
        tuple(value.shape),
        tuple(value.stride()),
        bool(value.requires_grad),
        tuple(shares),
        np.zeros(()) if call.base in UNINITIALIZED else numbers(value),
    )


def _gradients(lib: Any, results: list[Any], given: list[Any]) -> list[Any]:
    outputs = [each for each in tensors_in(lib, results) if each.requires_grad]
    leaves = [each for each in given if each.requires_grad and each.is_leaf]
    if not outputs or not leaves:
        return []
    try:
        seeds = [lib.ones_like(each) for each in outputs]
        found = lib.autograd.grad(outputs, leaves, seeds, allow_unused=True)
    except Exception as error:
        return [error]
    return [
        each if each is None else (name_of(each.dtype), tuple(each.shape), numbers(each))
        for each in found
    ]


# -- disagreements ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disagreement:
    """A class of disagreement, and what differs."""

    kind: str
    text: str
    types: tuple[str, str] = ("", "")
    """The names of the types of the exceptions."""


def disagreement(ours: Outcome, theirs: Outcome, call: Call) -> Disagreement | None:
    """Return the first thing in which outcomes disagree, or None."""
    if ours.warned:
        return Disagreement("warning of NumPy", ours.warned)
    if ours.error is not None or theirs.error is not None:
        return _of_errors(ours.error, theirs.error)
    if len(ours.results) != len(theirs.results):
        return Disagreement("shape", f"{len(ours.results)} results, not {len(theirs.results)}")
    scale = _scale(call)
    for mine, other in zip(ours.results, theirs.results, strict=True):
        found = _of_results(mine, other, call, scale)
        if found:
            return found
    for mine, other in zip(ours.arguments, theirs.arguments, strict=True):
        if mine.shape == other.shape and not call.is_random and not _same_numbers(mine, other):
            dtype = call.tensors()[0].dtype
            found = of_values(mine, other, max(TOLERANCES.get(dtype, 0.0), 3e-5), scale)
            if found:
                return Disagreement("argument", found.text)
    return _of_gradients(ours, theirs, scale, call.is_random)


def _same_numbers(mine: Any, other: Any) -> bool:
    return bool(np.array_equal(mine, other, equal_nan=mine.dtype.kind in "fc"))


def _scale(call: Call) -> float:
    """Return the size of what is added up in a call, at least 1."""
    greatest = 1.0
    for tensor in call.tensors():
        values = np.abs(tensor.values.astype(complex if tensor.values.dtype.kind == "c" else float))
        finite = values[np.isfinite(values)]
        greatest = max(greatest, float(finite.max(initial=0.0)))
    return greatest


def _of_errors(mine: Exception | None, other: Exception | None) -> Disagreement | None:
    if mine is None:
        refused = isinstance(other, NotImplementedError) or "not implemented for" in str(other)
        kind = "PyTorch refuses a dtype" if refused else "PyTorch raises"
        return Disagreement(kind, f"no error, not {_shown(other)}")
    if other is None:
        return Disagreement("raises", f"{_shown(mine)}, not a result")
    same_name = type(mine).__name__ == type(other).__name__.lstrip("_")  # that of LinAlgError
    if not same_name and not isinstance(mine, type(other)):
        types = type(mine).__name__, type(other).__name__
        return Disagreement("exception type", f"{_shown(mine)}, not {_shown(other)}", types)
    return None


def _shown(error: Exception | None) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _of_results(mine: Any, other: Any, call: Call, scale: float) -> Disagreement | None:
    if not isinstance(mine, TensorOutcome) or not isinstance(other, TensorOutcome):
        same = type(mine) is type(other) and (mine == other or mine != mine)
        return None if same else Disagreement("value", f"{mine!r}, not {other!r}")
    if mine.dtype != other.dtype:
        return Disagreement("dtype", f"{mine.dtype}, not {other.dtype}")
    if mine.shape != other.shape:
        return Disagreement("shape", f"{mine.shape}, not {other.shape}")
    if not call.is_random and call.base not in UNINITIALIZED:
        found = of_values(mine.values, other.values, _tolerance(mine.dtype, call), scale)
        if found:
            return found
    if mine.requires_grad != other.requires_grad:
        return Disagreement("requires_grad", f"{mine.requires_grad}, not {other.requires_grad}")
    if steps(mine.shape, mine.strides) != steps(other.shape, other.strides):
        return Disagreement("strides", f"{mine.strides}, not {other.strides} of {mine.shape}")
    if mine.shares != other.shares:
        return Disagreement("memory", f"shared with {mine.shares}, not with {other.shares}")
    return None


def _tolerance(dtype: str, call: Call) -> float:
    """Return how far numbers may lie apart: in out= of another dtype, as those it is made of."""
    names = [dtype] + [each.dtype for each in call.tensors() if "out" in call.kwargs]
    return max([TOLERANCES.get(name, 0.0) for name in names])


def of_values(mine: Any, other: Any, tolerance: float, scale: float) -> Disagreement | None:
    """Return how numbers differ: in NaN or infinities, beyond rounding, in the sign of zeros."""
    text = f"{mine.tolist()}, not {other.tolist()}"
    if mine.dtype.kind not in "fc":
        same = np.array_equal(mine, other)
        return None if same else Disagreement("value", text)
    if mine.dtype.kind == "c":
        for a, b in ((mine.real, other.real), (mine.imag, other.imag)):
            found = of_values(a, b, tolerance, scale)
            if found:
                return Disagreement(found.kind, text)
        return None
    with np.errstate(all="ignore"):
        if (np.isnan(mine) != np.isnan(other)).any() or (np.isinf(mine) != np.isinf(other)).any():
            return Disagreement("NaN or infinity", text)
        if not np.allclose(mine, other, tolerance, tolerance * min(scale, 1e300), equal_nan=True):
            return Disagreement("value", text)
        zeros = (mine == 0) & (other == 0)
        if (np.signbit(mine) != np.signbit(other))[zeros].any():
            return Disagreement("sign of zero", text)
    return None


def _of_gradients(
    ours: Outcome, theirs: Outcome, scale: float, is_random: bool
) -> Disagreement | None:
    mine_error = ours.gradients and isinstance(ours.gradients[0], Exception)
    other_error = theirs.gradients and isinstance(theirs.gradients[0], Exception)
    if mine_error or other_error:
        found = _of_errors(
            ours.gradients[0] if mine_error else None, theirs.gradients[0] if other_error else None
        )
        return found and Disagreement(f"gradient: {found.kind}", found.text, found.types)
    for mine, other in zip(ours.gradients, theirs.gradients, strict=True):
        if mine is None or other is None:
            if mine is not other:
                return Disagreement("gradient: None", f"{mine}, not {other}")
            continue
        if mine[:2] != other[:2]:
            return Disagreement("gradient: dtype or shape", f"{mine[:2]}, not {other[:2]}")
        if is_random:
            continue
        tolerance = 10 * max(
            [TOLERANCES.get(mine[0], 0.0)]
            + [
                TOLERANCES.get(each.dtype, 0.0)
                for each in ours.results
                if isinstance(each, TensorOutcome)
            ]
        )
        found = of_values(mine[2], other[2], tolerance, scale)
        if found:
            return Disagreement(f"gradient: {found.kind}", found.text)
    return None
