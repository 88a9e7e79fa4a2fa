"""Calls of PyTorch's table of operators, `op_db`, at the sizes of programs: kernels go other ways
there than on its small samples, by the number of elements, the length of rows, the order in memory.

A sample is made larger: all dimensions of one size get another. The error of each result, against
PyTorch in double precision, may be a few times that of PyTorch.
"""

from __future__ import annotations

import contextlib
import math
import random
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from exactness import different
from op_db_checks import RANDOM, UNINITIALISED, entries, flat
from torch_twins import Absent, function_twin, twin

import dovetail

COUNTS = (120, 128, 192, 256, 512, 1024, 4096, 2**13, 2**14, 2**15, 2**16)
"""Elements at which kernels begin to go another way, or are near it."""
WAYS = ("plain", "plain", "inference", "in place", "out", "gradient", "gradient", "tangent")
LAYOUTS = ("", "", "", "transposed", "stepped", "offset", "expanded")
HARD = (math.inf, -math.inf, math.nan, -0.0, 0.0, 1e-40, 88.5, -104.0, 1e-7)
WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
LEFT_OUT = {
    **dict.fromkeys(
        [
            "lu_solve",
            "lu_unpack",
            "linalg.lu_solve",
            "linalg.ldl_solve",
            "ormqr",
            "_segment_reduce",
        ],
        "PyTorch reads what pivots, reflectors and offsets of other sizes say, and may end",
    ),
    **dict.fromkeys(
        ["sort", "argsort", "msort", "topk", "kthvalue", "mode", "median", "nanmedian"],
        "which of equal elements is named is open",
    ),
    **dict.fromkeys(["bucketize", "searchsorted"], "boundaries of random order have no places"),
    **dict.fromkeys(
        ["scatter", "index_copy", "index_put", "put", "masked_scatter", "as_strided_scatter"],
        "which of several writes to a place is the last is open",
    ),
    **dict.fromkeys(
        ["geqrf", "qr", "svd"], "of equal values and dependent columns any basis is one"
    ),
    **dict.fromkeys(["lu", "cholesky_inverse", "cholesky_solve", "matrix_exp"], "ill-conditioned"),
    **dict.fromkeys(["logdet", "det", "norm.nuc", "pinverse"], "ill-conditioned"),
    **dict.fromkeys(["broadcast_tensors", "combinations", "block_diag", "cartesian_prod"], "grow"),
    **dict.fromkeys(["meshgrid", "kron", "diag_embed", "diagflat", "vander", "pdist"], "grow"),
    **dict.fromkeys(["cdist", "pdist", "gcd", "lcm"], "grow, or take long"),
    **dict.fromkeys(["expand", "expand_copy", "expand_as", "broadcast_to", "corrcoef"], "grow"),
    **dict.fromkeys(["var_mean", "std_mean"], "tangents of no elements are no numbers"),
    "nn.functional.embedding_bag": "offsets of random order are no bags",
    "gradient": "samples of equal coordinates have no slope",
    "nn.functional.hardsigmoid": "PyTorch multiplies by a sixth of single precision",
    "polygamma": "beside poles there are NaN or numbers",
    "triangular_solve": "PyTorch's tangents count elements that are not read",
    "chalf": "there is no complex half",
    "unravel_index": "its results lie apart in memory",
}
"""Entries whose larger samples say nothing, by name or by its last part, and why."""

WRONG_THERE = {
    ("native_batch_norm", "out"): "PyTorch takes an input with gaps as if it had none",
    ("_native_batch_norm_legit", "out"): "there is no such overload here",
    ("native_group_norm", "gradient"): "mean and deviation have no gradients here",
    ("addbmm", "in place"): "PyTorch lets the tensor that is written grow",
}
"""Calls whose results are not compared, by entry and way, and why."""


@dataclass(frozen=True)
class RealCall:
    """A call of an entry of the table, and how it is made."""

    entry: Any
    way: str
    sample: tuple[Any, tuple[Any, ...], dict[str, Any]]
    process: Any
    text: str


