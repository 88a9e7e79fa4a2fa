"""``--samples 2/5``: the checks of ``@pytest.mark.op_infos`` run for a part of each operator's
samples, here the second of five, and at least one; ``all`` runs them for all.

On a slow backend every check of every operator runs so in a fraction of the time. Which samples are
in a part depends on the operator, the check and the dtype alone, so that checks take different
ones; the parts together are the whole.
"""

from __future__ import annotations

from .parts import PartOption

option = PartOption("samples", "run the checks of operators for one part of the samples of each")

pytest_addoption = option.pytest_addoption
pytest_configure = option.pytest_configure
pytest_report_header = option.pytest_report_header
pytest_terminal_summary = option.pytest_terminal_summary
