"""Modules of images look, start and compute like PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

LINE, IMAGE, VOLUME = (2, 4, 8), (2, 4, 6, 6), (1, 4, 4, 4, 4)
MODULES: list[tuple[str, tuple[int, ...], tuple[Any, ...], dict[str, Any]]] = [
    ("Conv1d", LINE, (4, 6, 3), {"padding": 1, "groups": 2}),
    ("Conv2d", IMAGE, (4, 6, (3, 2)), {"stride": 2, "dilation": 2, "bias": False}),
    ("Conv2d", IMAGE, (4, 2, 3), {"padding": "same", "padding_mode": "reflect"}),
    ("Conv2d", IMAGE, (4, 2, 4), {"padding": "same", "padding_mode": "circular"}),
    ("Conv2d", IMAGE, (4, 2, 3), {"padding": "valid"}),
    ("Conv3d", VOLUME, (4, 2, 2), {"padding": (1, 0, 1), "padding_mode": "replicate"}),
    ("ConvTranspose1d", LINE, (4, 6, 3), {"stride": 2, "output_padding": 1}),
    ("ConvTranspose2d", IMAGE, (4, 6, 3), {"groups": 2, "dilation": 2, "padding": 1}),
    ("ConvTranspose3d", VOLUME, (4, 1, 2), {}),
    ("MaxPool1d", LINE, (3, 2, 1), {}),
    ("MaxPool2d", IMAGE, ((3, 2),), {"return_indices": True, "ceil_mode": True}),
    ("MaxPool3d", VOLUME, (2, 1), {"dilation": 2}),
    ("AvgPool1d", LINE, (3, 2), {"padding": 1, "count_include_pad": False}),
    ("AvgPool2d", IMAGE, (2,), {"divisor_override": 3}),
    ("AvgPool3d", VOLUME, (3, 2), {"ceil_mode": True}),
    ("AdaptiveAvgPool1d", LINE, (3,), {}),
    ("AdaptiveAvgPool2d", IMAGE, ((None, 4),), {}),
    ("AdaptiveAvgPool3d", VOLUME, (1,), {}),
    ("AdaptiveMaxPool1d", LINE, (3,), {"return_indices": True}),
    ("AdaptiveMaxPool2d", IMAGE, ((4, None),), {}),
    ("AdaptiveMaxPool3d", VOLUME, (3,), {}),
    ("LPPool1d", LINE, (2, 3), {}),
    ("LPPool2d", IMAGE, (2, 3), {"stride": 1}),
    ("LPPool3d", VOLUME, (2, 2), {"ceil_mode": True}),
    ("Unfold", IMAGE, (2,), {"padding": 1}),
    ("Fold", (2, 16, 4), ((4, 4), 2), {"stride": 2}),
    ("PixelShuffle", IMAGE, (2,), {}),
    ("PixelUnshuffle", IMAGE, (3,), {}),
    ("ChannelShuffle", IMAGE, (2,), {}),
    *[
        (f"{kind}Pad{ndim}d", shape, (1, 2.5) if kind == "Constant" else (1,), {})
        for kind in ("Constant", "Zero", "Reflection", "Replication", "Circular")
        for ndim, shape in ((1, LINE), (2, IMAGE), (3, VOLUME))
    ],
    ("ReflectionPad2d", IMAGE, ((1, 0, 2, -1),), {}),
    ("CircularPad2d", IMAGE, ((1, -2, 0, 3),), {}),
    ("ZeroPad2d", IMAGE, ((1, -1, 2, 0),), {}),
]


def results(library: Any, module: Any, array: Any) -> list[Any]:
    x = library.tensor(array, requires_grad=True)
    made = module(x)
    made = list(made) if isinstance(made, tuple) else [made]
    (made[0] * made[0]).sum().backward()
    grads = [each.grad for each in (x, *module.parameters())]
    return [each.detach().cpu().numpy() for each in (*made, *grads)]


@pytest.mark.parametrize(
    ("name", "shape", "args", "options"),
    MODULES,
    ids=[f"{each[0]}-{n}" for n, each in enumerate(MODULES)],
)
def test_a_module_of_images_is_that_of_pytorch(
    name: str, shape: Any, args: Any, options: Any
) -> None:
    mine = getattr(dovetail.nn, name)(*args, **options)
    theirs = getattr(torch.nn, name)(*args, **options)
    assert repr(mine) == repr(theirs)
    state = theirs.state_dict()
    assert list(mine.state_dict()) == list(state)
    mine.load_state_dict(
        {key: dovetail.from_numpy(each.cpu().numpy()) for key, each in state.items()}
    )
    array = np.random.default_rng(0).random(shape, dtype="float32")
    found, expected = results(dovetail, mine, array), results(torch, theirs, array)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5)


@pytest.mark.parametrize("name", ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"])
def test_a_module_of_unpooling_takes_the_places_of_a_pooling(name: str) -> None:
    shape = {"1": LINE, "2": IMAGE, "3": VOLUME}[name[-2]]
    array = np.random.default_rng(0).random(shape, dtype="float32")
    rows = []
    for library in (dovetail, torch):
        pool = getattr(library.nn, name.replace("Unpool", "Pool"))(2, return_indices=True)
        unpool = getattr(library.nn, name)(2)
        rows.append((repr(unpool), unpool(*pool(library.tensor(array))).cpu().numpy()))
    assert rows[0][0] == rows[1][0]
    np.testing.assert_array_equal(rows[0][1], rows[1][1])


def test_fractional_pooling_takes_the_numbers_it_is_given() -> None:
    array = np.random.default_rng(0).random(IMAGE, dtype="float32")
    samples = np.random.default_rng(1).random((2, 4, 2), dtype="float32")
    rows = []
    for library in (dovetail, torch):
        pool = library.nn.FractionalMaxPool2d(
            2, output_ratio=0.5, return_indices=True, _random_samples=library.tensor(samples)
        )
        rows.append([each.cpu().numpy() for each in pool(library.tensor(array))])
    for one, other in zip(*rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_transposed_convolution_is_asked_for_an_output_size() -> None:
    for library in (dovetail, torch):
        layer = library.nn.ConvTranspose2d(1, 1, 3, stride=2)
        assert tuple(layer(library.ones(1, 1, 3, 3), output_size=(8, 7)).shape) == (1, 1, 8, 7)
        with pytest.raises(ValueError, match=r"requested an output size of .*valid sizes range"):
            layer(library.ones(1, 1, 3, 3), output_size=(9, 8))
        with pytest.raises(ValueError, match="output_size must have 2 or 4 elements"):
            layer(library.ones(1, 1, 3, 3), output_size=(9,))


@pytest.mark.parametrize(
    ("name", "args", "options", "text"),
    [
        ("Conv2d", (3, 4, 3), {"groups": 2}, "in_channels must be divisible by groups"),
        ("Conv2d", (4, 3, 3), {"groups": 2}, "out_channels must be divisible by groups"),
        ("Conv2d", (4, 4, 3), {"groups": 0}, "groups must be a positive integer"),
        ("Conv2d", (4, 4, 3), {"padding": "full"}, "Invalid padding string 'full'"),
        ("Conv2d", (4, 4, 3), {"padding": "same", "stride": 2}, "not supported for strided"),
        ("Conv2d", (4, 4, 3), {"padding_mode": "full"}, "padding_mode must be one of"),
        ("ConvTranspose2d", (4, 4, 3), {"padding_mode": "reflect"}, 'Only "zeros" padding mode'),
        ("FractionalMaxPool2d", (2,), {}, "requires specifying either an output size"),
        ("FractionalMaxPool2d", (2, 3, 0.5), {}, "only one of output_size and output_ratio"),
        ("FractionalMaxPool2d", (2,), {"output_ratio": 1.5}, "must be between 0 and 1"),
    ],
)
def test_a_module_is_not_made_of_what_does_not_fit(
    name: str, args: Any, options: Any, text: str
) -> None:
    for library in (dovetail, torch):
        with pytest.raises(ValueError, match=text):
            getattr(library.nn, name)(*args, **options)


def test_initial_values_are_uniform_between_the_bounds_of_pytorch() -> None:
    for name, fan_in in (("Conv2d", 8 * 9), ("ConvTranspose2d", 16 * 9)):
        layers = [getattr(library.nn, name)(8, 16, 3) for library in (dovetail, torch)]
        for mine, theirs in zip(*[list(layer.parameters()) for layer in layers], strict=True):
            assert tuple(mine.shape) == tuple(theirs.shape)
            bound = fan_in**-0.5
            for each in (mine, theirs):
                assert 0.8 * bound < float(each.detach().abs().max()) <= bound


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_interpolated_bytes_are_rounded_once(mode: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (1, 1, 20, 20)).astype(np.uint8)
    exact = torch.nn.functional.interpolate(
        torch.from_numpy(pixels).double(), scale_factor=1.7, mode=mode
    ).clip(0, 255)
    ours, theirs = [
        lib.nn.functional.interpolate(lib.from_numpy(pixels), scale_factor=1.7, mode=mode)
        for lib in (dovetail, torch)
    ]
    assert np.abs(ours.cpu().numpy() - exact.numpy()).max() < 0.501
    assert (theirs - exact).abs().max() > 0.6
