"""Nothing is held that is not in use: by a namespace that came and went, a transform that returned,
a graph that is gone. The garbage collector is off.
"""

# ruff: noqa: PLW0108, SIM223 - each case is a function of the input, some drop what they return

from __future__ import annotations

import contextlib
import copy
import gc
import linecache
import os
import pickle
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import interrupt_programs as programs
import pytest
from devices import own_key

import dovetail as dt
from dovetail import func
from dovetail.autograd import forward_ad, graph
from dovetail.library import Library
from dovetail.utils.checkpoint import checkpoint


class Boom(Exception):
    """What functions raise."""


def f(x):
    return (x * x).sum()


def bad(x):
    x * x
    raise Boom


CASES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: func.grad(f)(x),
    "grad_and_value": lambda x: func.grad_and_value(f)(x),
    "vjp": lambda x: func.vjp(lambda a: a.sin(), x)[0],
    "vjp called": lambda x: func.vjp(lambda a: a.sin(), x)[1](dt.ones(2)),
    "jvp": lambda x: func.jvp(lambda a: a.sin(), (x,), (dt.ones(2),)),
    "vmap": lambda x: func.vmap(lambda a: a * 2)(x),
    "vmap grad": lambda x: func.vmap(func.grad(lambda a: (a * a).sum()))(x),
    "grad vmap": lambda x: func.grad(lambda a: func.vmap(lambda b: b * b)(a).sum())(x),
    "vmap jvp": lambda x: func.vmap(lambda a: func.jvp(lambda b: b.sin(), (a,), (a,))[1])(x),
    "vmap vjp": lambda x: func.vmap(lambda a: func.vjp(lambda b: b.sin(), a)[1](a))(x),
    "jacrev": lambda x: func.jacrev(lambda a: a * a)(x),
    "jacfwd": lambda x: func.jacfwd(lambda a: a * a)(x),
    "hessian": lambda x: func.hessian(lambda a: (a * a * a).sum())(x),
    "grad grad": lambda x: func.grad(lambda a: func.grad(f)(a).sum())(x),
    "functionalize": lambda x: func.functionalize(lambda a: a.clone().add_(1))(x),
    "functionalize view": lambda x: func.functionalize(lambda a: a.clone()[0].add_(1))(x),
    "vmap functionalize": lambda x: func.vmap(func.functionalize(lambda a: a.clone().add_(1)))(x),
    "linearize": lambda x: func.linearize(lambda a: a.sin(), x)[1](dt.ones(2)),
    "checkpoint": lambda x: (
        checkpoint(lambda a: (a * a).exp(), x.requires_grad_(), use_reentrant=False)
        .sum()
        .backward()
    ),
    "checkpoint reentrant": lambda x: (
        checkpoint(lambda a: (a * a).exp(), x.requires_grad_(), use_reentrant=True).sum().backward()
    ),
    "function": lambda x: programs.Doubled.apply(x.requires_grad_()).sum().backward(),
    "function no bwd": lambda x: programs.Doubled.apply(x.requires_grad_()).sum() and None,
    "function vmap": lambda x: func.vmap(programs.DoubledWithRule.apply)(x),
    "function vmap grad": lambda x: func.vmap(
        func.grad(lambda a: programs.DoubledWithRule.apply(a))
    )(x),
    "backward": lambda x: (x.requires_grad_() ** 2).sum().backward(),
    "backward retained": lambda x: (x.requires_grad_() ** 2).sum().backward(retain_graph=True),
    "grad create": lambda x: (
        dt.autograd.grad((x.requires_grad_() ** 3).sum(), x, create_graph=True) and None
    ),
    "hooks": lambda x: (
        [y := x.requires_grad_() * 2, y.register_hook(lambda g: g * 2), y.sum().backward()] and None
    ),
    "retain_grad": lambda x: (
        [y := x.requires_grad_() * 2, y.retain_grad(), y.sum().backward()] and None
    ),
    "node hooks": lambda x: (
        [
            y := x.requires_grad_() * 2,
            y.grad_fn.register_hook(lambda a, b: None),
            y.sum().backward(),
        ]
        and None
    ),
    "post acc": lambda x: (
        [
            x.requires_grad_().register_post_accumulate_grad_hook(lambda p: None),
            (x * 2).sum().backward(),
        ]
        and None
    ),
    "saved hooks": lambda x: (
        [
            h := graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t),
            h.__enter__(),
            (x.requires_grad_() ** 2).sum().backward(),
            h.__exit__(None, None, None),
        ]
        and None
    ),
    "view write": lambda x: (
        [b := x.requires_grad_() * 1, b[0].mul_(2), b.sum().backward()] and None
    ),
    "inplace": lambda x: [b := x.requires_grad_() * 1, b.mul_(2), b.sum().backward()] and None,
    "dual": lambda x: (
        [
            g := forward_ad.dual_level(),
            g.__enter__(),
            forward_ad.unpack_dual(forward_ad.make_dual(x, dt.ones(2)) * 2),
            g.__exit__(None, None, None),
        ]
        and None
    ),
    "functional jac": lambda x: dt.autograd.functional.jacobian(lambda a: a * a, x),
    "functional hess": lambda x: dt.autograd.functional.hessian(f, x),
    "functional hvp": lambda x: dt.autograd.functional.hvp(f, x, dt.ones(2)),
    "custom op": lambda x: programs.scaled(x.requires_grad_(), 2.0).sum().backward(),
    "custom op vmap": lambda x: func.vmap(lambda a: programs.scaled(a, 2.0))(x),
    "dispatch mode": lambda x: (
        [m := programs.Passing(), m.__enter__(), x * 2, m.__exit__(None, None, None)] and None
    ),
    "function mode": lambda x: (
        [m := programs.PassingFunctions(), m.__enter__(), x * 2, m.__exit__(None, None, None)]
        and None
    ),
    "trace": lambda x: (
        [m := dt.tracing(), m.__enter__(), x * 2, m.__exit__(None, None, None)] and None
    ),
    "anomaly": lambda x: (
        [
            m := dt.autograd.detect_anomaly(),
            m.__enter__(),
            (x.requires_grad_() * 2).sum().backward(),
            m.__exit__(None, None, None),
        ]
        and None
    ),
    "autocast": lambda x: (
        [
            m := dt.autocast("cpu"),
            m.__enter__(),
            dt.mm(x.reshape(1, 2), x.reshape(2, 1)),
            m.__exit__(None, None, None),
        ]
        and None
    ),
    "functional_call": lambda x: (
        func.functional_call(dt.nn.Linear(2, 2), {"bias": x}, (dt.ones(2),)).sum() and None
    ),
    "is_grads_batched": lambda x: dt.autograd.grad(
        x.requires_grad_() * 2, x, dt.ones(3, 2), is_grads_batched=True
    ),
    "deepcopy": lambda x: copy.deepcopy(x),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "where backward": lambda x: dt.where(x > 0, x.requires_grad_(), x).sum().backward(),
    "vmap random": lambda x: func.vmap(lambda a: a + dt.rand(2), randomness="different")(
        x.reshape(1, 2)
    ),
    "explain": lambda x: dt.explain(dt.ops.aten.add.Tensor, x, x) and None,
    "print": lambda x: repr(x.requires_grad_() * 2),
    "module hooks": lambda x: (
        [
            m := dt.nn.Linear(2, 2),
            m.register_forward_hook(lambda *a: None),
            m.register_full_backward_hook(lambda *a: None),
            m(x).sum().backward(),
        ]
        and None
    ),
}
for n in ("grad", "vjp", "jacrev", "jacfwd", "hessian", "vmap", "functionalize", "linearize"):
    t = getattr(func, n)
    if n in ("vjp", "linearize"):
        CASES[n + " error"] = lambda x, t=t: t(bad, x)
    else:
        CASES[n + " error"] = lambda x, t=t: t(bad)(x)
