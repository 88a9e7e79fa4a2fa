"""Samples of the base library's operators, and the checks that run on samples of any library.

`dovetail.testing` uses both: `op_infos("aten")` returns the samples, `op_checks()` the checks.
They are imported at the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .families import op_infos

if TYPE_CHECKING:
    from dovetail_dispatcher.testing import Check

__all__ = ["op_checks", "op_infos"]


def op_checks() -> tuple[Check, ...]:
    """Return the checks that every operator has to pass.

    Raises
    ------
    RuntimeError
        Under ``python -O``, which removes the assertions that the checks consist of.
    """
    if not __debug__:
        raise RuntimeError(
            "The checks of dovetail-testing are assertions, which python -O removes. Run them "
            "without -O and PYTHONOPTIMIZE."
        )
    from .checks.catalogue import CHECKS

    return CHECKS
