"""Random programs: made from a seed, run on any library with PyTorch's names, compared, and made
smaller.

A program is a list of small records, interpreted by one interpreter that has the library as its
parameter. Operands are picked from a pool, to which every step adds its results; a step that raises
leaves the pool as it was, and the program goes on.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shrinking
from oracle.outcomes import Closeness, Comparison, Seen, outcome, seen
from random_operations import IN_PLACE, OPERATIONS

# Most pairs broadcast or multiply; some do not, for the errors.
SHAPES = [
    (3,),
    (2, 3),
    (3, 3),
    (1, 3),
    (2, 1),
    (),
    (1,),
    (0, 3),
    (0,),
    (2, 1, 3),
    (2, 3, 3),
    (2,),
    (3, 2),
]
DTYPES = ["float32"] * 6 + ["float64"] * 4 + ["float16", "complex64", "complex128", "int64", "bool"]
# Exact in every dtype and with many ties, so that kernels that round differently do not change what
# a comparison says.
NUMBERS = np.array(
    [
        1.0,
        -0.5,
        2.0,
        0.25,
        -1.0,
        0.5,
        1.5,
        0.0,
        -2.0,
        0.75,
        1.0,
        3.0,
        0.5,
        -0.25,
        1.25,
        -1.5,
        2.5,
        1.75,
    ]
)
TOLERANCE = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 2e-4,
    "complex64": 2e-4,
    "float16": 2e-2,
}
NAMES = sorted(OPERATIONS)
MODES = ("grad",) * 14 + ("no_grad", "no_grad", "inference")
MODIFIED = "a saved tensor was modified"
_MODIFIED_TEXTS = ("modified by an inplace operation", "has been detached in-place")
SAVED = "an inference tensor would be saved"
SPOILT = "an inference tensor may have been written to"
REFUSED = ("RuntimeError", "NotImplementedError", "IndexError")
"""Which of them it is for two faults at once, in shapes and dtypes, is the affair of each operator.
"""


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
    """One call: its operation, three operands as places in the pool, a number for its other
    arguments, the grad mode.

    With `of_any_dtype` the operands may be integers, bools and complex numbers, else floats alone.
    """

    name: str
    operands: tuple[int, int, int]
    number: int
    mode: str
    of_any_dtype: bool


@dataclass(frozen=True)
class Program:
    """The leaves, the steps, which tensors the loss is made of, and whether the gradient is
    differentiated again.
    """

    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    losses: tuple[int, int]
    twice: bool


def random_program(seed: int) -> Program:
    """Return the program of a seed: the same one on every machine."""
    r = random.Random(f"program {seed}")
    leaves = [
        Leaf(
            r.choice(SHAPES),
            r.choice(DTYPES),
            r.random() < 0.7,
            r.random() < 0.4,
            r.randrange(len(NUMBERS)),
        )
        for _ in range(r.randint(2, 4))
    ]
    steps = [
        Step(
            r.choice(NAMES),
            (r.randrange(24), r.randrange(24), r.randrange(24)),
            r.randrange(12),
            r.choice(MODES),
            r.random() < 0.15,
        )
        for _ in range(r.randint(3, 9))
    ]
    return Program(
        tuple(leaves), tuple(steps), (r.randrange(20), r.randrange(20)), r.random() < 0.4
    )


def smaller(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return the program without the steps and leaves that are not needed for it to fail."""
    steps = shrinking.smaller(program.steps, lambda each: fails(replace(program, steps=each)))
    program = replace(program, steps=steps)
    leaves = shrinking.smaller(program.leaves, lambda each: fails(replace(program, leaves=each)))
    return replace(program, leaves=leaves)


def make(lib: Any, leaf: Leaf) -> Any:
    """Return a leaf; a transposed one is not contiguous."""
    values = np.resize(np.roll(NUMBERS, leaf.start), leaf.shape)
    if leaf.dtype in ("int64", "bool"):
        values = values.astype(leaf.dtype)
    elif leaf.dtype.startswith("complex"):
        values = values + 1j * np.resize(np.roll(NUMBERS, leaf.start + 5), leaf.shape)
    dtype, requires_grad = getattr(lib, leaf.dtype), leaf.requires_grad and leaf.dtype in TOLERANCE
    if leaf.transposed:
        tensor = lib.tensor(values.T.tolist(), dtype=dtype).reshape(leaf.shape[::-1])
        return (
            tensor.permute(tuple(range(values.ndim)[::-1])).detach().requires_grad_(requires_grad)
        )
    return (
        lib.tensor(values.tolist(), dtype=dtype).reshape(leaf.shape).requires_grad_(requires_grad)
    )