CASES["jvp error"] = lambda x: func.jvp(bad, (x,), (x,))
CASES["vmap grad error"] = lambda x: func.vmap(func.grad(bad))(x)
CASES["checkpoint error"] = lambda x: checkpoint(bad, x.requires_grad_(), use_reentrant=False)
CASES["function error"] = lambda x: programs.Doubled.apply(x.requires_grad_()).register_hook(
    lambda g: 1 / 0
)


@pytest.fixture(scope="module")
def frozen() -> Iterator[None]:
    """Leaves what is there before the tests out of every collection, which makes them short."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def without_collector(frozen: None) -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _run(case: Callable[[Any], Any]) -> list[weakref.ref[Any]]:
    x = dt.ones(2) * 1.0
    watched = [weakref.ref(x), weakref.ref(x.array)]
    with contextlib.suppress(Boom, ZeroDivisionError):
        case(x)
    return watched


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("without_collector")
def test_nothing_holds_the_input_afterwards_and_nothing_is_left_to_collect(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            _run(CASES[name])
        gc.collect()
        watched = _run(CASES[name])
    assert [each() is None for each in watched] == [True, True]
    assert gc.collect() == 0


@pytest.mark.usefixtures("without_collector")
def test_formulas_that_are_lowered_after_some_calls_leave_nothing_to_collect() -> None:
    def run() -> None:
        x = dt.ones(2, requires_grad=True)
        ((x.exp() * x).sigmoid() / x).sum().backward()

    run()  # loads what is loaded once
    gc.collect()
    for _ in range(40):
        run()
    assert gc.collect() == 0


def _come_and_go(number: int) -> list[weakref.ref[Any]]:
    library = Library(f"passing{number}", "DEF")
    library.define("f(Tensor x, int n=1) -> Tensor")
    library.define("g(Tensor x) -> Tensor")

    def kernel(x, n=1):
        return x * 2

    library.impl("f", kernel, own_key())
    library.impl("g", lambda x: x * 2, "CompositeImplicitAutograd")
    namespace = getattr(dt.ops, f"passing{number}")
    x = dt.ones(2)
    namespace.f(x)
    namespace.f(x, n=2)
    namespace.g.default(x)
    library._destroy()
    return [weakref.ref(kernel), weakref.ref(library)]


@pytest.mark.usefixtures("without_collector")
def test_a_destroyed_library_lets_go_of_its_kernels_at_once() -> None:
    _come_and_go(0)
    assert [each() for each in _come_and_go(1)] == [None, None]


def _derived(library: Library, name: str) -> Callable[..., Any]:
    def backward(ctx, gradient):
        return gradient * 2

    dt.library.register_autograd(name, backward, lib=library)
    op = getattr(dt.ops, library.ns).f
    op(dt.ones(2, requires_grad=True)).sum().backward()
    func.grad(lambda x: op(x).sum())(dt.ones(2))
    return backward


def _batched(library: Library, name: str) -> Callable[..., Any]:
    def rule(info, in_dims, x):
        return x * 2, in_dims[0]

    dt.library.register_vmap(name, rule, lib=library)
    func.vmap(getattr(dt.ops, library.ns).f)(dt.ones(2, 3))
    return rule


def _by_entries(library: Library, name: str) -> Callable[..., Any]:
    def other(x):
        return x * 3

    library.define("g(Tensor x) -> Tensor")
    library.impl("g", other, own_key())
    func.vmap(getattr(dt.ops, library.ns).g)(dt.ones(2, 3))
    return other


def _faked(library: Library, name: str) -> Callable[..., Any]:
    def fake(x):
        return dt.empty_like(x)

    dt.library.register_fake(name, fake, lib=library)
    getattr(dt.ops, library.ns).f(dt.ones(2, device="meta"))
    return fake


def _in_a_mode(library: Library, name: str) -> Callable[..., Any]:
    def rule(mode, op, types, args, kwargs):
        return op(*args, **kwargs)

    dt.library.register_torch_dispatch(name, programs.Passing, rule, lib=library)
    with programs.Passing():
        getattr(dt.ops, library.ns).f(dt.ones(2))
    return rule


@pytest.mark.filterwarnings("ignore:.*batching rule")
@pytest.mark.parametrize("registered", [_derived, _batched, _by_entries, _faked, _in_a_mode])
def test_what_was_registered_for_an_operator_goes_with_it(
    registered: Callable[[Library, str], Callable[..., Any]],
) -> None:
    name = f"leaving{registered.__name__}"
    library = Library(name, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, own_key())
    watched = [weakref.ref(registered(library, f"{name}::f"))]
    watched += [
        weakref.ref(each.default)
        for each in vars(getattr(dt.ops, name)).values()
        if hasattr(each, "default")
    ]
    assert len(watched) > 1
    library._destroy()
    gc.collect()
    assert [each() for each in watched] == [None] * len(watched)


def test_the_source_of_a_traced_module_goes_with_it() -> None:
    module = dt.fx.symbolic_trace(lambda x: x * 2)
    file = module.forward.__func__.__code__.co_filename
    assert file in linecache.cache
    del module
    gc.collect()
    assert file not in linecache.cache


COMING_AND_GOING = """
import gc, tracemalloc
import test_leaks

for number in range(300):
    test_leaks._come_and_go(10_000 + number)
gc.collect()
tracemalloc.start()
before, _ = tracemalloc.get_traced_memory()
for number in range(500):
    test_leaks._come_and_go(number)
gc.collect()
print(tracemalloc.get_traced_memory()[0] - before)
"""


def test_namespaces_that_came_and_went_leave_no_memory_behind() -> None:
    folder = Path(__file__).parent
    path = os.pathsep.join([str(folder), str(folder / "support"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", COMING_AND_GOING],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    assert int(done.stdout) < 75_000  # for 500; a table that grew by one step is among it


def test_a_namespace_is_the_same_object_while_it_is_held_and_finds_what_is_defined_again() -> None:
    _come_and_go(77)
    held = dt.ops.passing77
    _come_and_go(77)
    library = Library("passing77", "DEF")
    library.define("h(Tensor x) -> Tensor")
    assert dt.ops.passing77 is held
    assert held.h.default.name() == "passing77::h"
    library._destroy()
    assert not hasattr(held, "h")
