"""Samples of operators, and the checks that run on them: for the tests of any operator library.

A library describes each of its operators by an `OpInfo`, and says with `register_op_infos` where
they are. The checks stand higher, where there are arrays and gradients, and are installed here, so
that a test suite finds both without importing either. The room imports the kernel, the schemas and
the operator table, and no array library; importing it loads nothing but this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail_kernel import names_on_demand

if TYPE_CHECKING:
    from .check import Check, CheckSkipped, current_sample, part_of_samples, samples_in_part
    from .dtypes import (
        all_types,
        all_types_and,
        all_types_and_complex,
        all_types_and_complex_and,
        complex_types,
        floating_and_complex_types,
        floating_and_complex_types_and,
        floating_types,
        floating_types_and,
        integral_types,
        integral_types_and,
    )
    from .installed_checks import checks
    from .op_info import ErrorInput, OpInfo, SampleInput, Skip
    from .registration import find_op_info, op_infos, operators_without_op_info, register_op_infos
    from .tensors import TensorMaker, sample_tensor

__all__ = [
    "Check",
    "CheckSkipped",
    "ErrorInput",
    "OpInfo",
    "SampleInput",
    "Skip",
    "TensorMaker",
    "all_types",
    "all_types_and",
    "all_types_and_complex",
    "all_types_and_complex_and",
    "checks",
    "complex_types",
    "current_sample",
    "find_op_info",
    "floating_and_complex_types",
    "floating_and_complex_types_and",
    "floating_types",
    "floating_types_and",
    "integral_types",
    "integral_types_and",
    "op_infos",
    "operators_without_op_info",
    "part_of_samples",
    "register_op_infos",
    "sample_tensor",
    "samples_in_part",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "check": ("Check", "CheckSkipped", "current_sample", "part_of_samples", "samples_in_part"),
        "installed_checks": ("checks",),
        "dtypes": (
            "all_types",
            "all_types_and",
            "all_types_and_complex",
            "all_types_and_complex_and",
            "complex_types",
            "floating_and_complex_types",
            "floating_and_complex_types_and",
            "floating_types",
            "floating_types_and",
            "integral_types",
            "integral_types_and",
        ),
        "op_info": ("ErrorInput", "OpInfo", "SampleInput", "Skip"),
        "registration": (
            "find_op_info",
            "op_infos",
            "operators_without_op_info",
            "register_op_infos",
        ),
        "tensors": ("TensorMaker", "sample_tensor"),
    },
)
