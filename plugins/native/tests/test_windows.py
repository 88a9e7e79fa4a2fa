"""Compiled patches, and convolutions without patches, against their references."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

import dovetail

pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_aten.kernel_support import array_kernel_table
from dovetail_aten.kernel_support.geometry.window_geometry import Window
from dovetail_cpu import CpuArrays
from dovetail_cpu.functions.patches import add_patches, write_patches
from dovetail_native import _core

from .compiled_kernels import UNITS, close
from .layouts import LAYOUTS, numbers

DTYPES = ("f4", "f8", "f2", "i1", "i8", "?", "c8", "c16")
LINES = (
    Window(7, 3, 1, 1, 1, 7),
    Window(9, 2, 1, 0, 1, 8),
    Window(11, 3, 2, 2, 2, 6),
    Window(5, 4, 3, 4, 1, 4),
    Window(8, 3, 1, -3, 1, 3),
    Window(3, 1, 2, 5, 1, 7),
    Window(2, 5, 1, 4, 3, 1),
    Window(40, 3, 1, 1, 1, 40),
    Window(70, 3, 2, 1, 1, 35),
)


def declined(*_: Any) -> Any:
    """Stand for a reference that is not to be called."""
    raise AssertionError("the compiled kernel left its arguments to the reference")


def geometries() -> list[tuple[Window, ...]]:
    """Return windows over one, two and three dimensions."""
    planes = [(one, other) for one in LINES for other in LINES[:5] if one.size * other.size < 400]
    return [*[(line,) for line in LINES], *planes, *[(LINES[1], *plane) for plane in planes[::3]]]


def shapes(windows: tuple[Window, ...]) -> tuple[tuple[int, ...], tuple[int, int]]:
    """Return the shape of an image, and that of its patches."""
    places, number = prod(w.kernel for w in windows), prod(w.number for w in windows)
    return tuple([w.size for w in windows]), (places, number)


@pytest.mark.parametrize("dtype", DTYPES)
def test_patches_are_written_as_by_the_reference(dtype):
    write = _core.CompiledKernel("write_patches", declined)
    for seed, windows in enumerate(geometries()):
        sizes, columns = shapes(windows)
        images = numbers((2, 3, *sizes), "f8", seed, False).astype(dtype)
        made = np.ones((2, 3, *columns), dtype)
        expected = np.ones((2, 3, *columns), dtype)
        write(made, images, windows)
        write_patches(expected, images, windows)
        np.testing.assert_array_equal(made, expected)
        # Several images are columns of one matrix.
        memory = np.ones((3, columns[0], 2, columns[1]), dtype)
        write(memory.transpose(2, 0, 1, 3), images, windows)
        np.testing.assert_array_equal(memory.transpose(2, 0, 1, 3), expected)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_patches_are_added_as_by_the_reference(dtype):
    add = _core.CompiledKernel("add_patches", declined)
    for seed, windows in enumerate(geometries()):
        sizes, columns = shapes(windows)
        images = numbers((2, 3, *sizes), dtype, seed, False)
        patches = numbers((3, columns[0], 2, columns[1]), dtype, seed, True)
        patches = patches.transpose(2, 0, 1, 3)
        expected = images.copy()
        with np.errstate(all="ignore"):
            add_patches(expected, patches, windows)
        add(images, patches, windows)
        np.testing.assert_array_equal(images, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8", "c8"))
def test_patches_of_every_layout_agree(dtype, layout):
    write = _core.CompiledKernel("write_patches", write_patches)
    add = _core.CompiledKernel("add_patches", add_patches)
    windows = (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 2, 1, 1, 3))
    images = LAYOUTS[layout](numbers((2, 3, 6, 5), dtype, 0, False))
    found, expected = np.ones((2, 3, 9, 18), dtype), np.ones((2, 3, 9, 18), dtype)
    write(found, images, windows)
    write_patches(expected, images, windows)
    np.testing.assert_array_equal(found, expected)
    made, wanted = np.zeros((2, 3, 6, 5), dtype), np.zeros((2, 3, 6, 5), dtype)
    patches = LAYOUTS[layout](expected)
    add(made, patches, windows)
    add_patches(wanted, patches, windows)
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize(
    "change",
    (
        lambda patches, images, windows: (patches[:, :-1], images, windows),
        lambda patches, images, windows: (patches[..., :-1], images, windows),
        lambda patches, images, windows: (patches[:1], images, windows),
        lambda patches, images, windows: (patches, images[..., :-1], windows),
        lambda patches, images, windows: (patches, images.astype("f8"), windows),
        lambda patches, images, windows: (patches, images.astype(">f4"), windows),
        lambda patches, images, windows: (patches, images, windows[:1]),
        lambda patches, images, windows: (patches, images, (*windows, *windows)),
        lambda patches, images, windows: (
            patches,
            images,
            (windows[0], windows[1]._replace(size=99)),
        ),
        lambda patches, images, windows: (patches, images, (windows[0], windows[1][:5])),
        lambda patches, images, windows: (patches, images, (windows[0], (5, 3, 2, 1, 2**70, 3))),
        lambda patches, images, windows: (patches, images, (windows[0], (5, 3, 0, 1, 1, 3))),
        lambda patches, images, windows: (patches, images, None),
        lambda patches, images, windows: (None, images, windows),
    ),
)
def test_what_does_not_fit_is_left_to_the_reference(change):
    windows = (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 2, 1, 1, 3))
    patches, images = np.ones((2, 9, 18), "f4"), np.zeros((2, 6, 5), "f4")
    patches, images, windows = change(patches, images, windows)
    left = object()
    assert _core.CompiledKernel("write_patches", lambda *_: left)(patches, images, windows) is left
    assert _core.CompiledKernel("add_patches", lambda *_: left)(images, patches, windows) is left
    assert patches is None or (patches == 1).all()
    assert (images == 0).all()


SUFFIXES = {"": "_correlated", ".input": "_spread", ".weight": "_weighed"}
"""What a convolution without patches computes, and the method that is its reference."""


def computed(name: str, parts: tuple[Any, Any, Any], windows: Any, groups: int) -> Any:
    """Compute a part of ``(x, y, weight)`` by compiled code; None if that leaves it."""
    x, y, weight = parts
    made, *others = {"": (y, x, weight), ".input": (x, y, weight), ".weight": (weight, x, y)}[name]
    left = object()
    compiled = _core.CompiledKernel(f"convolution_direct{name}", lambda *_: left)
    made = np.zeros(made.shape, made.dtype)
    return None if compiled(made, *others, windows, groups) is left else made


def expected(name: str, parts: tuple[Any, Any, Any], windows: Any, groups: int) -> Any:
    """Compute the part by NumPy, in double precision."""
    dovetail.ones(1, device="cpu")
    generic = array_kernel_table(np, CpuArrays()).kernels["convolution"].fn.__wrapped__.__self__
    x, y, weight = [each.astype("f8") for each in parts]
    one, other = {"": (x, weight), ".input": (y, weight), ".weight": (x, y)}[name]
    made = getattr(generic, SUFFIXES[name])(one, other, windows, groups)
    return made.reshape({"": y, ".input": x, ".weight": weight}[name].shape)


def parts_of(
    windows: tuple[Window, ...], images: int, groups: int, depth: int, rows: int, dtype: str
) -> tuple[Any, Any, Any]:
    """Return images, results and weights of a convolution."""
    seed = images + depth + rows
    x = numbers((images, groups * depth, *[w.size for w in windows]), dtype, seed, False)
    y = numbers((images, groups * rows, *[w.number for w in windows]), dtype, seed + 1, False)
    kernels = [w.kernel for w in windows]
    return x, y, numbers((groups * rows, depth, *kernels), dtype, seed + 2, False)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("name", SUFFIXES)
def test_convolutions_of_every_geometry(name, dtype):
    unpadded = [each for each in geometries() if min([w.padding for w in each]) >= 0]
    unpadded += [
        (Window(9, 3, 2, 2, 3, 4), Window(13, 2, 4, 1, 2, 4)),
        (Window(40, 2, 7, 3, 3, 6),),
    ]
    for windows, (depth, rows) in product(unpadded[::2], ((1, 1), (2, 3), (1, 2), (3, 13))):
        parts = parts_of(windows, 2, 3, depth, rows, dtype)
        wanted = expected(name, parts, windows, 3).astype(dtype)
        for layout in ("C order", "gaps", "last axes swapped", "unaligned"):
            given = tuple([LAYOUTS[layout](each) for each in parts])
            found = computed(name, given, windows, 3)
            close(found, wanted, 64 * UNITS[dtype], 240 * prod([w.kernel for w in windows]) ** 0.5)


@pytest.mark.parametrize("name", SUFFIXES)
@pytest.mark.parametrize(
    "windows",
    (
        (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 1, 1, 1, 5)),
        (Window(70, 3, 1, 1, 1, 70), Window(65, 3, 2, 1, 1, 33)),
        (Window(20000, 5, 3, 2, 2, 6665),),
        (Window(1, 1, 1, 0, 1, 1), Window(4000, 3, 1, 1, 1, 4000)),
        (Window(30, 3, 2, 1, 1, 15), Window(17, 1, 1, 0, 1, 17), Window(16, 2, 2, 0, 1, 8)),
    ),
)
def test_bands_of_large_images_and_blocks_of_small_ones(windows, name):
    images = 100 if windows[0].size == 6 else 3
    parts = parts_of(windows, images, 1, 40, 21, "f4")
    wanted, found = expected(name, parts, windows, 1), computed(name, parts, windows, 1)
    assert np.abs(found - wanted).max() <= 3e-6 * np.abs(wanted).max()
    # Every image has the bits that it has alone.
    if name != ".weight":
        alone = computed(name, (parts[0][1:2], parts[1][1:2], parts[2]), windows, 1)
        np.testing.assert_array_equal(found[1:2], alone)


@pytest.mark.parametrize("name", SUFFIXES)
def test_infinities_have_the_results_of_the_reference(name):
    windows = (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 1, 0, 1, 3))
    parts = parts_of(windows, 2, 3, 1, 1, "f4")
    for which, index in ((0, (1, 1, 2, 2)), (1, (1, 1, 0, 0)), (2, (0, 0, 0, 0))):
        changed = [each.copy() for each in parts]
        changed[which][index] = np.inf
        found = computed(name, tuple(changed), windows, 3)
        # Zeros beyond results, and beyond lines of them, would be multiplied by these.
        assert (found is None) is ((name, which) in ((".input", 2), (".weight", 0)))
        if found is not None:
            with np.errstate(invalid="ignore"):
                wanted = expected(name, tuple(changed), windows, 3)
            np.testing.assert_allclose(found, wanted, 1e-5, 1e-4)


@pytest.mark.parametrize("name", SUFFIXES)
def test_arrays_of_other_shapes_are_left_to_the_reference(name):
    windows = (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 1, 0, 1, 3))
    x, y, weight = np.ones((2, 3, 6, 5)), np.ones((2, 6, 6, 3)), np.ones((6, 1, 3, 3))
    assert computed(name, (x, y, weight), windows, 3) is not None
    for wrong in (
        ((x[..., :-1], y, weight), windows, 3),
        ((x, y[..., :-1], weight), windows, 3),
        ((x, y, weight[..., :-1]), windows, 3),
        ((x[:, :-1], y, weight), windows, 3),
        ((x, y[:-1], weight), windows, 3),
        ((x, y, weight[:-1]), windows, 3),
        ((x.astype("f4"), y, weight), windows, 3),
        ((x, y, weight), windows, 4),
        ((x, y, weight), windows, 0),
        ((x, y, weight), windows[:1], 3),
        ((x[0], y, weight), windows, 3),
        ((x, y, weight), (windows[0]._replace(dilation=2**31 - 1), windows[1]), 3),
    ):
        assert computed(name, *wrong) is None


@pytest.mark.parametrize("dtype", (dovetail.float32, dovetail.float64), ids=repr)
@pytest.mark.parametrize("channels", (1, 3, 8, 19, 64))
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    (
        ((3, 3), 1, 1, 1),
        ((3, 3), 2, 1, 1),
        ((5, 2), (1, 2), (4, 1), 1),
        ((2, 3), 1, (1, 4), (1, 2)),
        ((7, 7), 3, 3, 1),
        ((3, 3), 1, 0, 2),
        ((1, 1), 2, 0, 1),
    ),
)
def test_channels_that_lie_last_and_are_not_mixed(
    dtype, channels, kernel, stride, padding, dilation
):
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": channels}
    x = dovetail.tensor(numbers((2, channels, 9, 23), "f8", channels, False)).to(dtype)
    weight = dovetail.tensor(numbers((channels, 1, *kernel), "f8", 1, False)).to(dtype)
    last = x.contiguous(memory_format=dovetail.channels_last)
    wanted = dovetail.conv2d(x.double(), weight.double(), **options)
    found = dovetail.conv2d(last, weight, **options)
    scale = dovetail.conv2d(x.double().abs(), weight.double().abs(), **options).max().item()
    assert found.is_contiguous(memory_format=dovetail.channels_last)
    error = (found.double() - wanted).abs().max().item()
    assert error <= 64 * UNITS["f4" if dtype is dovetail.float32 else "f8"] * scale
