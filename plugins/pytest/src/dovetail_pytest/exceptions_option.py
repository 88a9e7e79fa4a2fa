"""``--exceptions FILE``: tests that are known to fail on the device that the suite runs on.

A line of the file is one of::

    test_file.py::test_name[case*] | why it fails
    not run: test_file.py::test_name | why it would not end
    raises: NotImplementedError: set_: arrays of * | why the backend cannot do that
"""

from __future__ import annotations

from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from .samples_option import option as samples_option

_NOT_RUN, _RAISES = "not run:", "raises:"


class Exceptions(NamedTuple):
    """What is known to fail.

    Attributes
    ----------
    tests
        Patterns of ids, reasons, and whether the test is run.
    errors
        Patterns of the type and the text of an error, and reasons.
    """

    tests: list[tuple[str, str, bool]]
    errors: list[tuple[str, str]]

    def reason_for(self, error: BaseException | None) -> str | None:
        """Return why an error, or what it came from, is known; None if it is not."""
        seen: set[int] = set()  # an error may have come from one that came from it
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            text = f"{type(error).__name__}: {error}"
            for pattern, reason in self.errors:
                if fnmatchcase(text, pattern):
                    return reason
            error = error.__cause__ or error.__context__
        return None


_KNOWN: pytest.StashKey[Exceptions] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("dovetail").addoption(
        "--exceptions",
        metavar="FILE",
        action="append",
        default=[],
        help="tests that are known to fail on the device of --backend: a line for each with the "
        "end of its id, in which * stands for anything, | and the reason; 'not run: id | reason' "
        "for one that would not end, 'raises: Type: text | reason' for what the backend refuses. "
        "May be given several times",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the files."""
    paths = config.getoption("--exceptions", [])
    if paths:
        known = config.stash[_KNOWN] = Exceptions([], [])
        for path in paths:
            found = exceptions_in(path)
            known.tests.extend(found.tests)
            known.errors.extend(found.errors)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the tests to fail: one that passes fails the run, unless it had not all samples."""
    known = config.stash.get(_KNOWN, None)
    if known is None:
        return
    partial = samples_option.chosen(config) is not None
    for item in items:
        strict = not (partial and "op_check" in getattr(item, "fixturenames", ()))
        for pattern, reason, run in known.tests:
            if fnmatchcase(item.nodeid, pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=strict, run=run))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Expect a test to fail in which the backend refuses what it is known to refuse."""
    try:
        return (yield)
    except Exception as error:
        known = item.config.stash.get(_KNOWN, None)
        reason = None if known is None else known.reason_for(error)
        if reason is None:
            raise
        pytest.xfail(reason)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> Generator[None, Any, Any]:
    """Skip a module that cannot be imported because of what the backend is known to refuse."""
    module = yield
    known = parent.config.stash.get(_KNOWN, None)
    if module is None or known is None:
        return module
    load = module._getobj

    def getobj() -> object:
        try:
            return load()
        except Exception as error:
            reason = known.reason_for(error)
            if reason is None:
                raise
            pytest.skip(reason, allow_module_level=True)

    module._getobj = getobj
    return module


def exceptions_in(path: str) -> Exceptions:
    """Return the patterns and reasons in a file of exceptions. Raises UsageError for a line without
    a reason.
    """
    found = Exceptions([], [])
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = (part.strip() for part in line.partition("|"))
        if not reason:
            raise pytest.UsageError(
                f"{path}:{number} gives no reason: {line!r}. Write: pattern | why"
            )
        # Ids and texts have brackets, which mean a set of characters in a pattern.
        plain = pattern.replace("[", "[[]")
        if plain.startswith(_RAISES):
            found.errors.append((plain.removeprefix(_RAISES).strip(), reason))
        else:
            own = plain.removeprefix(_NOT_RUN).strip()
            found.tests.append((f"*{own}", reason, not plain.startswith(_NOT_RUN)))
    return found
