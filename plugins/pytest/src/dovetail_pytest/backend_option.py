"""``--backend NAME``: the suite runs with another default device; tests that are about the cpu are
skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dovetail_kernel import Device

CPU = "cpu"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings of the plugin."""
    group = parser.getgroup("dovetail")
    group.addoption(
        "--backend",
        metavar="NAME",
        default=CPU,
        help="Dovetail device type on which new tensors are made, such as cuda, or cuda:1 "
        "(default: cpu)",
    )
    parser.addini(
        "dovetail_leaks",
        default="warn",
        help="registrations that tests leave behind: 'warn' and take them back, only 'clean' up, "
        "or 'keep' them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the device the default before tests are collected, since their parameters may contain
    tensors.

    Raises
    ------
    UsageError
        If the backend is not available, with the reason.
    """
    config.addinivalue_line(
        "markers",
        "cpu_only(reason): the test is about the cpu by nature; skipped with --backend of another "
        "device",
    )
    config.addinivalue_line(
        "markers",
        "op_infos(namespace, checks=None): a test of every check, or some, of every operator of a "
        "library, with the fixture op_check",
    )
    name = config.getoption("--backend")
    if name == CPU:
        return
    from dovetail_kernel import Device, PluginError, plugin_manager, set_default_device

    try:
        device = Device(name)
        plugin_manager.attached_backend(device.type)
    except (RuntimeError, PluginError) as error:
        raise pytest.UsageError(f"--backend {name}: {error}") from error
    set_default_device(device)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Set the default device back to the CPU, since another session may follow in this process."""
    if config.getoption("--backend", CPU) != CPU:
        from dovetail_kernel import set_default_device

        set_default_device(None)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return a line that names the device."""
    name = config.getoption("--backend")
    return None if name == CPU else f"dovetail backend: {name}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests of the CPU, and set the default device again, which an earlier test may have
    changed.
    """
    name = item.config.getoption("--backend")
    if name == CPU:
        return
    marker = item.get_closest_marker("cpu_only")
    if marker is not None:
        pytest.skip(f"about the cpu: {marker.kwargs.get('reason') or marker.args[0]}")
    from dovetail_kernel import set_default_device

    set_default_device(name)


@pytest.fixture
def dovetail_device(request: pytest.FixtureRequest) -> Device:
    """Return the device that the suite runs on: that of ``--backend``, by default the cpu."""
    from dovetail_kernel import Device

    return Device(request.config.getoption("--backend"))