def names() -> list[str]:
    """Return the entries of the table that are called."""
    drawn = RANDOM | UNINITIALISED
    return [
        name
        for name, entry in entries().items()
        if entry.name not in drawn
        and not LEFT_OUT.keys() & {name, entry.name, entry.name.rpartition(".")[2]}
        and not entry.name.startswith("linalg.")
    ]


def real_call(name: str, seed: int) -> RealCall | None:
    """Return a call of an entry at another size; None where its samples have no sizes."""
    r = random.Random(f"{name} {seed}")
    entry = entries()[name]
    known = sorted([each for each in entry.supported_dtypes("cpu") if _is_here(each)], key=str)
    often = [each for each in known if each in (torch.float32, torch.float64)]
    if not known:
        return None
    dtype = r.choice(often * 4 + known)
    torch.manual_seed(seed)
    samples = list(islice(entry.sample_inputs("cpu", dtype, requires_grad=False), 30))
    if not samples:
        return None
    sample = r.choice(samples)
    given = sample.input, sample.args, sample.kwargs
    sizes = _sizes(tensors_in(given), r, r.choice(COUNTS) + r.choice([-1, 0, 1, 7]))
    if sizes is None:
        return None
    generator = torch.Generator().manual_seed(seed)
    way = _possible(entry, dtype, r.choice(WAYS))
    is_hard, layouts = r.random() < 0.25 and way in WAYS[:5], r.random() < 0.5

    def changed(tensor: Any) -> Any:
        made = _resized(tensor, sizes, generator)
        if is_hard and made.dtype.is_floating_point and made.numel():
            for _ in range(3):
                made.view(-1)[r.randrange(made.numel())] = r.choice(HARD)
        return _laid_out(made, r.choice(LAYOUTS) if layouts else "")

    made = _renumbered(_changed(given, changed), sizes)
    shapes = [f"{tuple(each.shape)}{each.stride()}" for each in tensors_in(made)]
    text = f"{name}, {way}, seed {seed}: {dtype}, {shapes}"
    return RealCall(entry, way, made, sample.output_process_fn_grad, text)


def _is_here(dtype: Any) -> bool:
    return dtype is not torch.complex32 and hasattr(dovetail, str(dtype).rpartition(".")[2])


def _possible(entry: Any, dtype: Any, way: str) -> str:
    inexact = dtype.is_floating_point or dtype.is_complex
    if (entry.name, way) in WRONG_THERE:
        return "plain"
    if way in ("gradient", "tangent") and not (entry.supports_autograd and inexact):
        return "plain"
    if way == "tangent" and not entry.supports_forward_ad:
        return "plain"
    if way == "in place":
        try:
            return (
                way if entry.inplace_variant and function_twin(entry.inplace_variant) else "plain"
            )
        except Absent:
            return "plain"
    return way if way != "out" or entry.supports_out else "plain"


# -- larger samples --------------------------------------------------------------------------------


def tensors_in(value: Any) -> list[Any]:
    """Return the tensors of PyTorch within lists, tuples and dicts."""
    found: list[Any] = []
    _changed(value, lambda each: found.append(each) or each)
    return found


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, torch.Tensor | dovetail.Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_changed(each, change) for each in value])
    if isinstance(value, list | tuple) and not isinstance(value, torch.Size | dovetail.Size):
        return type(value)([_changed(each, change) for each in value])
    if isinstance(value, dict):
        return {key: _changed(each, change) for key, each in value.items()}
    return value


