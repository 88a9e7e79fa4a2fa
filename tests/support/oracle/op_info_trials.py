"""Trials of operators: samples of an `OpInfo` under a nesting; leaves are captured or mapped."""

from __future__ import annotations

import functools
import random
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import dovetail
from dovetail.testing import OpInfo, SampleInput, op_infos

from .levels import NESTINGS, Leaves, Level
from .trials import Trial

__all__ = [
    "batched",
    "batched_trial",
    "drawn_level",
    "names",
    "nested_trial",
    "nesting_of",
    "results",
]

ENTRIES = 2
"""Entries of a batch."""
OUTER = ("backward", "backward twice", "grad", "jvp")
SIZE = 80
"""Elements of a sample beyond which its trials cost too much."""
OF_MEMORY = ("aten::as_strided", "aten::view")
"""Operators that ask where elements lie: their leaves are copied, and mapped in their order."""

REAL = ("aten::cholesky_inverse",)
"""LAPACK takes the diagonal of the factor for real, so a complex direction leaves the domain."""
OF_PHASES = (
    *("aten::svd", "aten::linalg_svd", "aten::_linalg_svd"),
    *("aten::linalg_eig", "aten::_linalg_eigh"),
)
"""Operators with vectors whose phases or signs are arbitrary: their magnitudes are compared."""
INSIDE = (
    *("aten::linalg_lstsq", "aten::linalg_pinv", "aten::pinverse"),
    *("aten::linalg_qr", "aten::qr", "aten::linalg_lu", "aten::_lu_with_info"),
    *("aten::slogdet", "aten::linalg_slogdet", "aten::logdet"),
    *("aten::sort", "aten::msort", "aten::median", "aten::nanmedian", "aten::kthvalue"),
    *("aten::topk", "aten::quantile", "aten::nanquantile"),
    *("aten::atan2", "aten::arctan2", "aten::nextafter", "aten::triangular_solve"),
    *OF_PHASES,
)
"""Operators without a derivative at boundary values, though differences may find a slope there. The
pseudoinverse and the factors of QR and LU jump with the rank, a determinant has no logarithm
at 0, where its sign jumps; which of equal numbers comes first depends on the direction; the origin
has no angle; `nextafter` of equal numbers turns around; a singular triangular matrix has no
solution; equal eigenvalues and singular values have no single vectors."""


@functools.cache
def differentiable() -> tuple[OpInfo, ...]:
    """Return the operators that have a derivative and write to no argument."""
    return tuple(
        [
            info
            for info in op_infos("aten")
            if info.supports_autograd
            and not info.is_random
            and not info.operator.schema.is_mutable
            and info.skip_of("gradients", dovetail.device("cpu")) is None
        ]
    )


@functools.cache
def samples(info: OpInfo, dtype: Any) -> list[SampleInput]:
    """Return the small samples of an operator, some of whose results require grad."""
    if dtype not in info.dtypes:
        return []
    found = []
    for sample in info.sample_inputs(dovetail.device("cpu"), dtype, requires_grad=True):
        tensors = sample.tensors()
        if sum([each.numel() for each in tensors]) <= SIZE and differentiable_results(info, sample):
            found.append(sample)
    return found


def differentiable_results(info: OpInfo, sample: SampleInput) -> tuple[int, ...]:
    """Return the places of the results that require grad."""
    return tuple(
        [
            place
            for place, each in enumerate(results(info.op, sample))
            if isinstance(each, dovetail.Tensor) and each.requires_grad
        ]
    )


def results(function: Any, sample: SampleInput) -> list[Any]:
    """Return the results of a call in a list."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = function(*sample.arguments, **sample.kwargs)
    return list(made) if isinstance(made, list | tuple) else [made]


def info_of(name: str) -> OpInfo:
    """Return the record of an operator by its qualified name."""
    return _by_name()[name]


@functools.cache
def _by_name() -> dict[str, OpInfo]:
    return {info.name: info for info in op_infos("aten")}


def names() -> list[str]:
    """Return the names of the operators that have a derivative and write to no argument."""
    return [info.name for info in differentiable()]


def nesting_of(name: str, turn: int, among: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the nesting of a trial: every subject goes through all of them in turn."""
    return among[(turn + zlib.crc32(name.encode())) % len(among)]


def batched_trial(name: str, turn: int) -> Trial | None:
    """Return `vmap` of an operator inside eager backward, `grad` or `jvp`; leaves are captured or
    mapped.
    """
    kinds = (OUTER[turn % len(OUTER)], "vmap")
    return trial(info_of(name), kinds, random.Random(f"batched {name} {turn}"), boundary=0.0)


