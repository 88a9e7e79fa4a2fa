"""Modules, and functions that call others, look functions of `nn.functional` up when they are
called, where PyTorch's do: a program that replaces one (`mock.patch`, an accelerator of
`scaled_dot_product_attention`) changes its modules.
"""

from __future__ import annotations

from inspect import isclass
from itertools import islice
from typing import Any
from unittest import mock

import pytest
import torch

import dovetail

pytest.importorskip("expecttest", reason="PyTorch's table of modules needs it")

from module_db_checks import arguments, entries, pair

NAMES = [
    name
    for name in dir(torch.nn.functional)
    if not name.startswith(("_", "has_torch_function"))
    and not name.endswith("_with_indices")
    and callable(getattr(torch.nn.functional, name))
    and not isclass(getattr(torch.nn.functional, name))
    and callable(getattr(dovetail.nn.functional, name, None))
]
COMPOSED = {
    "nn.LocalResponseNorm": {"avg_pool2d", "avg_pool3d"},
    "nn.LinearCrossEntropyLoss": {"linear", "cross_entropy"},
}
"""Functions that modules call in PyTorch alone: here they are composed of others."""


def _called(lib: Any, module: Any, sample: Any) -> set[str]:
    """Return the functions that the call of a module calls."""
    functional, called = lib.nn.functional, set()

    def watched(name: str) -> Any:
        function = getattr(functional, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            called.add(name)
            return function(*args, **kwargs)

        return call

    args, kwargs = arguments(lib, sample)
    with mock.patch.multiple(functional, **{name: watched(name) for name in NAMES}):
        module(*args, **kwargs)
    return called


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", entries())
def test_modules_call_the_functions_that_are_there_now(name: str) -> None:
    entry = entries()[name]
    made = entry.module_inputs_func(
        entry, device="cpu", dtype=torch.float64, requires_grad=False, training=True
    )
    for sample in islice(made, 3):
        if any([isinstance(each, torch.nn.Module) for each in sample.constructor_input.args]):
            continue  # whose own modules are tried by themselves
        ours, theirs = pair(entry, True, sample, torch.float64)
        expected = _called(torch, theirs, sample) - COMPOSED.get(name, set())
        assert expected <= _called(dovetail, ours, sample)


@pytest.mark.parametrize(
    ("name", "module", "shape"),
    [
        ("conv2d", lambda lib: lib.nn.Conv2d(1, 1, 1), (1, 1, 2, 2)),
        ("relu", lambda lib: lib.nn.ReLU(), (3,)),
        ("max_pool2d", lambda lib: lib.nn.MaxPool2d(2), (1, 1, 2, 2)),
        ("softmax", lambda lib: lib.nn.Softmax(0), (3,)),
    ],
)
def test_a_replaced_function_gives_the_result(name: str, module: Any, shape: Any) -> None:
    for lib in (dovetail, torch):
        made = module(lib)
        with mock.patch.object(lib.nn.functional, name, return_value="replaced"):
            assert made(lib.ones(shape)) == "replaced"
        assert tuple(made(lib.ones(shape)).shape)[:1] == shape[:1]


def test_a_replaced_attention_is_that_of_a_transformer() -> None:
    for lib in (dovetail, torch):
        made = lib.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
        x = lib.ones(1, 3, 4)
        with mock.patch.object(
            lib.nn.functional,
            "scaled_dot_product_attention",
            side_effect=lambda query, *args, **kwargs: query * 0,
        ) as attention:
            replaced = made(x)
        assert attention.call_count == 1
        assert not lib.equal(made(x), replaced)


def test_modules_have_no_constants_for_torchscript() -> None:
    names = [entry.module_cls.__name__ for entry in entries().values()]
    assert not any([hasattr(getattr(dovetail.nn, each), "__constants__") for each in names])
    assert sum([hasattr(getattr(torch.nn, each), "__constants__") for each in names]) > 50
