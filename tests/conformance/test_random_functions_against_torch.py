"""Random programs with a `Function`: what it returns, marks and saves, what is done with its
results, and all that can be seen of the graph, its hooks and its gradients.

DOVETAIL_PROGRAMS sets how many programs run, DOVETAIL_FIRST_PROGRAM which is the first.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

import dovetail
from dovetail_autograd.graph.engine_ops import has_memory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

TORCH_ONLY = ("('An input that has been", "('out != nullptr INTERNAL", "('fn_edge.is_valid()")
"""How limits and failures of PyTorch alone begin."""

REFUSED_VIEW = re.compile(r"Output \d of Drawn is a view")
"""What PyTorch says of a view whose base was written afterwards, before it looks at versions."""

MEMORY = has_memory(dovetail.empty(0))
VIEWS = ("AliasBackward0", "AsStridedBackward0", "SliceBackward0")
"""Of a view that was written: PyTorch makes it again by its strides; without memory, what made it
does.
"""

COUNT = int(os.environ.get("DOVETAIL_PROGRAMS", "200"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))

RESULTS: dict[str, Callable[[Any, list[Any], int, int], Any]] = {
    "mul": lambda lib, xs, i, j: xs[i] * 3.0,
    "product": lambda lib, xs, i, j: xs[i] * xs[j],
    "same": lambda lib, xs, i, j: xs[i],
    "view": lambda lib, xs, i, j: xs[i].view(-1),
    "in place": lambda lib, xs, i, j: xs[i].mul_(2.0),
    "int": lambda lib, xs, i, j: 7,
    "None": lambda lib, xs, i, j: None,
    "integers": lambda lib, xs, i, j: lib.tensor([1, 2]),
    "detached": lambda lib, xs, i, j: xs[i].detach() * 1,
}


class Draft(NamedTuple):
    """What a program does, drawn at random."""

    inputs: list[str]
    results: list[tuple[str, int, int]]
    dirty: list[int]
    not_differentiable: list[int]
    materialize: bool
    with_setup: bool
    saved: list[tuple[str, int]]
    gradients: list[str]
    too_many: bool
    afterwards: list[str]
    used: list[bool]
    mode: str
    no_grad: bool
    node_hooks: bool


def drawn(rng: random.Random) -> Draft:
    count, numbers = rng.randint(1, 3), range(rng.randint(1, 3))
    results = [
        (rng.choice([*RESULTS, "mul", "product"]), rng.randrange(count), rng.randrange(count))
        for _ in numbers
    ]
    written = sorted({i for kind, i, _ in results if kind == "in place"})
    saved = [rng.choice(["input", "input", "result", "None"]) for _ in range(rng.randint(0, 3))]
    return Draft(
        [rng.choice(["leaf", "leaf", "computed", "constant", "view"]) for _ in range(count)],
        results,
        written if rng.random() < 0.8 else [],
        [number for number in numbers if rng.random() < 0.15],
        rng.random() < 0.7,
        rng.random() < 0.5,
        [(each, rng.randrange(count if each == "input" else len(results))) for each in saved],
        [rng.choice(["gradient"] * 4 + ["None", "one element"]) for _ in range(count)],
        rng.random() < 0.2,
        [
            rng.choice(["nothing", "nothing", "add_", "mul_", "detach", "hook", "retain"])
            for _ in numbers
        ],
        [rng.random() < 0.7 for _ in numbers],
        rng.choice(["backward", "twice", "retained", "grad", "create_graph"]),
        rng.random() < 0.07,
        rng.random() < 0.2,
    )


def listed(tensors: Any) -> list[Any]:
    return [None if each is None else each.tolist() for each in tensors]


def function_of(lib: Any, draft: Draft, seen: list[Any]) -> Any:
    """Return the class of the `Function`."""

    def compute(xs: Any) -> Any:
        seen.append(("grad mode", lib.is_grad_enabled()))
        made = tuple(RESULTS[kind](lib, list(xs), i, j) for kind, i, j in draft.results)
        return made if len(made) > 1 else made[0]

    def set_up(ctx: Any, xs: Any, output: Any) -> None:
        made = output if isinstance(output, tuple) else (output,)
        ctx.mark_dirty(*[xs[i] for i in draft.dirty])
        marked = [made[i] for i in draft.not_differentiable]
        ctx.mark_non_differentiable(*[each for each in marked if isinstance(each, lib.Tensor)])
        ctx.set_materialize_grads(draft.materialize)
        found = [{"input": xs, "result": made}.get(kind, [None] * 3)[i] for kind, i in draft.saved]
        kept = [each if isinstance(each, lib.Tensor) else None for each in found]
        ctx.save_for_backward(*kept)
        seen.append(("needs", ctx.needs_input_grad))

    def with_context(ctx: Any, *xs: Any) -> Any:
        output = compute(xs)
        set_up(ctx, xs, output)
        return output

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(("backward", listed(grads), lib.is_grad_enabled(), ctx.needs_input_grad))
        saved = ctx.saved_tensors
        seen.append(
            ("saved", [None if s is None else (s.tolist(), s.requires_grad) for s in saved])
        )
        total = None
        for grad in grads:
            if grad is not None and grad.dtype == lib.float32:
                total = grad.reshape(2) if total is None else total + grad.reshape(2)
        for each in saved:
            if each is not None and total is not None and each.dtype == lib.float32:
                total = total * each.reshape(2)
        given = {
            "gradient": total,
            "one element": None if total is None else total.sum().reshape(1),
            "None": None,
        }
        returned = [given[kind] for kind in draft.gradients] + [None] * draft.too_many
        return tuple(returned) if len(returned) > 1 else returned[0]

    def forward(*xs: Any) -> Any:
        return compute(xs)

    body = {"forward": staticmethod(with_context), "backward": staticmethod(backward)}
    if draft.with_setup:
        body |= {"forward": staticmethod(forward), "setup_context": staticmethod(set_up)}
    return type("Drawn", (lib.autograd.Function,), body)


def seen_of(lib: Any, draft: Draft) -> list[Any]:
    """Run the program, and return everything that can be seen, the error included."""
    seen: list[Any] = []
    try:
        run(lib, draft, seen)
    except Exception as error:
        seen.append((type(error).__name__, str(error).replace("dovetail", "torch")[:27]))
    return seen


def described(lib: Any, result: Any, inputs: list[Any]) -> Any:
    if not isinstance(result, lib.Tensor):
        return result
    name = None if result.grad_fn is None else result.grad_fn.name()
    if name in VIEWS and not MEMORY:
        name = "a view"
    flags = (result.requires_grad, result.is_leaf, result.output_nr, result._version)
    return name, *flags, [result is each for each in inputs]


def run(lib: Any, draft: Draft, seen: list[Any]) -> None:
    leaves = [
        lib.tensor([1.0 + i, 2.0 + i], requires_grad=kind != "constant")
        for i, kind in enumerate(draft.inputs)
    ]
    inputs = [
        x * 1 if kind == "computed" else (x * 1)[:] if kind == "view" else x
        for x, kind in zip(leaves, draft.inputs, strict=True)
    ]
    with lib.set_grad_enabled(not draft.no_grad):
        output = function_of(lib, draft, seen).apply(*inputs)
    results = list(output) if isinstance(output, tuple) else [output]
    seen.append(("results", [described(lib, each, inputs) for each in results]))
    tensors = [each for each in results if isinstance(each, lib.Tensor)]
    node = next((each.grad_fn for each in tensors if each.grad_fn is not None), None)
    if node is not None:
        names = [fn and fn.name().rpartition(":")[2] for fn, _ in node.next_functions]
        seen.append(("edges", names))
        if draft.node_hooks:
            node.register_hook(lambda made, given: seen.append((listed(made), listed(given))))
            node.register_prehook(lambda given: seen.append(("before", listed(given))))
    total = None
    for result, what, is_used in zip(results, draft.afterwards, draft.used, strict=True):
        if not isinstance(result, lib.Tensor) or result.dtype != lib.float32:
            continue
        kept = afterwards(result, what, seen)
        if is_used:
            part = (kept * kept).sum()
            total = part if total is None else total + part
    if total is not None:
        differentiate(lib, total, leaves, draft.mode, seen)
        seen.append(("kept", listed([each.grad for each in tensors if each.retains_grad])))


def afterwards(result: Any, what: str, seen: list[Any]) -> Any:
    if what == "add_":
        result.add_(1)
    elif what == "mul_":
        result.mul_(2)
    elif what == "detach":
        return result.detach()
    elif what == "hook" and result.requires_grad:
        result.register_hook(lambda grad: (seen.append(("hook", grad.tolist())), grad * 2)[1])
    elif what == "retain" and result.requires_grad:
        result.retain_grad()
    return result


def differentiate(lib: Any, total: Any, leaves: list[Any], mode: str, seen: list[Any]) -> None:
    # A constant that was written is no leaf any more; PyTorch captures its gradient before hooks.
    wanted = [x for x in leaves if x.requires_grad and x.is_leaf]
    if mode in ("backward", "twice", "retained"):
        total.backward(retain_graph=mode == "retained")
        if mode != "backward":
            total.backward()
        seen.append(("grads", listed([x.grad for x in leaves])))
        return
    again = mode == "create_graph"
    found = lib.autograd.grad(total, wanted, allow_unused=True, create_graph=again)
    seen.append(("grads", listed(found)))
    parts = [each.sum() for each in found if each is not None and each.requires_grad]
    if again and parts:
        twice = lib.autograd.grad(sum(parts), wanted, allow_unused=True)
        seen.append(("second", listed(twice)))


def is_deliberate(draft: Draft) -> bool:
    """Return whether a result is a view that is not differentiable, to which PyTorch gives a graph
    later, or a view is written and its gradient None, with which PyTorch loses the gradient of the
    base.
    """
    return any(
        kind == "view" and number in draft.not_differentiable
        for number, (kind, _, _) in enumerate(draft.results)
    ) or any((draft.inputs[i], draft.gradients[i]) == ("view", "None") for i in draft.dirty)


def test_random_functions_do_what_they_do_in_torch() -> None:
    print(f"DOVETAIL_FIRST_PROGRAM={FIRST}")
    different, complete = [], 0
    for seed in range(FIRST, FIRST + COUNT):
        draft = drawn(random.Random(seed))
        if is_deliberate(draft):
            continue
        ours, theirs = seen_of(dovetail, draft), seen_of(torch, draft)
        complete += ours[-1][0] == "kept"
        if str(theirs[-1][1:]).startswith(TORCH_ONLY):
            continue
        # Of several inputs that must not be written, and of several reasons against the use of a
        # result, each library names another.
        if (len(draft.dirty) > 1 or REFUSED_VIEW.match(str(theirs[-1][1]))) and (
            ours[-1][0] == theirs[-1][0] == "RuntimeError"
        ):
            ours[-1] = theirs[-1]
        if repr(ours) != repr(theirs):
            first = next(
                (i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]),
                min(len(ours), len(theirs)),
            )
            different.append(f"{seed} {draft}\n  {ours[first:][:1]}\n  {theirs[first:][:1]}")
    assert not different, "\n".join(different[:8])
    assert complete > COUNT // 8
