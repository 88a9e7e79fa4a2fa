"""The operators that the overlay covers pass the checks of `dovetail.testing` on it."""

from __future__ import annotations

import pytest
from overlay_samples import sampled

from dovetail.testing import OpInfo, checks, op_infos
from dovetail_dispatcher.testing import Check, CheckSkipped
from dovetail_kernel import Device
from dovetail_numba.registration import all_covers

COVERED = {f"aten::{each.name}" for each in all_covers() if not each.is_helper}
MADE_OF_THEM = {
    f"aten::{name}"
    for name in ("batch_norm", "conv2d", "cross_entropy_loss", "layer_norm", "max_pool2d", "selu")
}
INFOS = [info for info in op_infos("aten") if info.name in COVERED | MADE_OF_THEM]
CASES = [(info, check) for info in INFOS for check in checks() if not check.why_not(info)]


def test_the_covered_operators_have_samples() -> None:
    assert COVERED - {info.name for info in INFOS} == set()


@pytest.mark.usefixtures("loops_for_all_sizes")
@pytest.mark.parametrize(
    ("info", "check"),
    [pytest.param(*each, id=f"{each[1].name}-{each[0].name}") for each in sampled(CASES)],
)
def test_an_operator_passes_its_checks_on_the_overlay(info: OpInfo, check: Check) -> None:
    try:
        check.run(info, Device("cpu"))
    except CheckSkipped as skipped:
        pytest.skip(str(skipped))
