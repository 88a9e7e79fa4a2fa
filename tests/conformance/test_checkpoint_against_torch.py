"""Checkpointing: gradients, calls, warnings and errors are those of PyTorch, with reentrance and
without.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
)


def tools(lib: Any) -> Any:
    return import_module(f"{lib.__name__}.utils.checkpoint")


def leaf(lib: Any, n: int = 3) -> Any:
    return lib.ones(n, dtype=lib.float64, requires_grad=True)


def run(lib: Any, function: Callable[..., Any], *args: Any, x: Any = None, **options: Any) -> Any:
    """Return the gradient, the number of calls and the name of the node of a checkpointed call."""
    x = leaf(lib) if x is None else x
    calls = []

    def counted(*inner: Any) -> Any:
        calls.append(1)
        return function(*inner)

    y = tools(lib).checkpoint(counted, x, *args, **options)
    name = y.grad_fn.name()
    y.sum().backward()
    return [round(value, 3) for value in x.grad.tolist()], len(calls), name


def in_turn(*steps: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that does one step after the other: another one at every call."""
    rest = list(steps)
    return lambda y: rest.pop(0)(y)  # noqa: PLW0108 - another function at every call


def dropped(lib: Any, reentrant: bool, preserve: bool) -> Any:
    lib.manual_seed(0)
    x = leaf(lib, 200)
    drop = lib.nn.functional.dropout
    y = tools(lib).checkpoint(
        lambda v: drop(v.exp(), 0.5).exp() - 1,
        x,
        use_reentrant=reentrant,
        preserve_rng_state=preserve,
    )
    lib.rand(3)
    y.sum().backward()
    return bool(((y != 0) == (x.grad != 0)).all())


def the_draws_go_on(lib: Any, reentrant: bool) -> Any:
    lib.manual_seed(0)
    first = lib.rand(3).tolist()
    lib.manual_seed(0)
    y = tools(lib).checkpoint(lambda v: v.exp(), leaf(lib), use_reentrant=reentrant)
    y.sum().backward()
    return lib.rand(3).tolist() == first


def nested(lib: Any, reentrant: bool, depth: int = 3) -> Any:
    calls = [0]

    def level(n: int) -> Callable[[Any], Any]:
        def step(v: Any) -> Any:
            calls[0] += 1
            v = v.sin()
            if n:
                v = tools(lib).checkpoint(level(n - 1), v, use_reentrant=reentrant)
            return v.cos()

        return step

    x = leaf(lib)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tools(lib).checkpoint(level(depth), x, use_reentrant=reentrant).sum().backward()
    return [round(value, 5) for value in x.grad.tolist()], calls


def second_derivative(lib: Any, reentrant: bool) -> Any:
    x = leaf(lib)
    y = tools(lib).checkpoint(lambda v: v.sin().exp(), x, use_reentrant=reentrant)
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first.sum(), x)
    return [round(value, 4) for value in second.tolist()]


def twice(lib: Any, reentrant: bool, retain: bool) -> Any:
    x = leaf(lib)
    y = tools(lib).checkpoint(lambda v: v.exp(), x, use_reentrant=reentrant).sum()
    y.backward(retain_graph=retain)
    y.backward()
    return [round(value, 4) for value in x.grad.tolist()]


def closure(lib: Any, reentrant: bool) -> Any:
    w, x = leaf(lib), leaf(lib)
    tools(lib).checkpoint(lambda v: v * w.exp(), x, use_reentrant=reentrant).sum().backward()
    return [[round(value, 4) for value in each.grad.tolist()] for each in (w, x)]


def module(lib: Any, reentrant: bool) -> Any:
    linear = lib.nn.Linear(3, 1).double()
    tools(lib).checkpoint(
        linear, lib.ones(2, 3, dtype=lib.float64), use_reentrant=reentrant
    ).sum().backward()
    return linear.weight.grad.tolist()


def early(lib: Any, reentrant: bool, **options: Any) -> Any:
    ends = []

    def function(v: Any) -> Any:
        v = v.exp() * 2
        ends.append(1)
        return v

    run(lib, function, use_reentrant=reentrant, **options)
    return len(ends)


def early_off_around(lib: Any, reentrant: bool) -> Any:
    with tools(lib).set_checkpoint_early_stop(False):
        return early(lib, reentrant)


