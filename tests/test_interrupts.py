"""A KeyboardInterrupt finds everything entered or left, never in between: guards, modes, backward,
registration, transforms.

`DOVETAIL_PROGRAMS=all` tries every instant of every program, else it is how many of each are tried.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import random
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import ContextDecorator
from contextvars import copy_context
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from interrupt_programs import AT_ONCE, PROGRAMS, cleanup
from interrupts import Interrupter, differences, held_locks, instants, snapshot

import dovetail
from dovetail import optim
from dovetail_kernel import DecoratingGuard, Guard
from dovetail_kernel.keys.guard import STATE
from dovetail_kernel.keys.state import StateGuard

ROOT = Path(__file__).parents[1]
GUARDS = (Guard, StateGuard)
TRIED = os.environ.get("DOVETAIL_PROGRAMS", "4")
SEED = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))


def works() -> bool:
    """Run a program that needs grad mode, routes and the engine as they ought to be."""
    x = dovetail.ones(2, requires_grad=True)
    (x * x).sum().backward()
    return x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def interrupted(name: str, at: int, before: dict[str, Any]) -> list[str]:
    """Interrupt a program at an instant, and say what is different afterwards."""
    interrupter = Interrupter(at, at_once=name.removesuffix(" twice") in AT_ONCE)
    interrupter.run(PROGRAMS[name])
    cleanup()
    found = differences(before, snapshot()) + [f"{each} is held" for each in held_locks()]
    if not works():
        found.append("a backward gives a wrong gradient")
    return [f"{interrupter.where}: {each}" for each in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_at_any_instant_leaves_what_was_there_before(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            copy_context().run(PROGRAMS[name])
        count = copy_context().run(instants, PROGRAMS[name])
        tried: Any = range(count)
        if TRIED != "all" and int(TRIED) < count:
            tried = random.Random(f"{name} {SEED}").sample(tried, int(TRIED))
        before = copy_context().run(snapshot)
        found = [each for at in tried for each in copy_context().run(interrupted, name, at, before)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("done", [0, 2])
@pytest.mark.parametrize("name", [*optim.__all__])
def test_an_optimizer_whose_step_is_interrupted_takes_the_next(name: str, done: int) -> None:
    kind = getattr(optim, name)
    if not isinstance(kind, type) or name == "Optimizer":
        pytest.skip("no optimizer")

    def made() -> Any:
        parameter = dovetail.nn.Parameter(dovetail.ones(2, 2))
        optimizer = kind([parameter])

        def loss() -> Any:
            gradient = parameter.detach() ** 3
            parameter.grad = gradient.to_sparse() if name == "SparseAdam" else gradient
            return parameter.detach().sum()

        def step() -> None:
            loss()
            optimizer.step(loss)

        for _ in range(done):
            step()
        return step

    made()()
    count = instants(made())
    for at in random.Random(f"{name} {SEED}").sample(range(count), min(count, 20)):
        step = made()
        Interrupter(at).run(step)
        step()


def test_an_interrupted_backward_leaves_grad_mode_and_the_error_state_of_numpy() -> None:
    import numpy as np

    x = dovetail.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.register_hook(lambda grad: (_ for _ in ()).throw(KeyboardInterrupt))
    with np.errstate(divide="raise"), pytest.raises(KeyboardInterrupt):
        y.backward()
    assert dovetail.is_grad_enabled()
    assert np.geterr()["divide"] == "warn"
    assert works()


def test_a_leaf_that_goes_runs_no_code_in_which_an_interrupt_would_be_lost() -> None:
    x = dovetail.ones(2, requires_grad=True)
    (x * x).sum().backward()
    called = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        del x
    finally:
        sys.setprofile(None)
    assert called == []


def modules_of_the_library() -> list[tuple[str, Path]]:
    """Return names and files of the modules of all distributions but the generated."""
    return [
        (".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__"), file)
        for folder in [ROOT / "src", *ROOT.glob("*/src"), *(ROOT / "plugins").glob("*/src")]
        for file in folder.rglob("*.py")
        if "_generated" not in file.parts
    ]


def blocks(node: ast.AST, functions: tuple[Any, ...] = ()) -> Iterator[tuple[ast.With, Any]]:
    """Yield every ``with`` in a tree, with the functions that it lies in."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.With):
            yield each, functions
        inner = isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from blocks(each, (*functions, each) if inner else functions)


def made_as(item: ast.withitem, functions: tuple[Any, ...]) -> list[str]:
    """Return what is called to make the guard that a block names: ``run`` of ``run = Mode()``."""
    if not isinstance(item.context_expr, ast.Name) or not functions:
        return []
    return [
        ast.unparse(each.value.func)
        for each in ast.walk(functions[-1])
        if isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Call)
        and ast.unparse(each.targets[0]) == item.context_expr.id
    ]


