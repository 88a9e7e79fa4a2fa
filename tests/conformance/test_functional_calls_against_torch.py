"""`functional_call`: assigned tensors, tied names and refused values are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Program, Programs, assert_same, plain

PROGRAMS = Programs()


def counting(lib: Any) -> Any:
    """Return a module that assigns its buffer, and has its bias under two names."""

    class Counting(lib.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = lib.nn.Linear(1, 1)
            self.tied = self.layer.bias
            self.register_buffer("count", lib.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            return self.layer(x) + self.count + self.tied

    module = Counting()
    lib.nn.init.ones_(module.layer.weight)
    lib.nn.init.ones_(module.layer.bias)
    return module


@PROGRAMS("an assigned buffer is in the dict")
def assigned(lib: Any) -> Any:
    module, given = counting(lib), {"count": lib.full((1,), 5.0)}
    result = lib.func.functional_call(module, given, lib.ones(1, 1))
    return plain((result, given["count"], module.count))


@PROGRAMS("an assigned buffer is in the dict after an error")
def assigned_before_an_error(lib: Any) -> Any:
    module, given = counting(lib), {"count": lib.full((1,), 5.0)}
    with pytest.raises(RuntimeError):
        lib.func.functional_call(module, given, lib.ones(1, 7))
    return plain((given["count"], module.count))


@PROGRAMS("of several dicts none is changed")
def several_dicts(lib: Any) -> Any:
    module, given = counting(lib), {"count": lib.full((1,), 5.0)}
    result = lib.func.functional_call(module, (given, {"tied": lib.ones(1)}), lib.ones(1, 1))
    return plain((result, given["count"]))


def strict(names: tuple[str, ...], tie: bool) -> Program:
    def call(lib: Any) -> Any:
        given = {name: lib.full((1, 1) if "weight" in name else (1,), 2.0) for name in names}
        return lib.func.functional_call(
            counting(lib), given, lib.ones(1, 1), tie_weights=tie, strict=True
        )

    return call


for tie in (True, False):
    for names in (
        ("layer.weight", "tied", "count"),
        ("layer.weight", "tied", "count", "more"),
        ("count", "layer.bias"),
        (),
    ):
        PROGRAMS[f"strict, {names}, tied: {tie}"] = strict(names, tie)


@PROGRAMS("a value that is no tensor")
def no_tensor(lib: Any) -> Any:
    return lib.func.functional_call(counting(lib), {"layer.bias": 3}, lib.ones(1, 1))


@PROGRAMS("no bias")
def no_bias(lib: Any) -> Any:
    return lib.func.functional_call(lib.nn.Linear(1, 1), {"bias": None}, lib.zeros(1, 1))


@PROGRAMS("a module that contains itself")
def circular(lib: Any) -> Any:
    module = counting(lib)
    module.layer.owner = module
    given = {"layer.owner.layer.weight": lib.zeros(1, 1)}
    return lib.func.functional_call(module, given, lib.ones(1, 1), tie_weights=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_functional_calls_are_as_there(name: str) -> None:
    assert_same(PROGRAMS[name], words=36)
