"""Convolutions, patches and padding give what PyTorch's give, for any numbers."""

from __future__ import annotations

import itertools
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


def numbers(source: random.Random, ndim: int, low: int, high: int) -> list[int]:
    return [source.randint(low, high) for _ in range(ndim)]


def drawn_convolution(source: random.Random) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return shapes of input, weight and bias, and how they are convolved."""
    ndim, groups, images = source.randint(1, 3), source.choice((1, 1, 2, 3)), source.randint(0, 2)
    inner, outer = source.randint(1, 2), source.randint(1, 2)
    kernel, sizes = numbers(source, ndim, 1, 3), numbers(source, ndim, 4, 7)
    stride, padding = numbers(source, ndim, 1, 3), numbers(source, ndim, 0, 2)
    dilation, transposed = numbers(source, ndim, 1, 2), source.random() < 0.5
    beyond = [
        source.randrange(max(pair)) if transposed else 0
        for pair in zip(stride, dilation, strict=True)
    ]
    channels = (groups * inner, outer) if transposed else (groups * outer, inner)
    shapes = (images, groups * inner, *sizes), (*channels, *kernel), (groups * outer,)
    return shapes, (stride, padding, dilation, transposed, beyond, groups)


def results(library: Any, arrays: list[Any], needs: list[bool], how: tuple[Any, ...]) -> list[Any]:
    """Return what a convolution gives, with the gradients of the tensors that need one."""
    leaves = [library.tensor(each) for each in arrays[:3]]
    for leaf, needed in zip(leaves, needs, strict=True):
        leaf.requires_grad_(needed)
    made = library.convolution(*leaves, *how)
    grad = library.tensor(np.resize(arrays[3], tuple(made.shape)))
    if any(needs):
        made.backward(grad)
    return [
        made.detach().cpu().numpy(),
        *[each.grad.cpu().numpy() for each in leaves if each.requires_grad],
    ]


def test_convolutions_with_any_numbers_and_their_gradients_are_those_of_pytorch() -> None:
    compared = 0
    for seed in range(SEED, SEED + CALLS):
        source, generator = random.Random(seed), np.random.default_rng(seed)
        shapes, how = drawn_convolution(source)
        arrays = [generator.standard_normal(shape) for shape in (*shapes, (97,))]
        needs = [source.random() < 0.7 for _ in range(3)]
        try:
            expected = results(torch, arrays, needs, how)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                results(dovetail, arrays, needs, how)
            continue
        compared += 1
        found = results(dovetail, arrays, needs, how)
        assert len(found) == len(expected)
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, other, 1e-9, 1e-9, err_msg=f"seed {seed}: {how}")
    assert compared > CALLS // 2


@pytest.mark.parametrize("mode", ["circular", "reflect", "replicate"])
def test_every_padding_of_a_line_is_that_of_pytorch(mode: str) -> None:
    """Where PyTorch pads with memory that nothing was written to, an error is raised."""
    for pad in itertools.product(range(-6, 7), repeat=2):
        found, expected = [
            outcome(functional.pad, library.arange(5.0).reshape(1, 5), pad, mode=mode)
            for library, functional in ((dovetail, F), (torch, TF))
        ]
        if mode == "circular" and min(pad) <= -5 and max(pad) > 0:
            assert found == "RuntimeError"
        else:
            assert found == expected, pad


def outcome(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        made = function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return made.tolist() if not isinstance(made, tuple) else [each.tolist() for each in made]


REFUSED = [
    ("conv1d", (2, 3, 2), (4, 3, 3), {}),
    ("conv1d", (2, 4, 5), (4, 3, 3), {}),
    ("conv1d", (3,), (4, 3, 3), {}),
    ("conv2d", (2, 3, 5, 5), (4, 3, 3), {}),
    ("conv1d", (2, 3, 5), (4, 3, 3), {"stride": 0}),
    ("conv1d", (2, 3, 5), (4, 3, 3), {"stride": (1, 2)}),
    ("conv1d", (2, 3, 5), (4, 3, 3), {"padding": -1}),
    ("conv1d", (2, 3, 5), (4, 3, 3), {"padding": "full"}),
    ("conv1d", (2, 3, 5), (4, 3, 3), {"padding": "same", "stride": 2}),
    ("conv1d", (2, 3, 5), (4, 3, 3), {"groups": 2}),
    ("conv_transpose1d", (2, 3, 5), (3, 4, 3), {"output_padding": 1}),
    ("conv_transpose1d", (2, 3, 5), (3, 4, 3), {"output_padding": -1}),
    ("conv_transpose1d", (2, 3, 5), (3, 4, 3), {"padding": 6}),
    ("conv_transpose1d", (2, 4, 5), (3, 4, 3), {}),
]


@pytest.mark.parametrize(("name", "input", "weight", "options"), REFUSED)
def test_what_is_refused_is_refused_by_pytorch_with_the_same_error(
    name: str, input: Any, weight: Any, options: Any
) -> None:
    found, expected = [
        outcome(getattr(functional, name), library.ones(input), library.ones(weight), **options)
        for library, functional in ((dovetail, F), (torch, TF))
    ]
    assert found == expected == "RuntimeError"


def test_patches_fold_back_to_as_many_times_the_image_as_windows_cover_it() -> None:
    generator = np.random.default_rng(SEED)
    image = generator.standard_normal((2, 3, 6, 7))
    for kernel, dilation, padding, stride in itertools.product((1, 2, 3), (1, 2), (0, 1), (1, 3)):
        how = {"dilation": dilation, "padding": padding, "stride": stride}
        rows = []
        for library, functional in ((dovetail, F), (torch, TF)):
            x = library.tensor(image, requires_grad=True)
            columns = functional.unfold(x, kernel, **how)
            folded = functional.fold(columns * columns, (6, 7), kernel, **how)
            (folded * folded).sum().backward()
            rows.append([each.detach().cpu().numpy() for each in (columns, folded, x.grad)])
        for mine, other in zip(*rows, strict=True):
            np.testing.assert_allclose(mine, other, 1e-9, 1e-9, err_msg=str((kernel, how)))


def test_a_convolution_of_no_channels_has_all_output_channels_and_none_in_pytorch() -> None:
    made = F.conv1d(dovetail.ones(2, 0, 5), dovetail.ones(4, 0, 3), dovetail.ones(4))
    assert made.tolist() == [[[1.0] * 3] * 4] * 2
    assert tuple(TF.conv1d(torch.ones(2, 0, 5), torch.ones(4, 0, 3)).shape) == (2, 0, 3)


def test_a_weight_in_single_beside_an_input_in_half_precision_is_refused_as_in_pytorch() -> None:
    for library, functional in ((dovetail, F), (torch, TF)):
        half, single = library.ones(1, 1, 4, dtype=library.bfloat16), library.ones(1, 1, 2)
        with pytest.raises(RuntimeError):
            functional.conv1d(half, single)
        with pytest.raises(RuntimeError):
            functional.conv1d(half, single.to(library.bfloat16), library.ones(1))


@pytest.mark.parametrize("channels", [4, 32])
def test_a_transposed_convolution_of_points_reaches_beyond_the_image(channels: int) -> None:
    results = []
    for library in (torch, dovetail):
        x = library.ones(2, channels, 12, 12, requires_grad=True)
        w = library.ones(channels, channels, 1, 1, requires_grad=True)
        made = library.nn.functional.conv_transpose2d(x, w, dilation=2, output_padding=1)
        made.sum().backward()
        results.append([each.tolist() for each in (made, x.grad, w.grad)])
    assert results[0] == results[1]
