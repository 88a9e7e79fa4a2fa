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


def direct(name: str) -> tuple[Any, Any]:
    """Return a compiled convolution without patches, and its reference."""
    dovetail.ones(1, device="cpu")
    kernels = array_kernel_table(np, CpuArrays()).kernels
    generic = kernels["convolution"].fn.__wrapped__.__self__
    methods = {"": "_correlated", ".input": "_spread", ".weight": "_weighed"}
    return (
        _core.CompiledKernel(f"convolution_direct{name}", declined),
        getattr(generic, methods[name]),
    )


@pytest.mark.parametrize("dtype", ("f4", "f8"))
@pytest.mark.parametrize("name", ("", ".input", ".weight"))
def test_a_convolution_of_groups_of_one_channel(name, dtype):
    compiled, reference = direct(name)
    unpadded = [each for each in geometries() if min([w.padding for w in each]) >= 0]
    for seed, (windows, rows, depth) in enumerate(product(unpadded[::2], (1, 2), (1, 2))):
        groups = 3
        x = numbers((2, groups * depth, *[w.size for w in windows]), dtype, seed, False)
        y = numbers((2, groups * rows, *[w.number for w in windows]), dtype, seed, False)
        weight = numbers((groups * rows, depth, *[w.kernel for w in windows]), dtype, seed, False)
        one, other = {"": (x, weight), ".input": (y, weight), ".weight": (x, y)}[name]
        exact = reference(one.astype("f8"), other.astype("f8"), windows, groups)
        for layout in ("C order", "gaps", "last axes swapped", "unaligned"):
            found = compiled(LAYOUTS[layout](one), LAYOUTS[layout](other), windows, groups)
            expected = exact.astype(dtype).reshape(found.shape)
            close(found, expected, 64 * UNITS[dtype], 30 * prod(weight.shape[2:]) ** 0.5 * 8)


@pytest.mark.parametrize("name", ("", ".weight"))
def test_zeros_beyond_an_image_are_multiplied_with_infinities_by_the_reference(name):
    windows = (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 1, 0, 1, 3))
    x, y = numbers((2, 3, 6, 5), "f4", 0, False), numbers((2, 3, 6, 3), "f4", 1, False)
    weight = numbers((3, 1, 3, 3), "f4", 2, False)
    weight[0, 0, 0, 0], y[1, 1, 0, 0] = np.inf, np.nan
    left = object()
    compiled = _core.CompiledKernel(f"convolution_direct{name}", lambda *_: left)
    assert compiled(x, y if name else weight, windows, 3) is left
    inside = (windows[0]._replace(padding=0, number=4), windows[1])
    # Weights of images are sums of lines that zeros follow.
    found = compiled(x, y[:, :, :4] if name else weight, inside, 3)
    assert (found is left) is bool(name)


@pytest.mark.parametrize("name", ("", ".input", ".weight"))
def test_arrays_of_other_shapes_are_left_to_the_reference(name):
    windows = (Window(6, 3, 1, 1, 1, 6), Window(5, 3, 1, 0, 1, 3))
    x, y, weight = np.ones((2, 3, 6, 5)), np.ones((2, 6, 6, 3)), np.ones((6, 1, 3, 3))
    one, other = {"": (x, weight), ".input": (y, weight), ".weight": (x, y)}[name]
    left = object()
    compiled = _core.CompiledKernel(f"convolution_direct{name}", lambda *_: left)
    assert compiled(one, other, windows, 3) is not left
    for wrong in (
        (one[..., :-1], other, windows, 3),
        (one, other[..., :-1], windows, 3),
        (one[:, :-1], other, windows, 3),
        (one, other[:-1] if name != ".weight" else other[:, :-1], windows, 3),
        (one.astype("f4"), other, windows, 3),
        (one, other, windows, 4),
        (one, other, windows, 0),
        (one, other, windows[:1], 3),
        (one[0], other, windows, 3),
    ):
        assert compiled(*wrong) is left