def nested_trial(name: str, turn: int) -> Trial | None:
    """Return an operator under one of the 155 nestings, at ordinary or at boundary values."""
    kinds = nesting_of(name, turn * 37, NESTINGS)
    return trial(info_of(name), kinds, random.Random(f"nested {name} {turn}"), boundary=0.4)


def trial(info: OpInfo, kinds: Sequence[str], r: random.Random, *, boundary: float) -> Trial | None:
    """Return a trial of an operator under levels of some kinds; None without a sample."""
    dtypes = [dovetail.float64] * 4 + [dovetail.complex128] * (info.name not in REAL)
    r.shuffle(dtypes)
    found = next((samples(info, each) for each in dtypes if samples(info, each)), None)
    if not found:
        return None
    number = r.randrange(len(found))
    sample = found[number]
    tensors = sample.tensors()
    places = differentiable_results(info, sample)
    varied = [place for place, each in enumerate(tensors) if each.requires_grad]
    values = [each.detach().resolve_conj().numpy().copy() for each in tensors]
    symmetric = [place for place in varied if _is_symmetric(values[place])]
    note = ""
    if r.random() < boundary and not info.name.startswith(INSIDE):
        note = r.choice(sorted(BOUNDARIES))
        for place in varied:
            if r.random() < 0.7:
                values[place] = BOUNDARIES[note](values[place], r)
    levels = tuple([drawn_level(kind, varied, len(tensors), r) for kind in kinds])
    in_memory = info.name.startswith(OF_MEMORY)
    if in_memory:
        levels = tuple([replace(each, dim=0) for each in levels])
    batched(values, levels)

    def body(lib: Any, leaves: Leaves) -> list[Any]:
        given = list(leaves)
        for place in symmetric:
            given[place] = (given[place] + given[place].mH) / 2
        if in_memory:
            given = [each.clone() for each in given]
        remaining = iter(given)
        made = sample.transform(lambda tensor: next(remaining))
        all_results = results(info.op, made)
        wanted = [all_results[each] for each in places]
        if info.name.startswith(OF_PHASES):
            return [(each * each.conj()).real if each.is_complex() else each**2 for each in wanted]
        return wanted

    text = f"sample {number} {sample} {note}"
    return Trial(info.name, body, tuple(values), levels, text=text)


def batched(values: list[Any], levels: Sequence[Level]) -> None:
    """Give the values of leaves the batch dimensions of the levels."""
    for level in reversed(levels):
        if level.kind == "vmap":
            for place in level.leaves:
                values[place] = _batch(values[place], level.dim)


def drawn_level(kind: str, varied: list[int], count: int, r: random.Random) -> Level:
    among = list(range(count)) if kind == "vmap" else varied
    chosen = [each for each in among if r.random() < 0.6] or [r.choice(among)]
    return Level(kind, tuple(chosen), r.randrange(10**6), r.choice((0, 0, 1)))


def _batch(value: Any, dim: int) -> Any:
    entries = [value, value * 0.75 if value.dtype.kind in "fc" else value][:ENTRIES]
    return np.stack(entries, min(dim, value.ndim))


def _is_symmetric(value: Any) -> bool:
    if value.ndim < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < 2:
        return False
    # Products of a matrix and its adjoint are Hermitian but for a rounding error.
    return bool(np.allclose(value, value.swapaxes(-1, -2).conj(), 1e-12, 1e-12))


def _zeros(value: Any, r: random.Random) -> Any:
    mask = np.array([r.random() < 0.4 for _ in range(value.size)], bool).reshape(value.shape)
    return np.where(mask, 0, value)


def _ties(value: Any, r: random.Random) -> Any:
    flat = value.ravel().copy()
    for _ in range(value.size // 2):
        flat[r.randrange(value.size)] = flat[r.randrange(value.size)]
    return flat.reshape(value.shape)


def _equal(value: Any, r: random.Random) -> Any:
    return np.full_like(value, value.ravel()[0]) if value.size else value


def _identity(value: Any, r: random.Random) -> Any:
    if value.ndim < 2:
        return np.ones_like(value)
    return np.broadcast_to(np.eye(*value.shape[-2:]), value.shape).astype(value.dtype)


def _all_zero(value: Any, r: random.Random) -> Any:
    return np.zeros_like(value)


BOUNDARIES = {
    "zeros": _zeros,
    "ties": _ties,
    "equal": _equal,
    "identity": _identity,
    "all zero": _all_zero,
}
"""Values at which derivatives are easily wrong."""
