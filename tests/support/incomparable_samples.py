"""Calls of which PyTorch does not have the numbers, and why: by operator, a line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dovetail
from dovetail.testing import OpInfo, SampleInput

Condition = Callable[[SampleInput], bool]


def dtypes_of(sample: SampleInput) -> set[Any]:
    return {tensor.dtype for tensor in sample.tensors()}


def numbers_of(sample: SampleInput) -> list[Any]:
    return [value for value in sample.arguments if isinstance(value, int | float | complex)]


def is_special(sample: SampleInput) -> bool:
    """Say whether some number is not finite."""
    return any(
        not bool(dovetail.isfinite(tensor).all())
        for tensor in sample.tensors()
        if tensor.dtype.is_floating_point
    )


def is_differentiated(sample: SampleInput) -> bool:
    return any(tensor.requires_grad for tensor in sample.tensors())


def is_complex(sample: SampleInput) -> bool:
    return any(dtype.is_complex for dtype in dtypes_of(sample))


def is_bytes(sample: SampleInput) -> bool:
    return dovetail.uint8 in dtypes_of(sample)


def is_half(sample: SampleInput) -> bool:
    return not {dovetail.float16, dovetail.bfloat16}.isdisjoint(dtypes_of(sample))


def has_equals(sample: SampleInput) -> bool:
    """Say whether two elements are equal."""
    return len(set(sample.input.reshape(-1).tolist())) < sample.input.numel()


def counts_from_the_end(sample: SampleInput) -> bool:
    index = sample.arguments[2]
    return is_differentiated(sample) and index.numel() > 0 and int(index.min()) < 0


def is_out_of_order(sample: SampleInput) -> bool:
    """Say whether what is searched in is not sorted."""
    sequence = next((each for each in sample.tensors() if each.ndim), sample.tensors()[0])
    if sequence.is_complex():
        return False
    ordered = sequence.sort(-1)[0] if sequence.ndim else sequence
    return "sorter" not in sample.kwargs and not bool((ordered == sequence).all())


def has_two_precisions(sample: SampleInput) -> bool:
    inexact = [each for each in dtypes_of(sample) if each.is_floating_point or each.is_complex]
    return len(inexact) > 1


def has_nan(sample: SampleInput) -> bool:
    return any(bool(dovetail.isnan(tensor).any()) for tensor in sample.tensors())


def either(*conditions: Condition) -> Condition:
    return lambda sample: any(condition(sample) for condition in conditions)


def is_far_below(sample: SampleInput) -> bool:
    return bool((sample.input < -2).any())


def is_deficient(sample: SampleInput) -> bool:
    """Say whether what is differentiated are matrices of less than full rank."""
    x = sample.input.detach()
    if not is_differentiated(sample) or is_half(sample) or x.ndim < 2 or not x.numel():
        return False
    return bool((dovetail.linalg.matrix_rank(x) < min(x.shape[-2:])).any())


def has_unfit_pivots(sample: SampleInput) -> bool:
    factors, pivots = sample.tensors()[:2]
    return tuple(pivots.shape) != (*factors.shape[:-2], min(factors.shape[-2:], default=0))


def fits_no_channels(sample: SampleInput) -> bool:
    """Say whether parameters are not one number for each channel, or dtypes are several."""
    tensors, shape = sample.tensors(), tuple(sample.input.shape)
    one_each = {shape, shape[:1] + shape[1:2], shape[1:2]}
    return (
        len(shape) < 2
        or sample.input.numel() == 0
        or len(dtypes_of(sample)) > 1
        or not sample.input.is_floating_point()
        or any(tuple(tensor.shape) not in one_each for tensor in tensors)
        or any(number <= 0 for number in numbers_of(sample) if not isinstance(number, bool))
    )


UNCHECKED: Final = [
    "_batch_norm_no_update",
    "_batch_norm_with_update",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "native_batch_norm",
    "native_batch_norm_backward",
    "native_group_norm_backward",
]
POLYNOMIALS: Final = [
    *[f"special_{shift}chebyshev_polynomial_{k}" for shift in ("", "shifted_") for k in "tuvw"],
    "special_hermite_polynomial_h",
    "special_hermite_polynomial_he",
    "special_laguerre_polynomial_l",
    "special_legendre_polynomial_p",
]
BESSEL: Final = [
    *[f"special_{name}" for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")],
    *[f"special_modified_bessel_{letter}{order}" for letter in "ik" for order in "01"],
    "special_scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1",
    "special_spherical_bessel_j0",
]
NO_DERIVATIVE: Final = "results do not require grad, where backward here says what is missing"

INCOMPARABLE: Final[dict[str, tuple[Condition, str]]] = {
    "_embedding_bag": (
        lambda sample: True,
        "all results but the first depend on how it is computed: test_embedding_bag compares those",
    ),
    "embedding_bag": (
        lambda sample: True,
        "all results but the first depend on how it is computed: test_embedding_bag compares those",
    ),
    **{
        f"_upsample_{kind}2d_aa": (
            either(is_bytes, is_special),
            "bytes are rounded by other fixed points, and infinities are beside weights of 0",
        )
        for kind in ("bicubic", "bilinear")
    },
    "_scaled_dot_product_attention_math": (
        lambda sample: dovetail.bool in dtypes_of(sample),
        "PyTorch adds masks of bools as numbers, unless scaled_dot_product_attention calls it",
    ),
    "_scaled_dot_product_flash_attention_for_cpu": (
        lambda sample: (
            sample.input.ndim != 4
            or sample.kwargs.get("scale", 1) < 0
            or len(dtypes_of(sample)) > 1
            or any(tensor.requires_grad for tensor in sample.tensors()[3:])
        ),
        "PyTorch takes four dimensions and masks of the dtype of the rest, which have no gradient; "
        "of a negative factor and future keys it makes NaN",
    ),
    "_ctc_loss": (lambda sample: True, "states beyond the lengths are not initialized"),
    "_ctc_loss_backward": (lambda sample: True, "it takes for granted what the forward gave"),
    "as_strided_scatter": (is_differentiated, "the gradient goes where it is written"),
    "bernoulli_": (
        lambda sample: not sample.input.dtype.is_floating_point,
        "integers that are drawn by probabilities seem to require grad",
    ),
    "binary_cross_entropy": (
        lambda sample: any(each.shape != sample.input.shape for each in sample.tensors()[:2]),
        "operands that broadcast have another number of elements",
    ),
    "ctc_loss": (
        lambda sample: any(
            label >= sample.input.size(-1) for label in sample.arguments[1].reshape(-1).tolist()
        ),
        "labels beyond the classes are read from other memory",
    ),
    **dict.fromkeys(
        ["det", "linalg_det"],
        (
            either(is_special, is_deficient),
            "the gradient of singular matrices is 0, where here it is that of the minors; "
            "infinities are eliminated in another order",
        ),
    ),
    "detach_copy": (is_differentiated, "it seems to be differentiable, and raises in backward"),
    "gelu": (is_special, "that of infinity is NaN in single precision"),
    "gradient": (has_two_precisions, "coordinates are rounded before they are subtracted"),
    "hardsigmoid_backward": (
        lambda sample: dovetail.float64 in dtypes_of(sample),
        "a sixth is one in single precision",
    ),
    "linalg_cond": (
        lambda sample: not is_special(sample) and is_deficient(sample),
        "that of singular matrices is what rounding leaves of 0, or infinite",
    ),
    **dict.fromkeys(
        ["linalg_slogdet", "slogdet"], (is_special, "the sign beside NaN is nowhere said")
    ),
    **dict.fromkeys(
        ["linalg_matrix_norm", "linalg_norm"],
        (
            lambda sample: "nuc" in sample.arguments and is_deficient(sample),
            "of rank-deficient matrices the gradient is not unique",
        ),
    ),
    **dict.fromkeys(
        ["linalg_householder_product", "orgqr"],
        (
            lambda sample: (
                is_differentiated(sample) and not all(each.numel() for each in sample.tensors())
            ),
            "the gradient of no reflections is None",
        ),
    ),
    "lu_unpack": (has_unfit_pivots, "what lies beyond too few pivots is read"),
    "ormqr": (is_special, "infinities are multiplied in another order"),
    **dict.fromkeys(
        ["grid_sampler", "grid_sampler_2d", "grid_sampler_3d"],
        (
            lambda sample: (
                is_half(sample) or not all(each in (0, 1, 2) for each in sample.arguments[2:4])
            ),
            "half precision is rounded at each step, and modes that there are not are taken",
        ),
    ),
    "index_fill": (counts_from_the_end, "the gradient of what fills such slices is an error"),
    "kthvalue": (has_equals, "which of equal elements it is is nowhere said"),
    "linspace": (
        lambda sample: any(number != int(number) for number in numbers_of(sample)),
        "integers between fractions are rounded before they are spaced",
    ),
    "median": (has_equals, "which of equal elements it is is nowhere said"),
    "mode": (is_special, "beside NaN it depends on the order"),
    "nanmedian": (has_equals, "which of equal elements it is is nowhere said"),
    "native_dropout": (lambda sample: sample.input.numel() == 0, "the mask of nothing is none"),
    "native_dropout_backward": (
        lambda sample: not (sample.input.dtype.is_floating_point or sample.input.dtype.is_complex),
        "a gradient of integers is one of integers",
    ),
    **dict.fromkeys(
        UNCHECKED, (fits_no_channels, "where sizes or dtypes do not fit the process ends")
    ),
    "native_group_norm": (
        either(is_differentiated, fits_no_channels),
        "its moments are differentiable; where sizes or dtypes do not fit the process ends",
    ),
    "pdist": (
        lambda sample: not sample.input.shape[:1].numel(),
        "differentiating distances between no rows ends the process",
    ),
    "polar": (
        lambda sample: is_differentiated(sample) and bool((sample.input < 0).any()),
        "the gradient of negative lengths has the wrong sign",
    ),
    "pow": (is_complex, "the power of 0 to some complex numbers is NaN"),
    "searchsorted": (is_out_of_order, "a search of what is not sorted finds anything"),
    "bucketize": (
        lambda sample: is_out_of_order(SampleInput(sample.tensors()[-1])),
        "a search of what is not sorted finds anything",
    ),
    "silu_backward": (is_complex, "it is not that of complex numbers"),
    **dict.fromkeys(
        POLYNOMIALS, (either(is_differentiated, has_nan), f"{NO_DERIVATIVE}; NaN gives numbers")
    ),
    **dict.fromkeys(BESSEL, (is_differentiated, NO_DERIVATIVE)),
    "special_airy_ai": (
        either(is_differentiated, is_far_below),
        f"{NO_DERIVATIVE}; far below 0 it has seven digits",
    ),
    **dict.fromkeys(
        ["igamma", "igammac", "special_gammainc", "special_gammaincc"],
        (has_nan, "NaN gives numbers"),
    ),
    "std_mean": (is_special, "the mean of infinities beside a deviation is NaN"),
    "trapezoid": (
        lambda sample: is_special(sample) or is_bytes(sample),
        "with one step that of infinities is NaN, and its ends wrap in uint8",
    ),
    "trapz": (
        lambda sample: is_special(sample) or is_bytes(sample),
        "with one step that of infinities is NaN, and its ends wrap in uint8",
    ),
    "upsample_bicubic2d": (is_bytes, "bytes are rounded by other fixed points"),
    "upsample_bilinear2d": (is_bytes, "bytes are rounded by other fixed points"),
    "var_mean": (is_special, "the mean of infinities beside a variance is NaN"),
}


def is_comparable(info: OpInfo, sample: SampleInput) -> bool:
    """Say whether PyTorch has the numbers of a call.

    That of infinities in half precision is not what it is in other dtypes, and complex numbers of
    half precision are of no dtype here.
    """
    if dovetail.float16 in dtypes_of(sample) and (
        is_special(sample) or any(isinstance(number, complex) for number in numbers_of(sample))
    ):
        return False
    row = INCOMPARABLE.get(info.operator.base_name)
    return row is None or not row[0](sample)
