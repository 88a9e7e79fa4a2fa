"""Every check, by name; what it shows is the first sentence of its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail_dispatcher.testing import Check, OpInfo
from dovetail_kernel import Device

from . import forward_checks, gradient_checks, variant_checks, vmap_checks

__all__ = ["CHECKS"]


def _check(function: Callable[[OpInfo, Device], None]) -> Check:
    name = function.__name__.removeprefix("check_")
    about = (function.__doc__ or "").partition("\n")[0].rstrip(".")
    return Check(name, about, function)


CHECKS: Final = (
    _check(forward_checks.check_samples),
    _check(forward_checks.check_reference),
    _check(forward_checks.check_dtypes),
    _check(forward_checks.check_errors),
    _check(variant_checks.check_out),
    _check(variant_checks.check_inplace),
    _check(variant_checks.check_layouts),
    _check(variant_checks.check_meta),
    _check(variant_checks.check_meta_strides),
    _check(variant_checks.check_autocast),
    Check(
        "schema",
        "Check that what is written to, and what shares memory, is what the schema says",
        variant_checks.opcheck_of("test_schema"),
    ),
    Check(
        "autograd_registration",
        "Check that results that require grad do so because of a registered derivative",
        variant_checks.opcheck_of("test_autograd_registration"),
    ),
    _check(gradient_checks.check_constants),
    _check(gradient_checks.check_gradients),
    _check(gradient_checks.check_gradgrad),
    _check(gradient_checks.check_array_gradients),
    _check(gradient_checks.check_meta_gradients),
    _check(gradient_checks.check_forward_ad),
    _check(vmap_checks.check_vmap),
    _check(vmap_checks.check_vmap_inplace),
    _check(vmap_checks.check_batched_gradients),
    _check(vmap_checks.check_vmap_gradients),
    _check(vmap_checks.check_vmap_of_gradients),
)
"""The checks of the front end."""
