"""Every check, by name; what it shows is the first sentence of its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail_dispatcher.testing import Check, OpInfo
from dovetail_kernel import Device, float32

from . import forward_checks, gradient_checks, variant_checks, vmap_checks
from .variant_checks import opcheck_of, variants

__all__ = ["CHECKS"]


# -- why a check is not about an operator ----------------------------------------------------------


def _no_values(info: OpInfo) -> str:
    return "it is random" if info.is_random else "" if info.ref else "it has no reference"


def _no_error_inputs(info: OpInfo) -> str:
    return "" if info.error_inputs_func else "it has no error inputs"


def _no_out(info: OpInfo) -> str:
    return "" if variants(info, out=True) else "it has no out variant"


def _no_inplace(info: OpInfo) -> str:
    return "" if variants(info, out=False) else "it has no in-place variant"


def _no_float32(info: OpInfo) -> str:
    return "" if float32 in info.dtypes else "it takes no float32"


def _no_gradient(info: OpInfo) -> str:
    if not info.supports_autograd:
        return "it has no derivative"
    return "it is random" if info.is_random else ""


def _no_second_gradient(info: OpInfo) -> str:
    return _no_gradient(info) or (
        "" if info.supports_gradgrad else "it is not differentiable twice"
    )


def _no_tangent(info: OpInfo) -> str:
    return _no_gradient(info) or (
        "" if info.supports_forward_ad else "it has no derivative in forward mode"
    )


def _has_gradient(info: OpInfo) -> str:
    return "it has a derivative" if info.supports_autograd else ""


def _always(info: OpInfo) -> str:
    return ""


def _check(
    function: Callable[[OpInfo, Device], None], why_not: Callable[[OpInfo], str] = _always
) -> Check:
    name = function.__name__.removeprefix("check_")
    about = (function.__doc__ or "").partition("\n")[0].rstrip(".")
    return Check(name, about, function, why_not)


CHECKS: Final = (
    _check(forward_checks.check_samples),
    _check(forward_checks.check_reference, _no_values),
    _check(forward_checks.check_dtypes),
    _check(forward_checks.check_errors, _no_error_inputs),
    _check(variant_checks.check_out, _no_out),
    _check(variant_checks.check_inplace, _no_inplace),
    _check(variant_checks.check_layouts),
    _check(variant_checks.check_meta),
    _check(variant_checks.check_meta_strides),
    _check(variant_checks.check_autocast, _no_float32),
    Check(
        "schema",
        "Check that what is written to, and what shares memory, is what the schema says",
        opcheck_of("schema", "test_schema"),
    ),
    Check(
        "autograd_registration",
        "Check that results that require grad do so because of a registered derivative",
        opcheck_of("autograd_registration", "test_autograd_registration"),
    ),
    _check(gradient_checks.check_constants, _has_gradient),
    _check(gradient_checks.check_gradients, _no_gradient),
    _check(gradient_checks.check_gradgrad, _no_second_gradient),
    _check(gradient_checks.check_array_gradients, _no_gradient),
    _check(gradient_checks.check_layout_gradients, _no_gradient),
    _check(gradient_checks.check_meta_gradients, _no_gradient),
    _check(gradient_checks.check_forward_ad, _no_tangent),
    _check(vmap_checks.check_vmap),
    _check(vmap_checks.check_vmap_inplace, _no_inplace),
    _check(vmap_checks.check_batched_gradients, _no_gradient),
    _check(vmap_checks.check_vmap_gradients, _no_gradient),
    _check(vmap_checks.check_vmap_of_gradients, _no_gradient),
)
"""The checks of the front end."""
