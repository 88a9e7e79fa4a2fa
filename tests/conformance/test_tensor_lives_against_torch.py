"""Tensors that live on: views, writes, hooks, modes, backward and what comes after it, in any
order; after each step every tensor is what it is in PyTorch.

`DOVETAIL_HUNT=20000` runs more programs, of up to 50 steps each, others each time.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.overrides
import torch.utils._python_dispatch
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run
from random_programs import node_name

import dovetail
import dovetail.overrides
import dovetail.utils._python_dispatch

pytestmark = pytest.mark.cpu_only(reason="values are compared with those of PyTorch on the CPU")

PROGRAMS = int(os.environ.get("DOVETAIL_HUNT") or 25)
LIBRARIES = (dovetail, torch)
MOST = 8
"""How many tensors are looked at; older ones are dropped."""
ANY = st.integers(0, 99)

VIEWS: dict[str, Callable[[Any, int], Any]] = {
    "select": lambda x, n: x.select(0, n % 2),
    "narrow": lambda x, n: x.narrow(-1, n % 2, 1),
    "t": lambda x, n: x.t(),
    "view": lambda x, n: x.view(-1),
    "unsqueeze": lambda x, n: x.unsqueeze(n % 2),
    "slice": lambda x, n: x[n % 2 :],
    "detach": lambda x, n: x.detach(),
    "data": lambda x, n: x.data,
    "as_strided": lambda x, n: x.as_strided((2,), (1,), n % 2),
    "diagonal": lambda x, n: x.diagonal(),
}
WRITES: dict[str, Callable[[Any, Any, int], Any]] = {
    "add_": lambda x, y, n: x.add_(n % 3),
    "mul_": lambda x, y, n: x.mul_(y),
    "zero_": lambda x, y, n: x.zero_(),
    "fill_": lambda x, y, n: x.fill_(n % 5),
    "copy_": lambda x, y, n: x.copy_(y),
    "setitem": lambda x, y, n: x.__setitem__(n % 2, n % 4),
    "setitem of a tensor": lambda x, y, n: x.__setitem__(0, y.flatten()[0]),
    "relu_": lambda x, y, n: x.relu_(),
    "unsqueeze_": lambda x, y, n: x.unsqueeze_(0) if x.ndim < 3 else None,
    "masked_fill_": lambda x, y, n: x.masked_fill_(x > 1, n % 3),
    "iadd": lambda x, y, n: x.__iadd__(y),
    "requires_grad_": lambda x, y, n: x.requires_grad_(n % 3 > 0),
    "detach_": lambda x, y, n: x.detach_(),
    "retain_grad": lambda x, y, n: x.retain_grad(),
    "grad = None": lambda x, y, n: setattr(x, "grad", None),
    "grad of another": lambda x, y, n: setattr(x, "grad", y.detach().clone()),
    "write to grad": lambda x, y, n: x.grad.mul_(2) if x.grad is not None else None,
    "data of another": lambda x, y, n: setattr(x, "data", y),
}
VALUES: dict[str, Callable[[Any, Any, int], Any]] = {
    "mul": lambda x, y, n: x * y,
    "add": lambda x, y, n: x + y,
    "square": lambda x, y, n: x * x,
    "sigmoid": lambda x, y, n: x.sigmoid(),
    "sum": lambda x, y, n: x.sum(),
    "sum of rows": lambda x, y, n: x.sum(0),
    "clone": lambda x, y, n: x.clone(),
    "grad": lambda x, y, n: x.grad.clone(),
    "relu": lambda x, y, n: x.relu(),
    "stack": lambda x, y, n: x.new_zeros(2),
    "where": lambda x, y, n: x.where(x > 1, y),
}


def modes(lib: Any, log: list[str]) -> dict[str, Callable[[], Any]]:
    class Dispatch(lib.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = str(func).rpartition(".")[0].rstrip("_")
            log.append(name.replace("aten.fill", "aten.copy"))  # an item set
            return func(*args, **(kwargs or {}))

    class Function(lib.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))

    def pack(x: Any) -> Any:
        log.append(f"pack {tuple(x.shape)}")
        return x

    def unpack(x: Any) -> Any:
        log.append(f"unpack {tuple(x.shape)}")
        return x

    return {
        "no_grad": lib.no_grad,
        "enable_grad": lib.enable_grad,
        "inference": lib.inference_mode,
        "no inference": lambda: lib.inference_mode(False),
        "dispatch": Dispatch,
        "function": Function,
        "saved": lambda: lib.autograd.graph.saved_tensors_hooks(pack, unpack),
    }


def compared(log: list[str]) -> list[str]:
    """Return what is compared of what hooks and modes noted.

    Left out are the operators of which formulas of derivatives consist, what these save, copies and
    detached tensors that calls save for them, and changes of modes, which are no calls here.
    """
    backward = any(each.startswith(("hook", "after", "backward")) for each in log)
    operators = (
        ("aten", "pack", "unpack") if backward else ("aten.clone", "aten.detach", "aten.lift_fresh")
    )
    left_out = (*operators, "_set_grad", "_enter_inference")
    kept = [each for each in log if not each.startswith(left_out)]
    # Which operand is saved first is the affair of each formula.
    return sorted(kept, key=lambda each: each if "pack" in each else "")


def digits(x: Any) -> list[str]:
    """Return the elements to so many digits as sums in another order give alike."""
    return [f"{each:.6g}" for each in x.flatten().tolist()]


def apart(x: Any, y: Any) -> bool:
    """Return whether tensors share no memory: else PyTorch may read what it has written, for
    instance with hooks of saved tensors, which skip the check of versions.
    """
    return bool(x.untyped_storage().data_ptr() != y.untyped_storage().data_ptr())


def is_compared(x: Any) -> bool:
    """Return whether a tensor may be used again: not a view without a node of a base that requires
    grad, nor one that a write spoilt (rows of ``docs/differences.md``).
    """
    try:
        return x._base is None or not (x._base.requires_grad and x.is_leaf)
    except RuntimeError:
        return False


class Side:
    """The tensors of one library, and what was noted by hooks and modes."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.tensors: list[Any] = []
        self.born: list[tuple[Any, Any]] = []
        self.log: list[str] = []
        self.hooks: list[Any] = []
        self.modes = modes(lib, self.log)
        self.stack: list[Any] = []

    def hook(self, x: Any, number: int) -> None:
        def hook(grad: Any) -> Any:
            self.log.append(f"hook {number} {digits(grad)}")
            return grad * 2 if number % 3 else None

        def after(x: Any) -> None:
            self.log.append(f"after {number} {digits(x.grad)}")

        if number % 5 == 0:
            self.hooks.append(x.register_post_accumulate_grad_hook(after))
        else:
            self.hooks.append(x.register_hook(hook))

    def version(self, x: Any) -> int | str:
        """Return how often a tensor was written to since it was returned."""
        if x.is_inference():
            return 0
        born = next((count for each, count in self.born if each is x), 0)
        try:
            return x._version - born if isinstance(born, int) else int(x._version)
        except RuntimeError as error:
            return str(error).partition(".")[0]

    def facts(self, x: Any, *, counted: bool = True) -> tuple[Any, ...]:
        """Return what is compared of a tensor: all, but strides that no element has (a
        row of ``docs/differences.md``), and of a gradient whether it is a view
        and how often it was added to, the engine's own affair.
        """
        inference = x.is_inference()
        try:
            node = node_name(x.grad_fn).rstrip("012")
        except RuntimeError:
            return ("a view that a write spoilt",)
        of_base = [place for place, each in enumerate(self.tensors) if x._base is each]
        grad = x.grad if x.is_leaf or x.retains_grad else None
        strides = [step for step, n in zip(x.stride(), x.shape, strict=True) if n > 1 and x.numel()]
        return (
            *(tuple(x.shape), strides, x.numel() and x.storage_offset(), digits(x.detach())),
            *(x.requires_grad, x.is_leaf, inference, node, of_base, x.retains_grad),
            counted and x._is_view(),
            counted and self.version(x),
            grad is not None and self.facts(grad, counted=False),
        )


