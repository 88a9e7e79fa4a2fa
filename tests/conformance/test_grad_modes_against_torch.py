"""Grad modes: as decorators of classes, generators and coroutines, and what is printed of a view
made in one, as in PyTorch.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import torch
from same_programs import Programs, assert_same

import dovetail


def class_decorated(lib: Any) -> Any:
    @lib.no_grad()
    class Asks:
        def __init__(self) -> None:
            self.during = lib.is_grad_enabled()

        def later(self) -> bool:
            return lib.is_grad_enabled()

    return Asks().during, Asks().later()


def generator_decorated(lib: Any) -> Any:
    @lib.no_grad()
    def steps() -> Any:
        received = yield lib.is_grad_enabled()
        yield received, lib.is_grad_enabled()

    running = steps()
    seen = [next(running), lib.is_grad_enabled(), running.send(7), lib.is_grad_enabled()]
    running.close()
    return seen, lib.is_grad_enabled()


def printed_without_graph(lib: Any) -> Any:
    n = lib.ones(2, requires_grad=True)
    with lib.no_grad():
        v = n[0]
        v.add_(1)
    return repr(v)


def unrecorded_view(lib: Any, mode: str, is_leaf: bool) -> Any:
    x = lib.ones(2, requires_grad=True)
    with getattr(lib, mode)():
        return (x if is_leaf else x * 1).view(-1)


def facts_of_unrecorded_views(lib: Any) -> Any:
    views = [
        unrecorded_view(lib, mode, is_leaf)
        for mode in ("no_grad", "inference_mode")
        for is_leaf in (False, True)
    ]
    return [
        (v.requires_grad, v.is_leaf, v.grad_fn, (v * 2).requires_grad, v[:1].requires_grad)
        for v in views
        if not v.is_inference()
    ]


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_an_unrecorded_view_accumulates_a_gradient(mode: str) -> None:
    def gradient(lib: Any) -> Any:
        view = unrecorded_view(lib, mode, is_leaf=True)
        (view * 3).sum().backward()
        return view.grad

    found = gradient(dovetail)
    assert found is not None
    assert found.tolist() == [3.0, 3.0]
    assert gradient(torch) is None


PROGRAMS = Programs(
    {
        "a class decorated": class_decorated,
        "views made without a graph": facts_of_unrecorded_views,
        "a generator decorated": generator_decorated,
        "a view whose graph was lost is printed": printed_without_graph,
    }
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert_same(PROGRAMS[name], words=35, warns=True)


def test_a_decorated_async_function_has_the_mode_while_it_runs() -> None:
    # PyTorch leaves the mode before the coroutine runs.
    @dovetail.no_grad()
    async def asks() -> bool:
        await asyncio.sleep(0)
        return dovetail.is_grad_enabled()

    async def both() -> tuple[bool, bool]:
        return await asks(), dovetail.is_grad_enabled()

    assert asyncio.run(both()) == (False, True)