def _sizes(tensors: list[Any], r: random.Random, count: int) -> dict[int, int] | None:
    """Return what one of the sizes of tensors becomes, so that one has about `count` elements."""
    if any([each.layout is not torch.strided for each in tensors]):
        return None
    pool = sorted({size for each in tensors for size in each.shape if size > 1})
    if not pool:
        return None
    size = r.choice(pool)
    most = max([each for each in tensors if size in each.shape], key=lambda each: each.numel())
    power = list(most.shape).count(size)
    others = math.prod([each for each in most.shape if each != size]) or 1
    sizes = {size: max(1, round((count / others) ** (1 / power)))}
    shapes = [[sizes.get(each, each) for each in one.shape] for one in tensors]
    with contextlib.suppress(ValueError):
        shapes.append(list(np.broadcast_shapes(*map(tuple, shapes))))
    return sizes if sum(map(math.prod, shapes)) <= 12 * count else None


def _resized(tensor: Any, sizes: dict[int, int], generator: Any) -> Any:
    """Return a tensor of other sizes, with elements near those that it has."""
    shape = [sizes.get(size, size) for size in tensor.shape]
    elements = tensor.detach().resolve_conj().resolve_neg().reshape(-1)
    if list(tensor.shape) == shape or not len(elements):
        return elements.clone().reshape(tensor.shape)
    made = elements[torch.randint(len(elements), (math.prod(shape),), generator=generator)]
    if made.dtype.is_floating_point or made.dtype.is_complex:
        factor = 0.9 + 0.2 * torch.rand(len(made), generator=generator, dtype=torch.float64)
        made = (made.to(WIDER.get(made.dtype, made.dtype)) * factor).to(made.dtype)
    return made.reshape(shape)


