"""A pytest plugin for suites on the emulator: what kernels did wrong, and the outcome of strict
mode.
"""

from __future__ import annotations

import os
import random
import signal
from collections import defaultdict
from collections.abc import Iterator

import pytest
from cuda_emulator import STRICT
from cuda_emulator_host import refusals

_SECONDS = 120
_KERNEL_ERRORS = ("CUDARuntimeError", "CUDADriverError", "CompileException", "NVRTCError")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("cuda emulator")
    group.addoption("--failures", help="file to which failures are written at once")
    group.addoption(
        "--one-of-each", metavar="SEED", help="each function of tests once, with drawn parameters"
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Say how the emulator was made to run."""
    return f"cuda emulator: {os.environ.get('EMULATOR_MODE')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave one test of each function, where that is asked for."""
    seed = config.getoption("--one-of-each")
    if seed is None:
        return
    parametrized = defaultdict(list)
    for item in items:
        parametrized[item.nodeid.partition("[")[0]].append(item)
    draw = random.Random(seed)
    kept = {draw.choice(tests) for tests in parametrized.values()}
    config.hook.pytest_deselected(items=[each for each in items if each not in kept])
    items[:] = [each for each in items if each in kept]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """In strict mode end what waits for a value that no kernel computes."""
    if not STRICT:
        return (yield)
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _give_up(*_: object) -> None:
    raise TimeoutError(f"it waited {_SECONDS} s for a value")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """In strict mode kernels compute nothing, and cuSOLVER and cuFFT are missing, so neither is a
    failure: what is left are kernels that NVRTC refuses, whether a caller goes on without them or
    not, and what the driver refuses.
    """
    report = yield
    error = call.excinfo
    if STRICT and report.failed and not _is_of_driver(error.value):
        report.outcome = "skipped"
        report.longrepr = (
            str(item.path),
            0,
            "Skipped: no values, cuSOLVER or cuFFT in strict mode",
        )
    if STRICT and refusals and call.when == "call":
        report.outcome = "failed"
        report.longrepr = "\n".join(["NVRTC refuses a kernel of this test:", *refusals])
    if call.when == "teardown":
        refusals.clear()
    file = item.config.getoption("--failures")
    if file and report.failed:
        with open(file, "a", encoding="utf-8") as log:
            log.write(f"{item.nodeid}\n{report.longreprtext[-3000:]}\n\n")
    return report


def _is_of_driver(error: BaseException | None) -> bool:
    while error is not None:
        if type(error).__name__ in _KERNEL_ERRORS:
            return True
        error = error.__cause__ or error.__context__
    return False