# PyTorch squeezes the product of a vector and a matrix in place, which Dovetail has no operator
# for.
_SAME_NODES = {"ReshapeAliasBackward0": "ViewBackward0", "SqueezeBackward4": "UnsafeViewBackward0"}


def node_name(node: Any) -> str:
    """Return the name of a node without its namespace, which is the library's."""
    name = node.name().rpartition(":")[2] if node else ""
    return _SAME_NODES.get(name, name)


def node_names(node: Any) -> tuple[str, ...]:
    """Return the names of a node and of those before it; what a write goes through differs within
    its node.
    """
    name = node_name(node)
    if name in ("", "CopySlices", "IndexPutBackward0", "CumprodBackward0", "NotImplemented"):
        return (name,)
    return (name, *(node_name(before) for before, _ in node.next_functions))


def state(tensor: Any, *, born: int | None = None) -> Seen | str:
    """Return what is compared of a tensor, or the type of the error for a view that a write spoilt.

    Versions count from `born`, that at birth: how often a composite writes to its own result before
    it returns it is its own affair.
    """
    at_birth = version(tensor) if born is None else born
    result, error = attempt(
        lambda: seen(
            tensor,
            requires_grad=tensor.requires_grad,
            is_leaf=tensor.is_leaf,
            is_inference=tensor.is_inference(),
            version=version(tensor) - at_birth,
            output_nr=tensor.output_nr,
            nodes=node_names(tensor.grad_fn),
            is_view=tensor._is_view(),
        )
    )
    return result or error


def version(tensor: Any) -> int:
    """Return how often a tensor was written to; an inference tensor does not count."""
    return 0 if tensor.is_inference() else tensor._version