def variables_put_back(functions: tuple[Any, ...], names: dict[str, Any]) -> set[Any]:
    """Return the context variables that the decorators of functions put back."""
    found: set[Any] = set()
    for decorator in [each for function in functions for each in function.decorator_list]:
        made = eval(ast.unparse(decorator), names) if "restor" in ast.dump(decorator) else None
        made = names["leaves_levels"] if ast.unparse(decorator) == "leaves_levels" else made
        if made is not None:
            found |= set(inspect.getclosurevars(made).nonlocals["variables"] or (STATE,))
    return found


NEEDED = {"dovetail_cuda": "cupy", "dovetail_dask": "dask", "dovetail_mpi": "mpi4py"}
"""What optional distributions need, by package; neither need be installed."""


@pytest.mark.parametrize("package", ["the others", *NEEDED])
def test_functions_of_the_library_that_enter_guards_put_back_what_an_interrupt_leaves(
    package: str,
) -> None:
    for each in (package, NEEDED[package]) if package in NEEDED else ():
        if find_spec(each) is None:
            pytest.skip(f"needs {each}, which is not installed")
    missing, tried = [], 0
    for name, file in modules_of_the_library():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        top = name.partition(".")[0]
        if (top if top in NEEDED else "the others") != package or not any(blocks(tree)):
            continue
        names = {**vars(importlib.import_module(name))}
        for block, functions in blocks(tree):
            calls = [
                ast.unparse(each.func)
                for item in block.items
                for each in ast.walk(item.context_expr)
                if isinstance(each, ast.Call)
            ]
            calls += [call for item in block.items for call in made_as(item, functions)]
            for call in calls:
                try:
                    guard = eval(call, names)
                except (NameError, AttributeError):  # of an object: not one of ours
                    continue
                if not (isinstance(guard, type) and issubclass(guard, GUARDS)):
                    continue
                tried += 1
                variables = set(getattr(guard, "variables", (STATE,)))
                if not variables <= variables_put_back(functions, names):
                    missing.append(f"{file.relative_to(ROOT)}:{block.lineno}: {call}")
    assert tried > 30 or package in NEEDED
    assert missing == [], "decorate them by @restoring(*Guard.variables), or call guard.around"


TOOLS = frozenset({"codegen", "command", "testing"})
"""Folders of what is run by hand, and left as a whole where it is interrupted."""


def nodes_of_files_with(words: str) -> Iterator[tuple[Path, ast.AST]]:
    """Yield what is in files of the library in which there are some words."""
    for _, file in modules_of_the_library():
        text = file.read_text(encoding="utf-8")
        if not TOOLS & set(file.parts) and re.search(words, text):
            yield from ((file, each) for each in ast.walk(ast.parse(text)))


def has_yield(function: ast.FunctionDef) -> bool:
    """Say whether a function is a generator, and no context manager."""
    left: list[ast.AST] = list(function.body)
    while left:
        each = left.pop()
        if isinstance(each, ast.Yield | ast.YieldFrom):
            return "contextmanager" not in ast.dump(ast.Tuple(function.decorator_list))
        if not isinstance(each, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            left += ast.iter_child_nodes(each)
    return False


def test_no_generator_is_left_before_its_end_by_what_looks_for_an_element() -> None:
    generators = {
        each.name
        for _, each in nodes_of_files_with("yield")
        if isinstance(each, ast.FunctionDef) and has_yield(each)
    }
    assert len(generators) > 50

    def is_generator(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("map", "enumerate", "reversed"):
                return any([is_generator(each) for each in node.args])
            return called.rpartition(".")[2] in generators
        return isinstance(node, ast.GeneratorExp)

    left = []
    for file, each in nodes_of_files_with(r"\b(next|any|all|zip)\("):
        if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Name):
            continue
        if each.func.id not in ("next", "any", "all", "zip"):
            continue
        is_strict = "strict=True" in [ast.unparse(keyword) for keyword in each.keywords]
        if not is_strict and any([is_generator(argument) for argument in each.args]):
            left.append(f"{file.relative_to(ROOT)}:{each.lineno}: {ast.unparse(each)}")
    assert left == [], "give it a list: an interrupt in a generator that is closed is lost"


def test_every_guard_that_decorates_functions_leaves_where_an_interrupt_meets_it() -> None:
    found = [each for each in subclasses(Guard) if issubclass(each, ContextDecorator)]
    assert len(found) >= 6
    assert [each for each in found if not issubclass(each, DecoratingGuard)] == []


def subclasses(kind: type) -> list[type]:
    return [each for sub in kind.__subclasses__() for each in (sub, *subclasses(sub))]