class Lives(RuleBasedStateMachine):
    """The same tensors in both libraries."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.sides = [Side(lib) for lib in LIBRARIES]
        self.stack = ExitStack()
        self.stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def both(self, step: Callable[[Side], Any]) -> list[Any]:
        """Do a step on both sides; return the results, if neither raised."""
        results, errors, texts = [], [], []
        for side in self.sides:
            side.log.clear()
            result, error = None, None
            try:
                result = step(side)
            except Exception as raised:
                error = raised
            results.append(result)
            texts.append(str(error))
            errors.append(type(error).__name__.replace("NotImplementedError", "RuntimeError"))
        assert errors[0] == errors[1], texts
        if errors[0] != "NoneType":
            return []  # what ran before it was refused is not compared
        ours, theirs = [compared(side.log) for side in self.sides]
        assert ours == theirs, f"{ours}\n{theirs}"
        return results

    def keep(self, results: list[Any]) -> None:
        if not results or any(each is None for each in results):
            return
        for side, result in zip(self.sides, results, strict=True):
            side.born.append((result, side.version(result)))
            side.tensors = [*side.tensors, result][-MOST:]

    @initialize(requires_grad=st.booleans())
    def begin(self, requires_grad: bool) -> None:
        self.make(0, requires_grad)

    @rule(start=ANY, requires_grad=st.booleans())
    def make(self, start: int, requires_grad: bool) -> None:
        values = (np.arange(4.0).reshape(2, 2) + start % 5).tolist()

        def step(s: Side) -> Any:
            # Of an inference tensor that requires grad, PyTorch records some calls.
            wanted = requires_grad and not s.lib.is_inference_mode_enabled()
            return s.lib.tensor(values, dtype=s.lib.float64, requires_grad=wanted)

        self.keep(self.both(step))

    @rule(name=st.sampled_from(sorted(VIEWS)), which=ANY, number=ANY)
    def view(self, name: str, which: int, number: int) -> None:
        self.keep(self.both(lambda s: VIEWS[name](s.tensors[which % len(s.tensors)], number)))

    @rule(name=st.sampled_from(sorted(VALUES)), which=ANY, other=ANY, number=ANY)
    def value(self, name: str, which: int, other: int, number: int) -> None:
        def step(s: Side) -> Any:
            x, y = s.tensors[which % len(s.tensors)], s.tensors[other % len(s.tensors)]
            return VALUES[name](x, y, number)

        self.keep(self.both(step))

    @rule(name=st.sampled_from(sorted(WRITES)), which=ANY, other=ANY, number=ANY)
    def write(self, name: str, which: int, other: int, number: int) -> None:
        def step(s: Side) -> Any:
            x, y = s.tensors[which % len(s.tensors)], s.tensors[other % len(s.tensors)]
            inside = s.lib.is_inference_mode_enabled()
            # PyTorch writes to an inference tensor before it refuses to, and what requires grad in
            # inference mode is recorded by some calls.
            # With the data of another tensor, views and bases part, and views are made anew
            # out of bounds, or refused here.
            parted = x._is_view() or any([each._base is x for each in s.tensors])
            parted = parted or inside or x.is_inference() or y.is_inference()
            # PyTorch sums gradients to the shape that a leaf had when it was first used.
            reshapes = name == "unsqueeze_" or (name == "data of another" and x.shape != y.shape)
            reshaped = reshapes and x.is_leaf and x.requires_grad
            if not (
                (x.is_inference() and not inside)
                or (inside and name in ("requires_grad_", "grad of another"))
                or (parted and name == "data of another")
                # PyTorch's tensor still says that it retains its gradient.
                or (name == "detach_" and x.retains_grad)
                or reshaped
            ):
                WRITES[name](x, y if apart(x, y) else y.clone(), number)

        self.both(step)

    @rule(which=ANY, number=ANY)
    def hook(self, which: int, number: int) -> None:
        self.both(lambda s: s.hook(s.tensors[which % len(s.tensors)], number))

    @rule(which=ANY)
    def remove_hook(self, which: int) -> None:
        if self.sides[0].hooks:
            self.both(lambda s: s.hooks.pop(which % len(s.hooks)).remove())

    @rule(name=st.sampled_from(sorted(modes(dovetail, []))))
    def enter(self, name: str) -> None:
        if len(self.sides[0].stack) < 2:

            def step(s: Side) -> None:
                s.stack.append(s.modes[name]())
                s.stack[-1].__enter__()

            self.both(step)

    @rule()
    def leave(self) -> None:
        if self.sides[0].stack:
            self.both(lambda s: s.stack.pop().__exit__(None, None, None))

    @rule(which=ANY, retain=st.booleans(), create=st.booleans())
    def backward(self, which: int, retain: bool, create: bool) -> None:
        def step(s: Side) -> None:
            s.log.append("backward")
            loss = s.tensors[which % len(s.tensors)].sum()
            loss.backward(retain_graph=retain or create, create_graph=create)

        self.both(step)

    @rule(which=ANY, other=ANY, create=st.booleans())
    def grad(self, which: int, other: int, create: bool) -> None:
        def step(s: Side) -> Any:
            s.log.append("backward")
            loss, x = s.tensors[which % len(s.tensors)].sum(), s.tensors[other % len(s.tensors)]
            options = {"allow_unused": True, "retain_graph": True, "create_graph": create}
            grad = s.lib.autograd.grad(loss, x, **options)[0]
            return grad if grad is None else grad.clone()  # whether it is a view is not compared

        self.keep(self.both(step))

    @rule(which=ANY)
    def drop(self, which: int) -> None:
        if len(self.sides[0].tensors) > 1:
            for side in self.sides:
                side.born = [each for each in side.born if any(each[0] is x for x in side.tensors)]
            self.both(lambda s: s.tensors.pop(which % len(s.tensors)) is None)

    @rule()
    def collect(self) -> None:
        gc.collect(0)

    @invariant()
    def tensors_are_the_same(self) -> None:
        Lives.steps += 1
        stacks = [ExitStack() for _ in self.sides]
        found = []
        for side, stack in zip(self.sides, stacks, strict=True):
            with stack:
                stack.enter_context(side.lib._C.DisableTorchFunction())
                stack.enter_context(side.lib.utils._python_dispatch._disable_current_modes())
                found.append([side.facts(each) for each in side.tensors])
                side.tensors = [each for each in side.tensors if is_compared(each)]
        for ours, theirs in zip(*found, strict=True):
            assert ours == theirs, f"{ours}\n{theirs}"

    def teardown(self) -> None:
        for side in self.sides:
            while side.stack:
                side.stack.pop().__exit__(None, None, None)
        self.stack.close()


@pytest.mark.parametrize("lib", LIBRARIES)
def test_a_view_without_a_node_gets_the_gradient_that_pytorch_drops(lib: Any) -> None:
    base = lib.ones(2, 2)
    view = base.view(-1)
    base.requires_grad_()
    (view * 3).sum().backward()
    assert view.requires_grad and view.is_leaf and base.grad is None
    assert view.grad is None if lib is torch else view.grad.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("lib", LIBRARIES)
def test_a_view_that_a_write_spoilt_has_no_gradient_to_ask_for(lib: Any) -> None:
    base = lib.ones(2, 2)
    with lib.inference_mode():
        view = base.narrow(1, 0, 1)
    base.mul_(2)
    base.requires_grad_()
    for call in (view.retain_grad, view.requires_grad_, lambda: view.grad):
        if lib is torch:
            call()
        else:
            with pytest.raises(RuntimeError, match="created in inference mode"):
                call()


@pytest.mark.parametrize("lib", LIBRARIES)
def test_a_detached_tensor_says_whether_it_retains_its_gradient(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True) * 2
    x.retain_grad()
    assert x.detach_().retains_grad is (lib is torch)


def view_or_error(x: Any, chain: Any) -> Any:
    """Return the result of views of views, or the type of the error of one."""
    try:
        for name, number in chain:
            x = VIEWS[name](x, number)
    except (RuntimeError, IndexError) as error:
        return type(error)
    return tuple(x.shape), x.stride()


@pytest.mark.parametrize("dim", [0, 1])
def test_views_without_elements_have_strides_as_in_pytorch(dim: int) -> None:
    for chain in product(product(VIEWS, (0, 1)), repeat=3):
        bases = [lib.ones(2, 3).narrow(dim, 0, 0) for lib in LIBRARIES]
        ours, theirs = [view_or_error(each, chain) for each in bases]
        assert ours == theirs, chain


@pytest.mark.parametrize("lib", LIBRARIES)
def test_strides_over_memory_without_elements_are_in_c_order(lib: Any) -> None:
    view = lib.ones(3, 0).t()
    assert view.stride() == view.clone().stride() == ((1, 1) if lib is torch else (3, 1))


def test_tensors_live_as_in_pytorch() -> None:
    options = settings(
        max_examples=PROGRAMS,
        stateful_step_count=50,
        deadline=None,
        derandomize="DOVETAIL_HUNT" not in os.environ,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        print_blob=False,
    )
    try:
        run(Lives, settings=options)
    finally:
        print(f"DOVETAIL_HUNT={PROGRAMS}: {Lives.steps} steps")
