"""``@pytest.mark.op_infos(namespace)``: a test for every check of every operator of a library, or
of the part that ``--operators`` says, on the samples that ``--samples`` says.

The operators come from `dovetail_dispatcher.testing.op_infos`, and the checks are those that the
front end has installed there::

    @pytest.mark.op_infos("vision")
    def test_operator(op_check):
        op_check()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from .operators_option import chosen_operators
from .samples_option import option as samples_option

if TYPE_CHECKING:
    from dovetail_kernel import Device

MARKER = "op_infos"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize `op_check` with every check of an operator of the namespace.

    Raises
    ------
    UsageError
        If the marker or its namespace is missing.
    """
    if "op_check" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None or len(marker.args) != 1:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid} has the fixture op_check and no namespace. Mark it: "
            '@pytest.mark.op_infos("namespace").'
        )
    from dovetail_dispatcher.testing import checks, op_infos

    infos = op_infos(marker.args[0])  # first: loading the library imports the front end
    infos = chosen_operators(metafunc.config, infos)
    wanted = marker.kwargs.get("checks")
    cases = [
        pytest.param((check, info), id=f"{check.name}-{info.name.partition('::')[2]}")
        for check in checks()
        if wanted is None or check.name in wanted
        for info in infos
        if not check.why_not(info)
    ]
    metafunc.parametrize("op_check", cases, indirect=True)


@pytest.fixture
def op_check(request: pytest.FixtureRequest, dovetail_device: Device) -> Callable[[], None]:
    """Run one check of one operator, on the device of ``--backend``: ``op_check()``.

    The test has the marker ``op_infos(namespace)``, and becomes one test for each.
    """
    from dovetail_dispatcher.testing import CheckSkipped, part_of_samples

    check, info = request.param

    def run() -> None:
        token = part_of_samples.set(samples_option.chosen(request.config))
        try:
            check.run(info, dovetail_device)
        except CheckSkipped as skipped:
            pytest.skip(str(skipped))
        finally:
            part_of_samples.reset(token)

    return run