def _renumbered(value: Any, sizes: dict[int, int]) -> Any:
    """Return arguments with other sizes in lists of sizes."""
    if isinstance(value, dict):
        return {key: _renumbered(each, sizes) for key, each in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if value and all([type(each) is int for each in value]):
            return type(value)([sizes.get(each, each) if each > 2 else each for each in value])
        return type(value)([_renumbered(each, sizes) for each in value])
    return value


def _laid_out(tensor: Any, layout: str) -> Any:
    if not tensor.ndim or not tensor.numel():
        return tensor
    if layout == "transposed":
        dims = tuple(range(tensor.ndim))[::-1]
        return tensor.permute(dims).contiguous().permute(dims)
    if layout == "stepped":
        return tensor.repeat_interleave(2, -1)[..., ::2]
    if layout == "offset":
        return torch.cat([tensor.reshape(-1)[:1], tensor.reshape(-1)])[1:].view(tensor.shape)
    return tensor[:1].clone().expand(tensor.shape) if layout == "expanded" else tensor


# -- calls -----------------------------------------------------------------------------------------


def outcome(call: RealCall, *, wide: bool = False, ours: bool = False) -> Any:
    """Return the results of a call, or its error: ours, PyTorch's, or those of double precision."""
    lib: Any = dovetail if ours else torch
    sample: Any = _widened(call.sample) if wide else call.sample
    function, process = call.entry.op, call.process
    if call.way == "in place":
        function = call.entry.inplace_variant
    try:
        if ours:
            sample, process, function = (
                twin(sample),
                function_twin(process),
                function_twin(function),
            )
        input, args, kwargs = sample
        if call.way in ("gradient", "tangent"):
            derivatives = _gradients if call.way == "gradient" else _tangents
            return derivatives(lib, function, sample, process)
        if call.way == "in place":
            input = _changed(input, lambda each: each.clone())
        if call.way == "inference":
            with lib.inference_mode():
                return flat(lib, [function(input, *args, **kwargs)])
        result = function(input, *args, **kwargs)
        if call.way == "out":
            outs = [lib.full_like(each, 3) for each in flat(lib, [result])]
            out = outs[0] if isinstance(result, lib.Tensor) else tuple(outs)
            function(input, *args, **kwargs, out=out)
            return outs
        return flat(lib, [result])
    except Exception as error:
        return error


def _widened(value: Any) -> Any:
    value = _changed(value, lambda each: each.to(WIDER.get(each.dtype, each.dtype)))

    def dtypes(each: Any) -> Any:
        return WIDER.get(each, each) if isinstance(each, torch.dtype) else each

    input, args, kwargs = value
    return input, tuple([dtypes(x) for x in args]), {key: dtypes(x) for key, x in kwargs.items()}


def _seed_like(lib: Any, tensor: Any, number: int) -> Any:
    r = np.random.default_rng(number)
    return lib.from_numpy(r.uniform(0.5, 1.5, tuple(tensor.shape))).to(tensor.dtype)


def _inexact(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating_point or tensor.dtype.is_complex)


def _gradients(lib: Any, function: Any, sample: Any, process: Any) -> list[Any]:
    leaves: list[Any] = []

    def leaf(each: Any) -> Any:
        leaves.append(each.detach().requires_grad_(_inexact(each)))
        return leaves[-1]

    input, args, kwargs = _changed(sample, leaf)
    outputs = flat(lib, process(function(input, *args, **kwargs)))
    outputs = [each for each in outputs if each.requires_grad]
    leaves = [each for each in leaves if each.requires_grad]
    seeds = [_seed_like(lib, each, number) for number, each in enumerate(outputs)]
    return list(lib.autograd.grad(outputs, leaves, seeds, allow_unused=True)) if outputs else []


def _tangents(lib: Any, function: Any, sample: Any, process: Any) -> list[Any]:
    forward = lib.autograd.forward_ad
    with forward.dual_level():

        def dual(each: Any) -> Any:
            return forward.make_dual(each, _seed_like(lib, each, 1)) if _inexact(each) else each

        input, args, kwargs = _changed(sample, dual)
        outputs = flat(lib, process(function(input, *args, **kwargs)))
        return [forward.unpack_dual(each).tangent for each in outputs]


# -- comparisons -----------------------------------------------------------------------------------

ALWAYS_ACCEPTED = (
    "not implemented for",
    "not differentiable with respect",
    "single memory location",
)
"""Words of refusals of PyTorch, of dtypes and of derivatives that are here."""
REFUSED_HERE = ("must not be a floating point number", "view_as_complex is only supported")
"""Words of refusals that `differences.md` has."""


def _exact_outcome(call: RealCall) -> Any:
    """Return PyTorch's results in double precision, of whole numbers too."""
    single = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return outcome(call, wide=True)
    finally:
        torch.set_default_dtype(single)


def _are_huge(results: list[Any]) -> bool:
    """Return whether results of a size that was changed too take more memory than there may be."""
    return sum([each.numel() for each in results if each is not None]) > 1 << 25


def difference(call: RealCall) -> str:
    """Return how a call gives something else than PyTorch, or nothing."""
    theirs = outcome(call)
    if not isinstance(theirs, Exception) and _are_huge(theirs):
        return ""
    ours = outcome(call, ours=True)
    if isinstance(ours, Absent | MemoryError):
        return ""
    if isinstance(theirs, Exception):
        refused = isinstance(theirs, NotImplementedError)
        if refused or any([words in str(theirs) for words in ALWAYS_ACCEPTED]):
            return ""
        alike = type(ours).__name__ == type(theirs).__name__.lstrip("_")
        return (
            "" if alike or isinstance(ours, type(theirs)) else f"{ours!r:.200}, not {theirs!r:.200}"
        )
    if isinstance(ours, Exception):
        named = any([words in str(ours) for words in REFUSED_HERE])
        return "" if named else f"{ours!r:.200}, not a result"
    if len(ours) != len(theirs):
        return f"{len(ours)} results, not {len(theirs)}"
    exact = _exact_outcome(call)
    if isinstance(exact, Exception) or len(exact) != len(theirs):
        exact = [None] * len(theirs)
    for mine, other, best in zip(ours, theirs, exact, strict=True):
        if other is None:
            continue  # a derivative that PyTorch lacks, or of nothing
        found = "no derivative" if mine is None else different(mine, other, best)
        if found:
            return found
    return ""
