"""Random programs, run on Dovetail and on PyTorch: every value, property, gradient and type of error is the same.

A program is a list of small records, interpreted by one interpreter that has the library as its parameter. Operands
are picked from a pool, to which every step adds its results; a step that raises leaves the pool as it was, and the
program goes on. `DOVETAIL_PROGRAMS=5000` runs more of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "600"))

# Most pairs broadcast or multiply; some do not, for the errors.
SHAPES = [(3,), (2, 3), (3, 3), (1, 3), (2, 1), (), (1,), (0, 3), (0,), (2, 1, 3), (2, 3, 3), (2,)]
DTYPES = ["float32", "float32", "float64", "float16"]
SCALARS = [2, 0.5, -1, 1.5, 3, -0.5, 0, 1]
DIMS = [0, -1, 1, 0, -2, 2]
# Exact in every dtype and with many ties, so that kernels that round differently do not change what a comparison says.
NUMBERS = np.array([1.0, -0.5, 2.0, 0.25, -1.0, 0.5, 1.5, 0.0, -2.0, 0.75, 1.0, 3.0, 0.5, -0.25, 1.25, -1.5, 2.5, 1.75])
TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "float16": 2e-2}


@dataclass(frozen=True)
class Leaf:
    """A tensor that the program starts with."""

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool
    transposed: bool
    start: int


@dataclass(frozen=True)
class Step:
    """One call: its operation, three operands as places in the pool, and a number that settles its other arguments."""

    name: str
    operands: tuple[int, int, int]
    number: int
    grad: bool


@dataclass(frozen=True)
class Program:
    """The leaves, the steps, which tensors the loss is made of, and whether the gradient is differentiated again."""

    leaves: list[Leaf]
    steps: list[Step]
    losses: tuple[int, int]
    twice: bool


Operation = Callable[[Any, Any, Any, Any, int], Any]
OPERATIONS: dict[str, Operation] = {}
"""What the steps may be. Left out, or guarded, is what differs without mattering here: which of several errors an
operator finds first for sizes of zero and tensors without dimensions, signs of zeros, composites whose parts PyTorch
chooses by size (einsum, products of more than two dimensions), the memory order of cumulative sums, partial writes
before an error, and values that overlap the destination.
"""


def scalar(number: int) -> Any:
    return SCALARS[number % len(SCALARS)]


def dim(number: int) -> int:
    return DIMS[number % len(DIMS)]


def unary(names: str) -> None:
    for name in names.split():
        OPERATIONS[name] = lambda lib, a, b, c, n, name=name: getattr(a, name)()


def binary(names: str) -> None:
    for name in names.split():
        OPERATIONS[name] = lambda lib, a, b, c, n, name=name: getattr(a, name)(b)


def with_scalar(names: str) -> None:
    for name in names.split():
        OPERATIONS[f"{name}(scalar)"] = lambda lib, a, b, c, n, name=name: getattr(a, name)(scalar(n))


def with_dim(names: str, *, keepdim: bool) -> None:
    for name in names.split():
        OPERATIONS[f"{name}(dim)"] = lambda lib, a, b, c, n, name=name: (
            getattr(a, name)(dim(n), keepdim=n % 2 == 1) if keepdim else getattr(a, name)(dim(n))
        )


def write(tensor: Any, index: Any, value: Any) -> None:
    tensor[index] = value


unary("relu sigmoid tanh exp log sqrt abs neg sin cos square sign floor log1p expm1 erf trunc logical_not")
unary("isnan clone detach t contiguous flatten squeeze sum mean prod amax amin max min argmax all any var std norm")
unary("relu_ exp_ sqrt_ neg_ zero_ sigmoid_ tanh_ unbind double half float tril triu atan")
binary("add sub mul div pow maximum minimum mm dot outer eq lt gt ge ne")
binary("add_ sub_ mul_ div_ pow_ copy_ view_as __rsub__ __rtruediv__ bmm")
with_scalar("add sub mul div pow eq lt gt ge ne add_ sub_ mul_ div_ pow_ fill_ __rsub__ __rtruediv__")
with_scalar("__rpow__ clamp clamp_ __radd__ __rmul__ __add__ __iadd__ __imul__")
with_dim("sum mean prod amax amin max min argmax all any var std logsumexp", keepdim=True)
with_dim("softmax log_softmax unsqueeze squeeze unbind flip sort", keepdim=False)
OPERATIONS |= {
    "cumsum": lambda lib, a, b, c, n: a.contiguous().cumsum(dim(n)),
    "cumprod": lambda lib, a, b, c, n: a.contiguous().cumprod(dim(n)),
    "remainder": lambda lib, a, b, c, n: a.remainder(b) + 0.0,
    "fmod": lambda lib, a, b, c, n: a.fmod(scalar(n)) + 0.0,
    "add(alpha)": lambda lib, a, b, c, n: lib.add(a, b, alpha=scalar(n)),
    "sub(alpha)": lambda lib, a, b, c, n: a.sub(b, alpha=scalar(n)),
    "clamp(min)": lambda lib, a, b, c, n: a.clamp(min=scalar(n)),
    "where": lambda lib, a, b, c, n: lib.where(a > scalar(n), b, c),
    "where(scalar)": lambda lib, a, b, c, n: lib.where(a < b, c, scalar(n)),
    "lerp": lambda lib, a, b, c, n: lib.lerp(a, b.to(a.dtype), c.to(a.dtype)),
    "lerp(scalar)": lambda lib, a, b, c, n: lib.lerp(a, b.to(a.dtype), 0.5),
    "addmm": lambda lib, a, b, c, n: lib.addmm(a, b, c, beta=scalar(n)),
    "addcmul": lambda lib, a, b, c, n: lib.addcmul(a, b, c, value=scalar(n)),
    "addcdiv": lambda lib, a, b, c, n: lib.addcdiv(a, b, c, value=scalar(n)),
    "cat": lambda lib, a, b, c, n: (
        lib.cat([a, b, c], dim(n)) if a.ndim == b.ndim == c.ndim > 0 and min(a.numel(), b.numel(), c.numel()) else None
    ),
    "stack": lambda lib, a, b, c, n: lib.stack([a, b, c][: 2 + n % 2], dim(n)),
    "sum(dims)": lambda lib, a, b, c, n: a.sum((0, dim(n))),
    "mean(dims)": lambda lib, a, b, c, n: a.mean((-1, -2), keepdim=n % 2 == 0),
    "sum(dtype)": lambda lib, a, b, c, n: a.sum(dtype=lib.float64),
    "view": lambda lib, a, b, c, n: a.contiguous().view(-1),
    "view(shape)": lambda lib, a, b, c, n: a.contiguous().view(3, -1),
    "reshape": lambda lib, a, b, c, n: a.reshape(-1, [1, 2, 3][n % 3]),
    "select": lambda lib, a, b, c, n: a.select(dim(n), n % 3),
    "narrow": lambda lib, a, b, c, n: a.narrow(dim(n), n % 2, 1 + n % 2),
    "expand": lambda lib, a, b, c, n: a.expand(2, -1, 3).mul(1) if n % 2 else a.expand(2, 3).mul(1),
    "transpose": lambda lib, a, b, c, n: a.transpose(0, dim(n)),
    "permute": lambda lib, a, b, c, n: a.permute(*[(1, 0), (2, 0, 1), (0,), (-1, 0)][n % 4]),
    "movedim": lambda lib, a, b, c, n: a.movedim(0, dim(n)),
    "diagonal": lambda lib, a, b, c, n: a.diagonal(n % 3 - 1),
    "split": lambda lib, a, b, c, n: a.split(1 + n % 3, dim(n)),
    "chunk": lambda lib, a, b, c, n: a.chunk(1 + n % 3, dim(n)),
    "repeat": lambda lib, a, b, c, n: a.repeat(2, 1 + n % 2),
    "roll": lambda lib, a, b, c, n: a.roll(1, dim(n)) if a.ndim and a.numel() else None,
    "topk": lambda lib, a, b, c, n: a.topk(1 + n % 2, dim(n)),
    "to": lambda lib, a, b, c, n: a.to([lib.float64, lib.float32, lib.float16, lib.int64][n % 4]),
    "a[i]": lambda lib, a, b, c, n: a[n % 3],
    "a[i:]": lambda lib, a, b, c, n: a[n % 3 :: 1 + n % 2],
    "a[..., i]": lambda lib, a, b, c, n: a[..., n % 3],
    "a[None]": lambda lib, a, b, c, n: a[None],
    "a[:, i:]": lambda lib, a, b, c, n: a[:, 1 + n % 2 :],
    "a[list]": lambda lib, a, b, c, n: a[[0, n % 3, 0]],
    "a[mask]": lambda lib, a, b, c, n: a[a > scalar(n)],
    "a[b > s]": lambda lib, a, b, c, n: a[b > scalar(n)],
    "a[i] = s": lambda lib, a, b, c, n: write(a, n % 3, scalar(n)),
    "a[i] = b": lambda lib, a, b, c, n: write(a, n % 3, b),
    "a[..., i:] = b": lambda lib, a, b, c, n: write(a, (..., slice(1 + n % 2, None)), b),
    "a[mask] = s": lambda lib, a, b, c, n: write(a, a > 0, scalar(n)),
    "a[mask] = c": lambda lib, a, b, c, n: write(a, a > 0, c.sum().to(a.dtype)),
    "a[list] = b": lambda lib, a, b, c, n: write(a, [0, -1], b.to(a.dtype, copy=True)) if a.numel() else None,
    "a[-2:] = b": lambda lib, a, b, c, n: write(a, slice(-2, None), b),
    "index_select": lambda lib, a, b, c, n: a.index_select(dim(n), lib.tensor([0])) if a.numel() else None,
    "gather": lambda lib, a, b, c, n: a.clone().gather(dim(n), lib.zeros_like(b, dtype=lib.int64)),
    "masked_fill": lambda lib, a, b, c, n: a.masked_fill(b > 0, scalar(n)),
    "masked_fill_": lambda lib, a, b, c, n: a.masked_fill_(b > 0, scalar(n)),
    "masked_select": lambda lib, a, b, c, n: a.masked_select(b > 0),
    "scatter": lambda lib, a, b, c, n: a.scatter(dim(n), lib.zeros_like(b, dtype=lib.int64), b.to(a.dtype)),
    "view().mul_": lambda lib, a, b, c, n: a[0].mul_(scalar(n)),
    "t().add_": lambda lib, a, b, c, n: a.t().add_(b),
    "detach().mul_": lambda lib, a, b, c, n: None if a._is_view() else a.detach().mul_(scalar(n)),
    "a.data": lambda lib, a, b, c, n: a.data,
    "rsqrt": lambda lib, a, b, c, n: (a * a + 1).rsqrt(),
    "reciprocal": lambda lib, a, b, c, n: (a * a + 0.5).reciprocal(),
    "matmul": lambda lib, a, b, c, n: a @ b if max(a.ndim, b.ndim) < 3 and a.numel() and b.numel() else None,
    "mv": lambda lib, a, b, c, n: a.mv(b) if a.ndim == 2 and b.ndim == 1 else None,
    "atan2": lambda lib, a, b, c, n: a.atan2(b * b + 1),
    "reuse": lambda lib, a, b, c, n: a * a + a,
    "grad mode inside": lambda lib, a, b, c, n: enabled(lib, a, b),
}

IN_PLACE = ("_", "_(scalar)", "= s", "= b", "= c", "(alpha)")


def enabled(lib: Any, a: Any, b: Any) -> Any:
    with lib.enable_grad():
        return a * b


STEP = st.builds(
    Step,
    st.sampled_from(sorted(OPERATIONS)),
    st.tuples(*[st.integers(0, 20)] * 3),
    st.integers(0, 11),
    st.sampled_from([True, True, True, True, True, True, True, False]),
)
LEAF = st.builds(
    Leaf,
    st.sampled_from(SHAPES),
    st.sampled_from(DTYPES),
    st.sampled_from([True, True, False]),
    st.booleans(),
    st.integers(0, len(NUMBERS) - 1),
)
PROGRAM = st.builds(
    Program,
    st.lists(LEAF, min_size=2, max_size=4),
    st.lists(STEP, min_size=3, max_size=10),
    st.tuples(st.integers(0, 20), st.integers(0, 20)),
    st.booleans(),
)


def make(lib: Any, leaf: Leaf) -> Any:
    """Return a leaf; a transposed one is not contiguous."""
    values = np.resize(np.roll(NUMBERS, leaf.start), leaf.shape)
    dtype = getattr(lib, leaf.dtype)
    if leaf.transposed:
        tensor = (
            lib.tensor(values.T.tolist(), dtype=dtype)
            .reshape(leaf.shape[::-1])
            .permute(tuple(range(values.ndim)[::-1]))
        )
        return tensor.detach().requires_grad_(leaf.requires_grad)
    return lib.tensor(values.tolist(), dtype=dtype).reshape(leaf.shape).requires_grad_(leaf.requires_grad)


@dataclass(frozen=True)
class State:
    """What is compared of a tensor; of a node, its name and those of the nodes before it."""

    dtype: str
    shape: tuple[int, ...]
    requires_grad: bool
    is_leaf: bool
    version: int
    nodes: tuple[str, ...]
    is_view: bool
    values: Any


def node_name(node: Any) -> str:
    """Return the name of a node without its namespace, which is the library's."""
    name = node.name().rpartition(":")[2] if node else ""
    return "ViewBackward0" if name == "ReshapeAliasBackward0" else name


