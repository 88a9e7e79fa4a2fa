"""Writes inside of functions that are being differentiated: to what they capture, make and take.

Random programs: each writes one tensor inside of one or two nested transforms. In PyTorch a write
to a captured tensor is refused, and all others have their gradient. DOVETAIL_PROGRAMS sets how many
programs run, DOVETAIL_FIRST_PROGRAM which is the first.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from same_programs import assert_same, plain, tried

import dovetail

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

CAPTURED = ("RuntimeError", "During a gra")
COUNT = int(os.environ.get("DOVETAIL_PROGRAMS", "150"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))

TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda lib, f, x: lib.func.grad(f)(x),
    "vjp": lambda lib, f, x: lib.func.vjp(f, x)[1](lib.ones(()))[0],
    "jvp": lambda lib, f, x: lib.func.jvp(f, (x,), (lib.ones_like(x),))[1],
    "jacrev": lambda lib, f, x: lib.func.jacrev(f)(x),
    "jacfwd": lambda lib, f, x: lib.func.jacfwd(f)(x),
    "vmap": lambda lib, f, x: lib.func.vmap(lambda each: f(each * lib.ones(2)))(x),
}

# What is written, of: the library, the inner input, the outer input, what was captured and where.
TARGETS: dict[str, Callable[[Any, Any, Any, Any, Any], Any]] = {
    "captured": lambda lib, x, outer, captured, between: captured,
    "view of captured": lambda lib, x, outer, captured, between: captured[:],
    "captured.detach()": lambda lib, x, outer, captured, between: captured.detach(),
    "captured.data": lambda lib, x, outer, captured, between: captured.data,
    "made between": lambda lib, x, outer, captured, between: between,
    "view of made between": lambda lib, x, outer, captured, between: between.view(2),
    "outer input": lambda lib, x, outer, captured, between: outer,
    "input": lambda lib, x, outer, captured, between: x,
    "input.detach()": lambda lib, x, outer, captured, between: x.detach(),
    "input.data": lambda lib, x, outer, captured, between: x.data,
    "made of input": lambda lib, x, outer, captured, between: x * 2,
    "copy of captured": lambda lib, x, outer, captured, between: captured.clone(),
    "made of captured": lambda lib, x, outer, captured, between: captured + 1,
    "zeros": lambda lib, x, outer, captured, between: lib.zeros(2),
    "zeros_like": lambda lib, x, outer, captured, between: lib.zeros_like(captured),
    "tensor": lambda lib, x, outer, captured, between: lib.tensor([1.0, 2.0]),
    "view of zeros": lambda lib, x, outer, captured, between: lib.zeros(3)[1:],
    "part of split": lambda lib, x, outer, captured, between: lib.zeros(4).clone().narrow(0, 1, 2),
    "zeros.detach()": lambda lib, x, outer, captured, between: lib.zeros(2).detach(),
    "zeros.data": lambda lib, x, outer, captured, between: lib.zeros(2).data,
}


def set_item(target: Any, x: Any) -> None:
    target[0] = x[0]


def set_number(target: Any, x: Any) -> None:
    target[0] = 3


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_(x)": lambda target, x: target.add_(x),
    "add_(1)": lambda target, x: target.add_(1),
    "mul_(x)": lambda target, x: target.mul_(x),
    "copy_(x)": lambda target, x: target.copy_(x),
    "[0] = x[0]": set_item,
    "[0] = 3": set_number,
    "zero_()": lambda target, x: target.zero_(),
    "detach_()": lambda target, x: target.detach_(),
}


def program(lib: Any, names: tuple[Any, ...]) -> Any:
    """Write what `names` says, and return the result or the error, and what was captured."""
    inner, outer, target_name, write, quiet, after = names
    captured = lib.tensor([1.0, 2.0])

    def innermost(x: Any, over: Any, between: Any) -> Any:
        target = TARGETS[target_name](lib, x, over, captured, between)
        with lib.no_grad() if quiet else nullcontext():
            WRITES[write](target, x)
        if after:
            WRITES[after](target, x)
        return (target * target * x).sum()

    def outermost(x: Any) -> Any:
        between = lib.ones(2)
        return TRANSFORMS[inner](lib, lambda y: innermost(y, x, between), x * 1).sum()

    def run() -> Any:
        given = lib.tensor([2.0, 3.0])
        if outer:
            return TRANSFORMS[outer](lib, outermost, given).tolist()
        between = lib.ones(2)
        return TRANSFORMS[inner](lib, lambda y: innermost(y, given, between), given).tolist()

    return tried(run, words=12), captured.tolist(), captured.requires_grad


def drawn(rng: random.Random) -> tuple[Any, ...]:
    return (
        rng.choice([*TRANSFORMS]),
        rng.choice([None, *TRANSFORMS]),
        rng.choice([*TARGETS]),
        rng.choice([*WRITES]),
        rng.random() < 0.2,
        rng.choice([None, None, *WRITES]),
    )


def leaves_a_choice(names: tuple[Any, ...]) -> bool:
    """Return whether the values may differ: after a write through ``.data`` to what is saved, and
    of ``detach_``, which PyTorch lets cut the graph of the innermost transform only.
    """
    _, outer, target, write, _, after = names
    return outer is not None and (target == "input.data" or "detach_()" in (write, after))


def agree(names: tuple[Any, ...], ours: Any, theirs: Any) -> bool:
    """Return whether the libraries agree: on what is refused as captured, on what was captured, and
    on all values.
    """
    (result, *state), (expected, *expected_state) = ours, theirs
    if state != expected_state:
        return False
    fails, should_fail = isinstance(result, tuple), isinstance(expected, tuple)
    if CAPTURED in (result, expected):
        return fails and should_fail
    if fails or should_fail:  # each has limits of its own, and says so
        return True
    return result == pytest.approx(expected) or leaves_a_choice(names)


def test_random_writes_inside_of_transforms_do_what_they_do_in_torch() -> None:
    print(f"DOVETAIL_FIRST_PROGRAM={FIRST}")
    different, values = [], 0
    for seed in range(FIRST, FIRST + COUNT):
        names = drawn(random.Random(seed))
        ours, theirs = program(dovetail, names), program(torch, names)
        values += not isinstance(ours[0], tuple) and not isinstance(theirs[0], tuple)
        if not agree(names, ours, theirs):
            different.append(f"{seed} {names}\n  ours   {ours}\n  torch  {theirs}")
    assert not different, "\n".join(different[:10])
    assert values > COUNT // 4


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_write_to_a_captured_tensor_is_refused_and_changes_nothing(transform: str) -> None:
    captured = dovetail.zeros(2)
    with_view = captured[:]

    def function(x: Any) -> Any:
        with_view.add_(x)
        return x.sum()

    if transform == "vmap":
        pytest.skip("vmap alone differentiates nothing")
    with pytest.raises(RuntimeError, match=r"\(aten::add_\.Tensor\) that would mutate a captured"):
        TRANSFORMS[transform](dovetail, function, dovetail.ones(2))
    assert captured.tolist() == [0.0, 0.0]
    assert not captured.requires_grad
    assert captured._version == 0


def test_what_was_made_inside_of_a_transform_is_captured_by_the_next() -> None:
    kept = []

    def makes(x: Any) -> Any:
        kept.append(dovetail.zeros(2))
        return (kept[0].add_(x)).sum()

    dovetail.func.grad(makes)(dovetail.ones(2))
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        dovetail.func.grad(lambda x: kept[0].add_(x).sum())(dovetail.ones(2))


def test_a_gradient_taken_inside_may_be_written() -> None:
    def program(lib: Any) -> Any:
        def function(x: Any) -> Any:
            inner = lib.func.grad(lambda y: (y * y * y).sum())(x)
            inner.add_(x)
            return inner.sum()

        return lib.func.grad(function)(lib.ones(2)).tolist()

    assert_same(program)


def test_results_of_every_kind_of_call_may_be_written() -> None:
    makers: dict[str, Callable[[Any, Any], Any]] = {
        "list": lambda lib, y: lib.unbind(y.clone())[0],
        "several": lambda lib, y: lib.max(y, 0)[0],
        "where": lambda lib, y: lib.where(y > 0, y, y),
        "array": lambda lib, y: lib.from_numpy(y.detach().cpu().numpy().copy())[0],
        "full": lambda lib, y: lib.full((), 2.0),
        "random": lambda lib, y: lib.rand(()) * 0,
        "linear": lambda lib, y: lib.nn.functional.linear(y, lib.ones(1, 2))[0],
        "parameter": lambda lib, y: lib.nn.Parameter(lib.ones(())).detach(),
        "empty": lambda lib, y: lib.empty(1)[0].fill_(1),
        "indexed": lambda lib, y: y[lib.tensor([0])][0],
        "cat": lambda lib, y: lib.cat([y, y])[0],
        "dtype": lambda lib, y: y.double().float()[0],
        "contiguous": lambda lib, y: lib.ones(2, 2).t().contiguous()[0, 0],
    }
    for maker in makers.values():
        for given in (dovetail.ones(2), dovetail.ones(2, requires_grad=True)):

            def function(x: Any, maker: Any = maker, given: Any = given) -> Any:
                made = maker(dovetail, given)
                with dovetail.no_grad():
                    made.mul_(2)
                return x.sum()

            assert dovetail.func.grad(function)(dovetail.ones(2)).tolist() == [1.0, 1.0]
            assert dovetail.func.jvp(function, (dovetail.ones(2),), (dovetail.ones(2),))[1] == 2


@pytest.mark.parametrize("transform", [*TRANSFORMS, "grad of grad", "functionalize"])
@pytest.mark.parametrize("norm", ["batch_norm", "instance_norm"])
def test_running_statistics_follow_inside_of_transforms(transform: str, norm: str) -> None:
    def program(lib: Any) -> Any:
        mean, variance = lib.zeros(2), lib.ones(2)

        def body(x: Any, running: tuple[Any, Any] = (mean, variance)) -> Any:
            rows = lib.stack([x * x, x.sin(), x * 3], -1)[None]
            return getattr(lib.nn.functional, norm)(
                rows, *running, None, None, True, momentum=0.5
            ).exp()

        x = lib.tensor([0.5, 2.0])
        if transform == "grad of grad":
            inner = lib.func.grad(lambda y: body(y).sum())
            made = lib.func.grad(lambda y: (inner(y) ** 2).sum())(x)
        elif transform == "functionalize":
            made = lib.func.functionalize(lambda *each: body(each[0], each[1:]))(x, mean, variance)
        elif transform == "vmap":
            means, variances = lib.zeros(3, 2), lib.ones(3, 2)
            made = lib.func.vmap(lambda y, *each: body(y, each))(
                x * lib.ones(3, 1), means, variances
            )
            mean, variance = means, variances
        else:
            scalar = transform in ("grad", "vjp")
            made = TRANSFORMS[transform](lib, lambda y: body(y).sum() if scalar else body(y), x)
        return plain([made, mean, variance, mean.requires_grad], 4)

    assert_same(program)
