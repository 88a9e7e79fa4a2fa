"""Where calls may differ from PyTorch's, and why: one row for each reason, as narrow as it goes.

The last member of every row is a call that shows it: a test tries whether it still differs.
"""

from __future__ import annotations

from call_allowance import Allowance
from call_faults_of_pytorch import FAULTS_OF_PYTORCH
from call_outcomes import Disagreement
from call_refusals_allowed import LAST, REFUSALS_THAT_DIFFER
from call_results_allowed import RESULTS_THAT_DIFFER
from random_calls import Call

__all__ = ["ALLOWANCES", "Allowance", "allowed"]

ALLOWANCES = [*REFUSALS_THAT_DIFFER, *RESULTS_THAT_DIFFER, *FAULTS_OF_PYTORCH, *LAST]
"""The table."""


def allowed(call: Call, found: Disagreement) -> Allowance | None:
    """Return the row that allows a disagreement, or None."""
    for row in ALLOWANCES:
        if found.kind in row.kinds and row.holds(call, found):
            return row
    return None
