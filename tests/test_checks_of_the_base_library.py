"""`dovetail check aten`: schema, kernels, shape rules and derivatives of every operator fit
together.
"""

from __future__ import annotations

import pytest

import dovetail  # noqa: F401  (defines the operators)
from dovetail.inspection.library_checks import check_operator
from dovetail_dispatcher.table import registry

OPERATORS = sorted(op.qualified_name for op in registry.all_operators() if op.namespace == "aten")


@pytest.mark.cpu_only(
    reason="results of operators that are given a device are compared with those on the cpu"
)
@pytest.mark.operators("name", OPERATORS, ids=str)
def test_the_parts_of_an_operator_fit_together(name: str) -> None:
    failed = [result for result in check_operator(name) if result.state == "failed"]
    assert not failed, "\n".join(
        f"{each.check}: {each.detail}\n{each.reproducer}" for each in failed
    )
