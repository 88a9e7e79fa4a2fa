"""Compiled attention against its reference, for operands of every layout."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing

from .compiled_kernels import UNITS, close, helper, kernel  # noqa: E402
from .layouts import LAYOUTS, numbers  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the kernels are those of the cpu"),
]

NAME = "_scaled_dot_product_flash_attention_for_cpu"
SHAPES = (
    ((), 1, 1, 1, 1),
    ((), 5, 7, 3, 2),
    ((2, 3), 8, 8, 4, 4),
    ((2,), 40, 33, 5, 6),
    ((1, 2), 17, 64, 16, 1),
    ((2,), 300, 260, 8, 4),
    ((1, 1, 2), 3, 5000, 2, 3),
)
"""Leading sizes, queries, keys, features and width of the values."""


def operands(shape: tuple[Any, ...], dtype: str, layout: str, special: bool = False) -> list[Any]:
    lead, queries, keys, features, width = shape
    sizes = ((queries, features), (keys, features), (keys, width))
    return [
        LAYOUTS[layout](numbers((*lead, *size), dtype, seed, special))
        for seed, size in enumerate(sizes)
    ]


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_attention_agrees_with_the_reference(dtype, layout, is_causal):
    compiled = kernel(NAME)
    for shape in SHAPES:
        given = operands(shape, dtype, layout)
        before = [each.copy() for each in given]
        for scale in (None, 0.3, -1.0):
            arguments = (*given, 0.0, is_causal)
            found = compiled(*arguments, scale=scale)
            expected = compiled.__wrapped__(*arguments, scale=scale)
            for one, other in zip(found, expected, strict=True):
                close(one, other, 2000 * UNITS[dtype], 4.0)
                assert one.flags.c_contiguous
        for each, old in zip(given, before, strict=True):
            np.testing.assert_array_equal(each, old)


def masks_of(shape: tuple[Any, ...], dtype: str) -> list[Any]:
    """Return no mask, and masks of truth values and of numbers that spread over some axes."""
    lead, queries, keys, *_ = shape
    chances = np.random.default_rng(0)
    spread = ((queries, keys), (queries, 1), (*[1 for _ in lead], 1, keys), (*lead, queries, keys))
    truths = [chances.random(each) > 0.4 for each in spread]
    truths[0][0] = False  # a query that sees nothing
    added = [chances.standard_normal(each).astype(dtype) for each in spread]
    strided = np.repeat(added[-1], 2, -1)[..., ::2]
    unaligned = np.frombuffer(b"0" + added[0].tobytes(), "u1")[1:].view(dtype).reshape(spread[0])
    return [
        None,
        *truths,
        truths[-1].swapaxes(-1, -2).copy().swapaxes(-1, -2),
        *added,
        strided,
        unaligned,
    ]


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_masks_agree_with_the_reference(dtype, is_causal):
    compiled = kernel(NAME)
    for shape in SHAPES:
        given = operands(shape, dtype, "C order")
        for mask in masks_of(shape, dtype):
            for scale in (None, -0.5):
                call = {"is_causal": is_causal, "attn_mask": mask, "scale": scale}
                found = compiled(*given, **call)
                expected = compiled.__wrapped__(*given, **call)
                for one, other in zip(found, expected, strict=True):
                    close(one, other, 2000 * UNITS[dtype], 4.0)


@pytest.mark.parametrize("order", ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (1, 0, 2, 3)))
def test_means_lie_in_memory_as_the_references(order):
    compiled = kernel(NAME)
    query, key, value = [each.transpose(order) for each in numbers((3, 2, 3, 4, 5), "f4", 0, False)]
    for shape in (None, (1, 1), (1, 1, 1), (1, 1, 1, 1)):
        mask = None if shape is None else np.ones(shape, bool)
        found = compiled(query, key, value, attn_mask=mask)
        expected = compiled.__wrapped__(query, key, value, attn_mask=mask)
        assert [each.strides for each in found] == [each.strides for each in expected], shape


@pytest.mark.parametrize("is_causal", (False, True))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_gradients_agree_with_the_reference(dtype, layout, is_causal):
    compiled = helper("attention_backward")
    for shape in SHAPES:
        lead, queries, *_, width = shape
        given = operands(shape, dtype, layout)
        grad = LAYOUTS[layout](numbers((*lead, queries, width), dtype, 9, False))
        masks = masks_of(shape, dtype) if layout == "C order" else [None]
        for mask in masks:
            for scale in (None, -0.5):
                call = (grad, *given, None, None, is_causal, mask, scale, (True, True, True, False))
                found, expected = compiled(*call), compiled.__wrapped__(*call)
                assert found[3] is None
                for one, other in zip(found[:3], expected[:3], strict=True):
                    close(one, other, 4000 * UNITS[dtype], 1 + np.abs(other).max())
                    assert one.flags.c_contiguous


def test_the_gradient_of_a_mask_is_the_references():
    left = object()
    compiled = core.CompiledKernel("attention_backward", lambda *_: left)
    given = operands(((), 5, 7, 3, 2), "f4", "C order")
    call = [np.ones((5, 2), "f4"), *given, None, None, False, np.ones((5, 7), "f4"), None]
    assert compiled(*call, [True, True, True, True]) is left
    assert compiled(*call, [True, True, True, False]) is not left
    assert compiled(np.ones((4, 2), "f4"), *call[1:], [True, True, True, False]) is left


@pytest.mark.parametrize("dtype", (np.float16, ml_dtypes.bfloat16))
def test_half_precision_is_rounded_once(dtype):
    compiled = kernel(NAME)
    for shape in SHAPES:
        halves = [each.astype(dtype) for each in operands(shape, "f4", "C order")]
        means, logarithms = compiled(*halves, 0.0, True)
        wide = compiled(*[each.astype("f4") for each in halves], 0.0, True)
        assert means.dtype == dtype
        np.testing.assert_array_equal(means, wide[0].astype(dtype))
        np.testing.assert_array_equal(logarithms, wide[1])
        assert compiled.__wrapped__(*halves, 0.0, True)[1].dtype == logarithms.dtype
        left = object()
        mixed = core.CompiledKernel(NAME, lambda *_, left=left: left)
        assert mixed(halves[0], halves[1].astype("f4"), halves[2]) is left


@pytest.mark.parametrize("is_causal", (False, True))
def test_a_row_of_minus_infinities_has_no_weights(is_causal):
    compiled = kernel(NAME)
    query, key, value = operands(((), 5, 20, 3, 2), "f4", "C order")
    query[:], key[:] = 1, -1e38
    found = compiled(query * 1e38, key, value, 0.0, is_causal, scale=10.0)
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_array_equal(found[1], 0)


def test_nan_stays_in_its_row():
    compiled = kernel(NAME)
    query, key, value = operands(((2,), 20, 20, 3, 2), "f8", "C order")
    query[1, 3, 0] = np.nan
    means, logarithms = compiled(query, key, value)
    assert np.isnan(means[1, 3]).all()
    assert np.isnan(logarithms[1, 3])
    assert np.isnan(logarithms).sum() == 1
    assert np.isnan(means).sum() == means.shape[-1]


@pytest.mark.parametrize(
    "change",
    (
        {"dropout_p": 0.5},
        {"attn_mask": np.ones((5, 6), bool)},
        {"attn_mask": np.ones((1, 2, 5, 7), bool)},
        {"attn_mask": np.ones((5, 7))},
        {"attn_mask": np.ones((5, 7), int)},
        {"key": np.ones((2, 7, 4), "f4")},
        {"key": np.ones((2, 7, 3))},
        {"key": np.ones((1, 7, 3), "f4")},
        {"value": np.ones((2, 6, 2), "f4")},
        {"value": np.ones((2, 0, 2), "f4")},
        {"query": np.ones(3, "f4")},
        {"scale": "1"},
    ),
)
def test_what_it_does_not_compute_is_left_to_the_reference(change):
    left = object()
    compiled = core.CompiledKernel(NAME, lambda *_, **__: left)
    given: dict[str, Any] = dict(
        zip(("query", "key", "value"), operands(((2,), 5, 7, 3, 2), "f4", "C order"), strict=True)
    )
    assert compiled(**given) is not left
    assert compiled(**(given | change)) is left