def attempt(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what a call gives and "", or None and the name of the type of its error."""
    found = outcome(call)
    if found.error is None:
        return found.result, ""
    is_saved = "cannot be saved for backward" in str(found.error)
    return None, SAVED if is_saved else type(found.error).__name__


def mode_of(lib: Any, step: Step) -> Any:
    match step.mode:
        case "grad":
            return contextlib.nullcontext()
        case "no_grad":
            return lib.no_grad()
        case _:
            return lib.inference_mode()


def run_step(lib: Any, step: Step, pool: list[Any]) -> list[Any]:
    """Run a step, add its results to the pool and return what is compared of it."""
    candidates = (
        pool if step.of_any_dtype else [tensor for tensor in pool if tensor.is_floating_point()]
    )
    if not candidates:
        return []
    a, b, c = (candidates[place % len(candidates)] for place in step.operands)

    def call() -> Any:
        with mode_of(lib, step):
            return OPERATIONS[step.name](lib, a, b, c, step.number)

    recorded = step.mode == "grad"
    # After it, PyTorch makes the node of a view anew, without a way to the leaf.
    if not recorded and step.name.endswith(IN_PLACE) and (a.requires_grad or c.requires_grad):
        return []
    # Its views are leaves from then on, whose gradients PyTorch drops.
    if step.name == "requires_grad_" and any([each._base is a for each in pool]):
        return []
    result, error = attempt(call)
    found = [result] if isinstance(result, lib.Tensor) else list(() if result is None else result)
    may_write = step.name.endswith(IN_PLACE) and step.mode != "inference"
    if may_write and error == "RuntimeError" and (a.is_inference() or c.is_inference()):
        # PyTorch has written to an inference tensor when it refuses to.
        return [error, SPOILT]
    if error in REFUSED and step.of_any_dtype:
        return [REFUSED[0]]
    # A view made in no_grad mode of what requires grad has no node: here it is a leaf, whose
    # gradient PyTorch drops.
    pool.extend([tensor for tensor in found if recorded or not tensor._is_view()])
    return [error, *(state(tensor) for tensor in found)]


def total(tensors: list[Any]) -> Any:
    """Return a real number that depends on all elements of some tensors."""
    squares = [(each * each.conj()).real if each.is_complex() else each * each for each in tensors]
    return sum(square.sum().double() for square in squares)


def differentiate(lib: Any, program: Program, leaves: list[Any], pool: list[Any]) -> list[Any]:
    """Run backward from a loss made of two tensors of the pool; return the error, or the
    gradients.
    """
    candidates = [tensor for tensor in pool if tensor.requires_grad]
    if not candidates:
        return []
    chosen = [candidates[-1 - place % len(candidates)] for place in program.losses]

    # The second derivatives of powers at 0 are limits here, often NaN in PyTorch.
    has_powers = any(["pow" in step.name for step in program.steps])

    def backward() -> None:
        wanted = [leaf for leaf in leaves if leaf.requires_grad and leaf.is_leaf]
        if program.twice and wanted and not has_powers:
            grads = lib.autograd.grad(total(chosen), wanted, create_graph=True, allow_unused=True)
            total([grad for grad in grads if grad is not None] + chosen).backward()
        else:
            total(chosen).backward()

    error = outcome(backward).error
    if error is not None:
        is_modified = any(text in str(error) for text in _MODIFIED_TEXTS)
        # One kind of formula that is not there raises the RuntimeError that a NotImplementedError
        # is, too. How many of the gradients were added before is the engine's own affair.
        kind = RuntimeError if isinstance(error, RuntimeError) else type(error)
        return [MODIFIED if is_modified else kind.__name__]
    # The version of .grad is left out: how often a gradient is added in place is the engine's own
    # affair. What detach_() makes a leaf retains nothing here, and its next write is an internal
    # error in PyTorch.
    holders = [leaf for leaf in leaves if leaf.is_leaf] + [
        tensor for tensor in pool if tensor.retains_grad and not tensor.is_leaf
    ]
    return [
        "",
        *[
            grad is not None and seen(grad, requires_grad=grad.requires_grad, is_leaf=grad.is_leaf)
            for grad in [holder.grad for holder in holders]
        ],
    ]


def run(lib: Any, program: Program) -> list[tuple[str, list[Any]]]:
    """Run a program and return what is compared: of every step, of every tensor at the end, of the
    gradients.
    """
    leaves = [make(lib, leaf) for leaf in program.leaves]
    pool, born, outcomes = list(leaves), [0] * len(leaves), []
    for step in program.steps:
        outcomes.append((step.name, run_step(lib, step, pool)))
        if SPOILT in outcomes[-1][1]:
            return outcomes
        born += [version(tensor) for tensor in pool[len(born) :]]
    outcomes.append(
        (
            "the pool at the end",
            [state(tensor, born=at) for tensor, at in zip(pool, born, strict=True)],
        )
    )
    outcomes.append(("the gradients", differentiate(lib, program, leaves, pool)))
    return outcomes


def without_memory(program: Program) -> Program:
    """Return what of a program means the same where arrays cannot be written and have no strides:
    nothing is laid out otherwise than in C order, or asks for it, and nothing is of half precision.
    """
    leaves = [
        replace(leaf, transposed=False, dtype=leaf.dtype.replace("float16", "float32"))
        for leaf in program.leaves
    ]
    steps = [
        step for step in program.steps if not step.name.partition(".")[0].startswith(_OF_STRIDES)
    ]
    return replace(program, leaves=tuple(leaves), steps=tuple(steps))


_OF_STRIDES = (
    *("as_strided", "view", "a[0].view", "flatten", "unflatten", "reshape", "contiguous"),
    *("to", "half", "copy_ expanded", "expand", "swap"),
    "repeat_interleave by expand",
)
"""Steps that are copies or views, or refused, as strides and memory have it."""
_IN_MEMORY = ("nodes", "output_nr", "is_view", "version")
"""What of a tensor goes by whether a step was a copy or a view."""


def closeness(program: Program) -> Callable[[str], Closeness]:
    """Return how far numbers of a program may lie apart, by their dtype."""
    tolerance = max(TOLERANCE.get(leaf.dtype, 2e-4) for leaf in program.leaves)
    names = {step.name for step in program.steps}
    if names & {"half", "float", "to"}:
        tolerance = TOLERANCE["float16"]
    elif "exp(out=)" in names:  # of bools: computed in float32, whatever out is
        tolerance = max(tolerance, 2e-4)
    return lambda dtype: Closeness(*[max(tolerance, TOLERANCE.get(dtype, 0.0))] * 2)


def disagreement(ours: Any, theirs: Any, program: Program, *, memory: bool = True) -> str:
    """Return where and how two libraries first disagree on a program, or the empty string.

    Without `memory` what is about memory is left out, and a program that `theirs` refuses ends
    there.
    """
    run_as = program if memory else without_memory(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, other = run(ours, run_as), run(theirs, run_as)
    comparison = Comparison("PyTorch", closeness(program), without=() if memory else _IN_MEMORY)
    ends = [outcomes[-1][1][0] if outcomes[-1][1] else "" for outcomes in (mine, other)]
    if sorted(ends) == ["RuntimeError", MODIFIED]:
        # Which of two errors comes first depends on where the check is.
        mine, other = mine[:-1], other[:-1]
    for (where, first), (_, second) in zip(mine, other, strict=False):
        if second == [SAVED] != first:
            return ""
        if not memory and second and second[0]:
            return ""
        for one, another in itertools.zip_longest(first, second):
            if not memory and another and isinstance(another, str) and isinstance(one, str | Seen):
                continue  # arrays whose values come later refuse later
            if found := comparison.difference(one, another):
                return f"{where}: {found}"
    return ""
