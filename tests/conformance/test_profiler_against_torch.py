"""Profiles count the calls, bytes and operations that PyTorch's count."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's profiler warns of what it lacks

CALLS = ("aten::mm", "aten::addmm", "aten::matmul", "aten::sum", "aten::conv2d", "aten::add")


def averages(library: Any, **options: Any) -> dict[str, tuple[Any, ...]]:
    x = library.ones(2, 3, 8, 8)
    weight = library.ones(4, 3, 3, 3)
    a = library.ones(50, 40, requires_grad=True)
    b = library.ones(40, 50, requires_grad=True)
    with library.profiler.profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        with library.profiler.record_function("block"):
            loss = (a @ b).sum()
        loss.backward()
        library.nn.functional.conv2d(x, weight, padding=1, stride=2)
        library.addmm(library.ones(50), a, b)
        a.detach() + a.detach()
    found = prof.key_averages(group_by_input_shape=True)
    return {
        f"{event.key} {event.input_shapes}": (event.count, event.flops, event.cpu_memory_usage)
        for event in found
        if event.key in CALLS
    }


def test_calls_bytes_and_operations_are_those_of_pytorch() -> None:
    assert averages(dovetail) == averages(torch)


def test_the_table_has_the_columns_of_pytorch() -> None:
    def header(library: Any) -> str:
        with library.profiler.profile(profile_memory=True, with_flops=True) as prof:
            library.ones(4, 4) @ library.ones(4, 4)
        table: str = prof.key_averages().table(sort_by="cpu_time_total", row_limit=2)
        return " ".join(table.splitlines()[1].split())

    assert header(dovetail) == header(torch)


@pytest.mark.parametrize("skip_first_wait", [0, 1])
def test_schedules_are_those_of_pytorch(skip_first_wait: int) -> None:
    def actions(library: Any) -> list[str]:
        chosen = library.profiler.schedule(
            wait=2, warmup=1, active=3, repeat=2, skip_first=2, skip_first_wait=skip_first_wait
        )
        return [chosen(step).name for step in range(20)]

    assert actions(dovetail) == actions(torch)
