"""Steps that a compiled kernel takes are those of the rule in Python: values, states, versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail import optim  # noqa: E402 - after what may be missing
from dovetail_dispatcher import compiled_code  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="there is no compiled code"),
    pytest.mark.cpu_only(reason="only steps over arrays of NumPy are compiled"),
]

# From 65,536 elements on BLAS adds for the rule of SGD, and rounds once less.
SHAPES = ((), (1,), (3,), (5, 7), (0, 2), (130,), (33, 65), (60_000,))
OPTIONS = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"betas": (0.4, 0.0), "weight_decay": 0.2, "eps": 1e-3}),
    ("Adam", {"maximize": True, "betas": (0.0, 0.9)}),
    ("AdamW", {}),
    ("AdamW", {"weight_decay": 0.0, "lr": 0.5}),
]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What the kernels said, call by call."""
    said: list[Any] = []
    arrays = type(dovetail.ones(1)._backend.arrays)
    find = arrays.fused_step

    def fused_step(self: Any, rule: str) -> Any:
        kernel = find(self, rule)
        return lambda *given: said.append(kernel(*given)) or said[-1]

    monkeypatch.setattr(arrays, "fused_step", fused_step)
    yield said


def parameters(dtype: Any) -> list[Any]:
    numbers = np.random.default_rng(7)
    return [
        dovetail.nn.Parameter(dovetail.tensor(numbers.normal(size=shape), dtype=dtype))
        for shape in SHAPES
    ]


def steps(name: str, options: dict[str, Any], dtype: Any, count: int = 4) -> list[Any]:
    """Return everything that shows of some steps."""
    numbers = np.random.default_rng(3)
    given = parameters(dtype)
    optimizer = getattr(optim, name)(given, **{"lr": 0.01, **options})
    for step in range(count):
        for place, each in enumerate(given):
            grad = dovetail.tensor(numbers.normal(size=each.shape), dtype=dtype)
            each.grad = None if place == 2 and step == 1 else grad
        optimizer.step()
    seen = [(each.array.tobytes(), each._version) for each in given]
    states = [
        {key: value.array.tobytes() for key, value in optimizer.state[each].items()}
        for each in given
        if each in optimizer.state
    ]
    return [seen, states]


@pytest.mark.parametrize("dtype", [dovetail.float32, dovetail.float64], ids=str)
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=str)
def test_steps_are_those_of_the_rule(
    name: str, options: dict[str, Any], dtype: Any, taken: list[Any]
) -> None:
    compiled = steps(name, options, dtype)
    assert taken and False not in taken
    count = len(taken)
    single = steps(name, {**options, "foreach": False}, dtype)
    assert len(taken) == count
    assert compiled[1] == single[1]
    assert [value for value, _ in compiled[0]] == [value for value, _ in single[0]]


def test_every_write_is_counted(taken: list[Any]) -> None:
    x = dovetail.ones(3, requires_grad=True)
    y = x.exp()
    optimizer = optim.Adam([x])
    optimizer.zero_grad()
    x.grad = dovetail.ones(3)
    z = x * x
    optimizer.step()
    assert taken == [True]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    y.sum().backward()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda each: each.half(),
        lambda each: each.as_strided((3,), (0,)) if each.dim() == 1 else each,
        lambda each: dovetail.from_numpy(np.zeros(6, np.float32)[::2]),
    ],
    ids=["half precision", "one element for all", "every other element"],
)
def test_arrays_that_do_not_fit_are_left_to_the_rule(spoil: Any, taken: list[Any]) -> None:
    fine = dovetail.nn.Parameter(dovetail.ones(3))
    other = dovetail.nn.Parameter(spoil(dovetail.ones(3)).detach())
    for each in (fine, other):
        each.grad = dovetail.ones(3, dtype=each.dtype)
    optimizer = optim.SGD([fine, other], lr=0.5)
    try:
        optimizer.step()
    except RuntimeError:
        assert fine.tolist() == [1.0] * 3  # nothing was written
    else:
        assert fine.tolist() == [0.5] * 3
        assert False in taken


def test_tensor_without_version_is_left_to_the_rule() -> None:
    with dovetail.inference_mode():
        other = dovetail.ones(2)
        other.grad = dovetail.ones(2)
    fine = dovetail.nn.Parameter(dovetail.ones(2))
    fine.grad = dovetail.ones(2)
    optimizer = optim.SGD([fine], lr=1.0)
    optimizer.param_groups[0]["params"].append(other)
    with pytest.raises(RuntimeError, match="inference"):
        optimizer.step()


def test_parameters_that_share_memory_are_left_to_the_rule(taken: list[Any]) -> None:
    memory = dovetail.zeros(6)
    first, second = dovetail.nn.Parameter(memory[:4]), dovetail.nn.Parameter(memory[2:])
    optimizer = optim.SGD([first, second], lr=1.0)
    for each in (first, second):
        each.grad = dovetail.ones(4)
    optimizer.step()
    assert taken == [False]
    assert memory.tolist() == [-1.0, -1.0, -2.0, -2.0, -1.0, -1.0]


def test_number_beyond_single_precision_is_left_to_the_rule(taken: list[Any]) -> None:
    x = dovetail.nn.Parameter(dovetail.ones(2))
    x.grad = dovetail.ones(2)
    with pytest.raises(RuntimeError, match="without overflow"):  # as in PyTorch
        optim.SGD([x], lr=1e300).step()
    assert taken == [False]
    assert x.tolist() == [1.0, 1.0]