def contexts(lib: Any, reentrant: bool) -> Any:
    entered = []

    @contextlib.contextmanager
    def noting(name: str) -> Any:
        entered.append(name)
        yield

    run(
        lib,
        lambda v: v.exp(),
        use_reentrant=reentrant,
        context_fn=lambda: (noting("first"), noting("second")),
    )
    return entered


def arguments(lib: Any, reentrant: bool) -> Any:
    result = tools(lib).checkpoint(
        lambda v, n, m: (v * n, v.exp(), m), leaf(lib), 3, None, use_reentrant=reentrant
    )
    return [
        each if each is None else [round(value, 4) for value in each.tolist()] for each in result
    ]


def changed_before_backward(lib: Any, reentrant: bool) -> Any:
    x = leaf(lib) * 1
    y = tools(lib).checkpoint(lambda v: v.exp(), x, use_reentrant=reentrant)
    x.mul_(2)
    y.sum().backward()


def without_grad(lib: Any, reentrant: bool) -> Any:
    with lib.no_grad():
        return (
            tools(lib).checkpoint(lambda v: v * 2, leaf(lib), use_reentrant=reentrant).requires_grad
        )


def function_inside(lib: Any, reentrant: bool) -> Any:
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            ctx.save_for_backward(v)
            return v * v

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (v,) = ctx.saved_tensors
            return grad * 2 * v

    return run(lib, lambda v: Square.apply(v.exp()), use_reentrant=reentrant)[:2]


def backward_inside(lib: Any, reentrant: bool) -> Any:
    def function(v: Any) -> Any:
        (grad,) = (
            lib.autograd.grad(v.exp().sum(), v, create_graph=True)
            if lib.is_grad_enabled()
            else (v.exp(),)
        )
        return grad * v

    return run(lib, function, use_reentrant=reentrant)[:1]


def disabled(lib: Any, reentrant: bool) -> Any:
    with lib.autograd.graph.disable_saved_tensors_hooks("not here"):
        return run(lib, lambda v: v.exp(), use_reentrant=reentrant)


def shape_changes(lib: Any) -> Callable[[Any], Any]:
    return in_turn(lambda v: v.exp(), lambda v: v[:2].exp())


def fewer(lib: Any) -> Callable[[Any], Any]:
    return in_turn(lambda v: v.exp().exp(), lambda v: v.exp())


def more(lib: Any) -> Callable[[Any], Any]:
    return in_turn(lambda v: v.exp(), lambda v: v.exp().exp())


def sequential(lib: Any, segments: int, reentrant: bool) -> Any:
    x = leaf(lib)
    steps = [lib.nn.Sigmoid(), lib.nn.Tanh(), lib.nn.ReLU(), lib.nn.Softplus(), lib.nn.Sigmoid()]
    tools(lib).checkpoint_sequential(
        lib.nn.Sequential(*steps), segments, x, use_reentrant=reentrant
    ).sum().backward()
    return [round(value, 5) for value in x.grad.tolist()]


