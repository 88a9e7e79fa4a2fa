"""Every operator of the base library passes the checks of `dovetail.testing` on its samples."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import dovetail
import dovetail_aten
from dovetail.library import OpCheckError
from dovetail.testing import OpInfo, Skip, checks, op_infos, operators_without_op_info
from dovetail_kernel import Device

INFOS = op_infos("aten")
CHECKS = {check.name: check for check in checks()}


@pytest.mark.op_infos("aten")
def test_an_operator_passes_every_check(op_check: Callable[[], None]) -> None:
    op_check()


def entry_of(operator: str) -> str | None:
    """Return file and line of an operator's declaration; None for those that `functionalize` adds
    to the namespace while a program runs.
    """
    schema = f"- func: {operator.partition('::')[2]}("
    for path in Path(dovetail_aten.__file__).parent.rglob("native_functions.yaml"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith(schema):
                return f"{path}:{number}: {operator} has no samples: give it an OpInfo."
    return None


def test_every_operator_has_samples() -> None:
    undescribed = [line.partition(",")[0] for line in operators_without_op_info("aten")]
    missing = [entry for entry in map(entry_of, undescribed) if entry is not None]
    assert not missing, "\n".join(missing)


def test_an_operator_without_samples_is_named_with_its_place() -> None:
    place = entry_of("aten::add.Tensor") or ""
    assert re.search(r"native_functions\.yaml:\d+: aten::add\.Tensor has no samples", place)


def test_samples_lie_with_the_family_that_declares_the_operator() -> None:
    def declared_in(info: OpInfo) -> str:
        return Path(info.operator.defined_at.partition(":")[0]).parent.name

    elsewhere = {info.name: info.family for info in INFOS if info.family != declared_in(info)}
    assert elsewhere == {}


SKIPS = [(info, skip) for info in INFOS for skip in info.skips]


@pytest.mark.cpu_only(reason="a skip may be about the cpu alone")
@pytest.mark.parametrize(
    ("info", "skip"), SKIPS, ids=[f"{skip.check}-{info.name[6:]}" for info, skip in SKIPS]
)
def test_a_check_that_is_skipped_would_fail(info: OpInfo, skip: Skip) -> None:
    """A skip is not left behind when its reason is gone."""
    without = replace(info, skips=tuple([each for each in info.skips if each is not skip]))
    assert skip.reason
    with pytest.raises((AssertionError, RuntimeError, TypeError, OpCheckError)):
        CHECKS[skip.check].run(without, Device("cpu"))


NO_EMPTY = {
    **dict.fromkeys(["_local_scalar_dense", "is_nonzero", "item"], "they take one element"),
    **dict.fromkeys(["max", "mean", "min", "norm.Scalar"], "of nothing it is refused, or NaN"),
    **dict.fromkeys(
        [f"{name}{dim}" for name in ("std", "std_mean", "var", "var_mean") for dim in ("", ".dim")],
        "of nothing it is NaN, with a warning",
    ),
    **dict.fromkeys(["sum_to_size", "value_selecting_reduction_backward"], "it is about sizes"),
}
"""Operators whose samples have elements, and why."""


@pytest.mark.operators(
    "info",
    [
        info
        for info in INFOS
        if info.family in ("pointwise", "reductions") and info.name[6:] not in NO_EMPTY
    ],
)
def test_samples_have_a_tensor_without_elements_and_one_of_few_dimensions(info: OpInfo) -> None:
    dtype = min(info.dtypes, key=str)
    shapes = {
        tuple(tensor.shape)
        for sample in info.sample_inputs(dovetail.get_default_device(), dtype)
        for tensor in sample.tensors()
    }
    assert any(0 in shape for shape in shapes)
    assert any(len(shape) == 0 for shape in shapes)