def node_names(node: Any) -> tuple[str, ...]:
    """Return the names of a node and of those before it; what a write goes through differs within its node."""
    name = node_name(node)
    if name in ("", "CopySlices", "IndexPutBackward0", "CumprodBackward0"):
        return (name,)
    return (name, *(node_name(before) for before, _ in node.next_functions))


def state(tensor: Any, *, values_only: bool = False) -> State | str:
    """Return what is compared of a tensor, or the type of the error for a view that a write spoilt."""
    found, error = attempt(lambda: read(tensor, values_only=values_only))
    return found or error


def read(tensor: Any, *, values_only: bool) -> State:
    dtype, shape, values = str(tensor.dtype).rpartition(".")[2], tuple(tensor.shape), np.array(tensor.detach().tolist())
    if values_only:
        return State(dtype, shape, tensor.requires_grad, tensor.is_leaf, 0, (), False, values)
    return State(
        dtype,
        shape,
        tensor.requires_grad,
        tensor.is_leaf,
        tensor._version,
        node_names(tensor.grad_fn),
        tensor._is_view(),
        values,
    )


MODIFIED = "a saved tensor was modified"


def attempt(call: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what a call gives and "", or None and the name of the type of its error."""
    try:
        return call(), ""
    except Exception as error:
        return None, f"{type(error).__name__}"


def run_step(lib: Any, step: Step, pool: list[Any]) -> list[Any]:
    """Run a step, add its results to the pool and return what is compared of it."""
    # Which of the operations take integers and bools, each with its own message, is the business of other tests.
    floats = [tensor for tensor in pool if tensor.is_floating_point()]
    a, b, c = (floats[place % len(floats)] for place in step.operands)

    def call() -> Any:
        with contextlib.nullcontext() if step.grad else lib.no_grad():
            return OPERATIONS[step.name](lib, a, b, c, step.number)

    # After it, PyTorch makes the node of a view anew, without a way to the leaf.
    if not step.grad and step.name.endswith(IN_PLACE) and a.requires_grad:
        return []
    result, error = attempt(call)
    found = [result] if isinstance(result, lib.Tensor) else list(() if result is None else result)
    # A view made in no_grad mode of what requires grad has no node: PyTorch records what is made of it, in vain.
    pool.extend([tensor for tensor in found if step.grad or not tensor._is_view()])
    return [error, *(state(tensor) for tensor in found)]


def differentiate(lib: Any, program: Program, leaves: list[Any], pool: list[Any]) -> list[Any]:
    """Run backward from a loss made of two tensors of the pool; return the error, or the gradients of the leaves."""
    candidates = [tensor for tensor in pool if tensor.requires_grad]
    if not candidates:
        return []
    chosen = [candidates[-1 - place % len(candidates)] for place in program.losses]

    def total(tensors: list[Any]) -> Any:
        return sum((tensor * tensor).sum().double() for tensor in tensors)

    def backward() -> None:
        wanted = [leaf for leaf in leaves if leaf.requires_grad and leaf.is_leaf]
        if program.twice and wanted:
            grads = lib.autograd.grad(total(chosen), wanted, create_graph=True, allow_unused=True)
            total([grad for grad in grads if grad is not None] + chosen).backward()
        else:
            total(chosen).backward()

    try:
        backward()
        error = ""
    except Exception as found:
        error = MODIFIED if "modified by an inplace operation" in str(found) else type(found).__name__
    if error:
        # How many of the gradients were added before the error is the engine's own affair.
        return [error]
    # The version of .grad is left out: how often a gradient is added in place is the engine's own affair.
    return [error, *(leaf.grad is not None and state(leaf.grad, values_only=True) for leaf in leaves if leaf.is_leaf)]


def run(lib: Any, program: Program) -> list[tuple[str, list[Any]]]:
    """Run a program and return what is compared: of every step, of every tensor at the end, of the gradients."""
    leaves = [make(lib, leaf) for leaf in program.leaves]
    pool = list(leaves)
    outcomes = [(step.name, run_step(lib, step, pool)) for step in program.steps]
    outcomes.append(("the pool at the end", [state(tensor) for tensor in pool]))
    outcomes.append(("the gradients", differentiate(lib, program, leaves, pool)))
    return outcomes


def difference(ours: Any, theirs: Any, tolerance: float) -> str:
    """Return how two outcomes differ, values by more than the tolerance."""
    if not isinstance(ours, State) or not isinstance(theirs, State):
        return "" if ours == theirs else f"{ours!r} instead of {theirs!r}"
    for field in dataclasses.fields(State)[:-1]:
        mine, other = getattr(ours, field.name), getattr(theirs, field.name)
        if mine != other:
            return f"{field.name} {mine!r} instead of {other!r}"
    mine, other = ours.values.astype(float), theirs.values.astype(float)
    scale = max(1.0, *np.abs(other[np.isfinite(other)]).ravel(), 1.0)
    if np.allclose(mine, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        return ""
    return f"{ours.dtype} {ours.values.tolist()} instead of {theirs.values.tolist()}"


def disagreement(program: Program) -> str:
    """Return where and how the libraries first disagree on a program, or the empty string."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = run(dovetail, program), run(torch, program)
    tolerance = max(TOLERANCE[leaf.dtype] for leaf in program.leaves)
    if any(step.name in ("half", "float", "to") for step in program.steps):
        tolerance = TOLERANCE["float16"]
    if theirs[-1][1] == [MODIFIED]:
        # Dovetail saves less in some nodes (gather keeps sizes), and so may go on where PyTorch cannot.
        ours, theirs = ours[:-1], theirs[:-1]
    for (where, mine), (_, other) in zip(ours, theirs, strict=True):
        for one, another in itertools.zip_longest(mine, other):
            if found := difference(one, another, tolerance):
                return f"{where}: {found}"
    return ""


@settings(
    max_examples=PROGRAMS, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(PROGRAM)
def test_a_random_program_gives_on_dovetail_what_it_gives_on_pytorch(program: Program) -> None:
    assert disagreement(program) == ""
