"""Every operator of the base library, by its samples: what the checks of `dovetail.testing` show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dovetail  # noqa: F401  (installs the checks)


@pytest.mark.op_infos("aten")
def test_an_operator_passes_every_check(op_check: Callable[[], None]) -> None:
    op_check()
