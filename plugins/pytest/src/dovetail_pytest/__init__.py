"""A pytest plugin for operator libraries and backends: ``--backend``, ``--operators``, ``--tests``,
``--samples``, fixtures, and warnings about leaked registrations.

Dovetail is imported when it is first needed, so the plugin does not slow down other test suites.
"""

from __future__ import annotations

from .assert_op_ok import assert_op_ok
from .backend_option import (
    dovetail_device,
    pytest_addoption,
    pytest_configure,
    pytest_report_header,
    pytest_runtest_setup,
    pytest_unconfigure,
)
from .leaks import LeakedRegistrationWarning, pytest_runtest_call, pytest_runtest_teardown
from .op_info_checks import op_check, pytest_generate_tests
from .scoped_library import scoped_library

pytest_plugins = [
    *[f"dovetail_pytest.{name}_option" for name in ("exceptions", "operators", "samples", "tests")],
    "dovetail_pytest.once_warnings",
]

__all__ = [
    "LeakedRegistrationWarning",
    "assert_op_ok",
    "dovetail_device",
    "op_check",
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_plugins",
    "pytest_report_header",
    "pytest_runtest_call",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
    "pytest_unconfigure",
    "scoped_library",
]