PROGRAMS: dict[str, Callable[[Any, bool], Any]] = {
    "a chain": lambda lib, r: run(lib, lambda v: v.exp().sin(), use_reentrant=r),
    "no input requires grad": lambda lib, r: (
        tools(lib).checkpoint(lambda v: v * 2, lib.ones(2), use_reentrant=r).requires_grad
    ),
    "a list of tensors": lambda lib, r: (
        tools(lib).checkpoint(lambda v: v[0] * 2, [leaf(lib)], use_reentrant=r).requires_grad
    ),
    "a keyword": lambda lib, r: (
        tools(lib).checkpoint(lambda v, k=1: v * k, leaf(lib), k=3, use_reentrant=r).tolist()
    ),
    "a dict comes out": lambda lib, r: (
        tools(lib).checkpoint(lambda v: {"a": v * 2}, leaf(lib), use_reentrant=r)["a"].requires_grad
    ),
    "contexts": contexts,
    "debug": lambda lib, r: run(lib, lambda v: v.exp(), use_reentrant=r, debug=True),
    "an unknown determinism check": lambda lib, r: run(
        lib, lambda v: v.exp(), use_reentrant=r, determinism_check="x"
    ),
    "autograd.grad": lambda lib, r: lib.autograd.grad(
        tools(lib).checkpoint(lambda v: v * 2, x := leaf(lib), use_reentrant=r).sum(), x
    )[0].tolist(),
    "inputs": lambda lib, r: (
        tools(lib)
        .checkpoint(lambda v: v * 2, x := leaf(lib), use_reentrant=r)
        .sum()
        .backward(inputs=[x])
    ),
    "backward twice": lambda lib, r: twice(lib, r, False),
    "backward twice with retain_graph": lambda lib, r: twice(lib, r, True),
    "dropout": lambda lib, r: dropped(lib, r, True),
    "dropout without its state": lambda lib, r: dropped(lib, r, False),
    "the generator goes on": the_draws_go_on,
    "nested": nested,
    "create_graph": second_derivative,
    "more tensors the second time": lambda lib, r: run(lib, more(lib), use_reentrant=r),
    "more tensors the second time, to the end": lambda lib, r: run(
        lib, more(lib), use_reentrant=r, early_stop=False
    ),
    "fewer tensors the second time": lambda lib, r: run(lib, fewer(lib), use_reentrant=r),
    "another shape the second time": lambda lib, r: run(lib, shape_changes(lib), use_reentrant=r),
    "another shape without check": lambda lib, r: run(
        lib, shape_changes(lib), use_reentrant=r, determinism_check="none"
    ),
    "several results and other arguments": arguments,
    "grad mode off": without_grad,
    "a detached result": lambda lib, r: (
        tools(lib).checkpoint(lambda v: v.detach() * 2, leaf(lib), use_reentrant=r).sum().backward()
    ),
    "closures": closure,
    "a module": module,
    "stops early": early,
    "does not stop early": lambda lib, r: early(lib, r, early_stop=False),
    "early stopping switched off around": early_off_around,
    "an argument written before backward": changed_before_backward,
    "a Function inside": function_inside,
    "a backward inside": backward_inside,
    "hooks are disabled": disabled,
    "sequential in 2": lambda lib, r: sequential(lib, 2, r),
    "sequential in 1": lambda lib, r: sequential(lib, 1, r),
    "sequential in 5": lambda lib, r: sequential(lib, 5, r),
    "sequential with a keyword": lambda lib, r: tools(lib).checkpoint_sequential(
        [lib.exp], 1, leaf(lib), use_reentrant=r, foo=3
    ),
}


