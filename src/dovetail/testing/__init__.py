"""Tests for operator libraries: samples of operators (`OpInfo`), checks on them, comparisons.

A library describes its operators by `OpInfo` and says with `register_op_infos` where they are. The
checks of the distribution dovetail-testing then show that forward, out, in-place and meta variants,
gradients of every kind, forward mode, `vmap` and autocast fit together: `check_op_infos` runs them,
and so do the plugin for pytest (``@pytest.mark.op_infos("vision")``) and ``dovetail conformance``.
The samples of the base library are there as well; both are imported when they are asked for.

It may import the packages below by their public names, and nothing of the front end.
"""

from __future__ import annotations

import typing as _typing

from dovetail_dispatcher.testing import (
    Check,
    CheckSkipped,
    ErrorInput,
    OpInfo,
    SampleInput,
    Skip,
    TensorMaker,
    all_types,
    all_types_and,
    all_types_and_complex,
    all_types_and_complex_and,
    checks,
    complex_types,
    find_op_info,
    floating_and_complex_types,
    floating_and_complex_types_and,
    floating_types,
    floating_types_and,
    integral_types,
    integral_types_and,
    op_infos,
    operators_without_op_info,
    register_op_infos,
    sample_tensor,
)

from ..names.missing import names_of as _names_of
from .closeness import assert_close
from .random_tensors import make_tensor
from .runs import Outcome, check_op_info, check_op_infos

__all__ = [
    "Check",
    "CheckSkipped",
    "ErrorInput",
    "OpInfo",
    "Outcome",
    "SampleInput",
    "Skip",
    "TensorMaker",
    "all_types",
    "all_types_and",
    "all_types_and_complex",
    "all_types_and_complex_and",
    "assert_close",
    "check_op_info",
    "check_op_infos",
    "checks",
    "complex_types",
    "find_op_info",
    "floating_and_complex_types",
    "floating_and_complex_types_and",
    "floating_types",
    "floating_types_and",
    "integral_types",
    "integral_types_and",
    "make_tensor",
    "op_infos",
    "operators_without_op_info",
    "register_op_infos",
    "sample_tensor",
]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__)
