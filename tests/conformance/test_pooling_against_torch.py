"""Pooling and unpooling give what PyTorch's give, for any numbers, NaN and infinities."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

import dovetail
import dovetail.nn.functional as F

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")
TF = torch.nn.functional

CALLS = 10 * int(os.environ.get("DOVETAIL_CALLS", "12"))
SEED = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))
BOTH = ((dovetail, F), (torch, TF))


def drawn_call(source: random.Random) -> tuple[str, list[int], dict[str, Any]]:
    """Return a function, the shape of its input and its arguments."""
    ndim = source.randint(1, 3)
    kind = source.choice(("max", "avg", "adaptive_avg", "adaptive_max"))
    shape = [source.randint(0, 2), source.randint(1, 2)]
    shape += [source.randint(3, 8) for _ in range(ndim)]
    if source.random() < 0.3:
        del shape[0]
    name = f"{kind}_pool{ndim}d"
    if kind.startswith("adaptive"):
        sizes = tuple([source.randint(1, 9) for _ in range(ndim)])
        more = {"return_indices": True} if kind == "adaptive_max" else {}
        return name, shape, {"output_size": sizes if ndim > 1 else sizes[0], **more}
    numbers = [
        tuple([source.randint(low, high) for _ in range(ndim)])
        for low, high in ((1, 4), (1, 4), (0, 2), (1, 2))
    ]
    kernel, stride, padding, dilation = numbers
    options: dict[str, Any] = {
        "kernel_size": kernel,
        "stride": source.choice((None, stride)) if kind == "max" else stride,
        "padding": source.choice((0, padding)),
        "ceil_mode": source.random() < 0.5,
    }
    if kind == "max":
        return name, shape, {**options, "dilation": dilation, "return_indices": True}
    options["count_include_pad"] = source.random() < 0.5
    if ndim > 1 and source.random() < 0.3:
        options["divisor_override"] = source.choice((-2, 3))
    return name, shape, options


def values(generator: Any, shape: list[int]) -> Any:
    """Return numbers of which some are equal, NaN or infinite."""
    made = generator.integers(-4, 5, shape).astype("float64")
    special = generator.random(shape)
    made[special < 0.03] = np.nan
    made[(special > 0.03) & (special < 0.06)] = np.inf
    made[special > 0.9] = -np.inf
    return made


def results(library: Any, function: Any, array: Any, options: dict[str, Any]) -> list[Any]:
    x = library.tensor(array, requires_grad=True)
    made = function(x, **options)
    made = list(made) if isinstance(made, tuple) else [made]
    weights = np.arange(made[0].numel()).reshape(tuple(made[0].shape)) % 7 + 1.0
    made[0].backward(library.tensor(weights))
    return [each.detach().cpu().numpy() for each in (*made, x.grad)]


def test_pooling_with_any_numbers_its_places_and_gradients_are_those_of_pytorch() -> None:
    compared = 0
    for seed in range(SEED, SEED + CALLS):
        name, shape, options = drawn_call(random.Random(seed))
        array = values(np.random.default_rng(seed), shape)
        mine, theirs = getattr(F, name), getattr(TF, name)
        try:
            expected = results(torch, theirs, array, options)
        except (RuntimeError, ValueError) as error:
            with pytest.raises(type(error)):
                results(dovetail, mine, array, options)
            continue
        compared += 1
        found = results(dovetail, mine, array, options)
        for one, other in zip(found, expected, strict=True):
            message = f"seed {seed}: {name} of {shape} with {options}"
            np.testing.assert_allclose(one, other, 1e-9, 1e-9, err_msg=message)
    assert compared > CALLS // 4


@pytest.mark.parametrize("ndim", [2, 3])
def test_fractional_pooling_begins_its_windows_where_pytorch_does(ndim: int) -> None:
    for seed in range(SEED, SEED + CALLS // 6):
        source, generator = random.Random(seed), np.random.default_rng(seed)
        sizes = [source.randint(5, 8) for _ in range(ndim)]
        kernel = [source.randint(1, 3) for _ in range(ndim)]
        out = [source.randint(1, n - k) for n, k in zip(sizes, kernel, strict=True)]
        array = generator.standard_normal((2, 2, *sizes))
        samples = generator.random((2, 2, ndim))
        rows = []
        for library, functional in BOTH:
            x = library.tensor(array, requires_grad=True)
            pool = getattr(functional, f"fractional_max_pool{ndim}d")
            options = {"output_size": out, "_random_samples": library.tensor(samples)}
            made, places = pool(x, kernel, return_indices=True, **options)
            (made * made).sum().backward()
            rows.append([each.detach().cpu().numpy() for each in (made, places, x.grad)])
        for mine, other in zip(*rows, strict=True):
            np.testing.assert_array_equal(mine, other, err_msg=f"seed {seed}")


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_unpooling_puts_maxima_back_and_takes_gradients_from_there(ndim: int) -> None:
    array = np.random.default_rng(SEED).standard_normal((2, 2, *(6,) * ndim))
    for kernel, stride, size in ((2, None, None), (2, 2, (7,) * ndim), (3, 2, (6,) * ndim)):
        rows = []
        for library, functional in BOTH:
            x = library.tensor(array)
            pool = getattr(functional, f"max_pool{ndim}d")
            unpool = getattr(functional, f"max_unpool{ndim}d")
            made, places = pool(x, kernel, stride, return_indices=True)
            made = made.requires_grad_()
            back = unpool(made, places, kernel, stride, 0, size)
            (back * back).sum().backward()
            rows.append([each.detach().cpu().numpy() for each in (back, made.grad)])
        for mine, other in zip(*rows, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("name", "shape", "args"),
    [
        ("max_unpool2d", (1, 1, 2, 2), (2, None, 0, (9, 9))),
        ("max_unpool2d", (1, 1, 2, 2), (2, None, 0, (4,))),
        ("max_unpool3d", (1, 1, 2, 2, 2), (2, 0)),
    ],
)
def test_an_impossible_unpooling_is_refused_as_in_pytorch(name: str, shape: Any, args: Any) -> None:
    kinds = []
    for library, functional in BOTH:
        x, places = library.ones(shape), library.zeros(shape, dtype=library.int64)
        with pytest.raises((ValueError, RuntimeError)) as caught:
            getattr(functional, name)(x, places, *args)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_power_averages_and_their_gradients_are_those_of_pytorch(ndim: int) -> None:
    array = np.random.default_rng(SEED).random((2, 2, *(6,) * ndim)) + 0.1
    for power, kernel, stride, ceil_mode in ((2, 3, None, False), (1.5, 2, 3, True)):
        rows = []
        for library, functional in BOTH:
            x = library.tensor(array, requires_grad=True)
            made = getattr(functional, f"lp_pool{ndim}d")(x, power, kernel, stride, ceil_mode)
            made.sum().backward()
            rows.append([each.detach().cpu().numpy() for each in (made, x.grad)])
        for mine, other in zip(*rows, strict=True):
            np.testing.assert_allclose(mine, other, 1e-9)