def outcome(program: Callable[[Any, bool], Any], lib: Any, reentrant: bool) -> Any:
    """Return the result or error of a program, and the beginnings of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = program(lib, reentrant)
        except Exception as error:
            result = type(error).__name__, str(error).replace("torch.", "dovetail.")
    return result, [str(each.message).replace("torch.", "dovetail.")[:60] for each in caught]


@pytest.mark.parametrize("reentrant", [False, True], ids=["plain", "reentrant"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_checkpoint_does_what_it_does_in_torch(name: str, reentrant: bool) -> None:
    ours, our_warnings = outcome(PROGRAMS[name], dovetail, reentrant)
    theirs, their_warnings = outcome(PROGRAMS[name], torch, reentrant)
    assert our_warnings == their_warnings
    if isinstance(theirs, tuple) and theirs[0] in (
        "RuntimeError",
        "ValueError",
        "CheckpointError",
        "TypeError",
    ):
        assert ours[0] == theirs[0]
        assert ours[1].startswith(theirs[1][:30])
    else:
        assert ours == theirs


@pytest.mark.parametrize("sequence", [False, True])
def test_not_choosing_reentrance_is_warned_of(sequence: bool) -> None:
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        if sequence:
            checkpoint_sequential([dovetail.exp, dovetail.sin], 2, leaf(dovetail))
        else:
            checkpoint(dovetail.exp, leaf(dovetail))


def test_a_number_of_segments_out_of_range_is_refused() -> None:
    with pytest.raises(
        ValueError, match="segments must be 1 to 1, the number of functions, but got 5"
    ):
        checkpoint_sequential([dovetail.exp], 5, leaf(dovetail), use_reentrant=False)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("depth", [0, 2])
def test_what_the_function_computes_is_freed_after_forward(reentrant: bool, depth: int) -> None:
    made = []

    def function(v: Any, left: int = depth) -> Any:
        v = v.sin()
        made.append(weakref.ref(v.array))
        if left:
            v = checkpoint(lambda w: function(w, left - 1), v, use_reentrant=reentrant)
        return v.cos().exp()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reentrance inside has no input that requires grad
        y = checkpoint(function, leaf(dovetail), use_reentrant=reentrant)
        assert [reference() for reference in made] == [None] * (depth + 1)
        y.sum().backward()


def test_what_was_computed_again_is_freed_after_backward() -> None:
    made = []

    def function(v: Any) -> Any:
        v = v.sin()
        made.append(weakref.ref(v.array))
        return v.cos() * v.exp()

    x = leaf(dovetail)
    y = checkpoint(function, x, use_reentrant=False)
    dovetail.autograd.grad(y.sum(), x, retain_graph=True)
    y.sum().backward(inputs=[x], retain_graph=True)
    assert [reference() for reference in made] == [None, None, None]


def test_debug_names_the_places_where_tensors_were_saved() -> None:
    with set_checkpoint_debug_enabled(True), pytest.raises(CheckpointError) as raised:
        run(dovetail, fewer(dovetail), use_reentrant=False)
    first, second = str(raised.value).split("Saved in the second call:")
    assert (first.count(f"{__file__}:"), second.count(f"{__file__}:")) == (2, 1)


def test_saved_tensors_outside_of_a_backward_are_computed() -> None:
    y = checkpoint(lambda v: v.exp().sin(), leaf(dovetail), use_reentrant=False)
    assert y.grad_fn._saved_self.tolist() == pytest.approx([2.71828] * 3)
    assert y.grad_fn._saved_self.tolist() == pytest.approx([2.71828] * 3)


def through_hooks(lib: Any, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> Any:
    """Return first and second derivatives of a program whose saved tensors went through hooks."""
    x, w = leaf(lib), leaf(lib)
    with lib.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x.sin() * w.exp()).prod() * x.sum()
    first = lib.autograd.grad(y, (x, w), create_graph=True)
    second = lib.autograd.grad(first[0].sum() + first[1].sum(), (x, w))
    return [[round(value, 4) for value in each.tolist()] for each in (*first, *second)]


HOOKS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "as they are": (lambda t: t, lambda t: t),
    "detached": (lambda t: t.detach().clone(), lambda t: t),
    "as lists": (lambda t: t.tolist(), None),  # type: ignore[dict-item]
    "to require grad": (lambda t: t.detach().clone(), lambda t: t.requires_grad_()),
}


@pytest.mark.parametrize("name", HOOKS)
def test_second_derivatives_pass_through_hooks(name: str) -> None:
    def result(lib: Any) -> Any:
        pack, unpack = HOOKS[name]
        return through_hooks(
            lib, pack, unpack or (lambda values: lib.tensor(values, dtype=lib.float64))
        )

    assert result(dovetail) == result(torch)


def test_second_derivatives_pass_through_save_on_cpu() -> None:
    def result(lib: Any) -> Any:
        x = leaf(lib)
        with lib.autograd.graph.save_on_cpu():
            y = x.sin().exp().sum()
        (first,) = lib.autograd.grad(y, x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        return [round(value, 4) for value in second.tolist()]

    assert result(dovetail) == result(torch)


def test_hooks_do_not_part_a_function_from_its_graph() -> None:
    def result(lib: Any) -> Any:
        class Exp(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, v: Any) -> Any:
                y = v.exp()
                ctx.save_for_backward(v, y)
                return y

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                v, y = ctx.saved_tensors
                return grad * y * (v / v)

        x = leaf(lib)
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            y = Exp.apply(x).sum()
        (first,) = lib.autograd.grad(y, x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        return [round(value, 4) for value in second.tolist()]

    assert result(dovetail) == result(torch)


def test_disabling_hooks_decorates_a_function() -> None:
    def result(lib: Any) -> Any:
        @lib.autograd.graph.disable_saved_tensors_hooks("not here")
        def function() -> None:
            with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass

        try:
            function()
        except RuntimeError as error:
            return str(error)
        return None

    assert result(dovetail) == result(torch) == "not here"


IN_FORWARD_MODE: dict[str, Any] = {
    "jvp": lambda lib, f, x: lib.func.jvp(f, (x,), (x,))[1],
    "vmap": lambda lib, f, x: lib.func.vmap(f)(x),
    "jacfwd": lambda lib, f, x: lib.func.jacfwd(f)(x),
    "jacobian by jvp": lambda lib, f, x: lib.autograd.functional.jacobian(
        f, x, strategy="forward-mode", vectorize=True
    ),
    "a dual": lambda lib, f, x: tangent_and_gradient(lib, f, x, of_tangent=False),
    "the tangent of a dual": lambda lib, f, x: tangent_and_gradient(lib, f, x, of_tangent=True),
}


def backward_through_vmap(lib: Any, function: Any, x: Any) -> Any:
    x = x.detach().requires_grad_()
    lib.func.vmap(function)(x[None]).sum().backward()
    return x.grad


IN_BACKWARD_MODE: dict[str, Any] = {
    "grad": lambda lib, f, x: lib.func.grad(lambda x: f(x).sum())(x),
    "jacrev": lambda lib, f, x: lib.func.jacrev(f)(x),
    "hessian": lambda lib, f, x: lib.func.hessian(lambda x: f(x).sum())(x),
    "jvp of grad": lambda lib, f, x: lib.func.jvp(lib.func.grad(lambda x: f(x).sum()), (x,), (x,)),
    "vmap of grad": lambda lib, f, x: lib.func.vmap(lib.func.grad(lambda x: f(x).sum()))(x[None]),
    "backward through vmap": backward_through_vmap,
}


def tangent_and_gradient(lib: Any, function: Any, x: Any, of_tangent: bool) -> Any:
    x = x.detach().requires_grad_()
    forward_ad = lib.autograd.forward_ad
    with forward_ad.dual_level():
        result = function(forward_ad.make_dual(x, lib.ones_like(x)))
        tangent = forward_ad.unpack_dual(result).tangent
        (tangent if of_tangent else result).sum().backward()
        return tangent.detach(), forward_ad.unpack_dual(x.grad).primal


def shown(found: Any) -> Any:
    return [shown(each) for each in found] if isinstance(found, tuple) else found.tolist()


def checkpointed(lib: Any) -> Any:
    checkpoint = import_module(lib.__name__ + ".utils.checkpoint").checkpoint
    return lambda x: checkpoint(lambda y: y.sin() * y, x, use_reentrant=False)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", IN_FORWARD_MODE)
def test_checkpoints_work_in_forward_mode_and_vmap(name: str) -> None:
    results = [
        shown(IN_FORWARD_MODE[name](lib, checkpointed(lib), lib.tensor([1.0, 2.0])))
        for lib in (dovetail, torch)
    ]
    np.testing.assert_allclose(*results, rtol=1e-5)


@pytest.mark.parametrize("name", IN_BACKWARD_MODE)
def test_checkpoints_in_transforms_give_the_derivatives_of_a_plain_call(name: str) -> None:
    x = dovetail.tensor([1.0, 2.0])
    call = IN_BACKWARD_MODE[name]
    plain = shown(call(dovetail, lambda y: y.sin() * y, x))
    assert shown(call(dovetail, checkpointed(dovetail), x)) == plain


@pytest.mark.cpu_only(reason="it is about the autocast of the cpu")
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_the_second_call_has_the_autocast_of_the_first(
    reentrant: bool, enabled: bool, outside: bool
) -> None:
    def seen(lib: Any) -> Any:
        dtypes = []

        def product(x: Any) -> Any:
            y = lib.mm(x, x)
            dtypes.append((str(y.dtype).rpartition(".")[2], lib.is_autocast_enabled("cpu")))
            return y.sin() @ x

        x = lib.full((3, 3), 0.3, requires_grad=True)
        with lib.autocast("cpu", enabled=enabled, dtype=lib.bfloat16):
            loss = tools(lib).checkpoint(product, x, use_reentrant=reentrant).float().sum()
        with lib.autocast("cpu", enabled=outside, dtype=lib.bfloat16):
            loss.backward()
        return dtypes, [round(value, 2) for value in x.grad.flatten().tolist()]

    assert seen(dovetail) == seen(torch)


@pytest.mark.parametrize("is_argument", [False, True])
def test_saved_tensors_without_gradient_are_themselves(is_argument: bool) -> None:
    def seen(lib: Any) -> Any:
        class Saving(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                ctx.save_for_backward(x, y)
                return x * y

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                found.extend(ctx.saved_tensors)
                return grad, None

        found: list[Any] = []
        x, constant = leaf(lib), lib.ones(3)
        given = (constant,) if is_argument else ()
        tools(lib).checkpoint(
            lambda x, *more: Saving.apply(x, constant), x, *given, use_reentrant=False
        ).sum().backward()
        return [each is kept for each, kept in zip(found, (x, constant), strict=True)]

    assert seen(dovetail) == seen(torch) == [False, True]
