"""What options say as ``2/3``: a part of how many."""

from __future__ import annotations

import os
import re

import pytest

ALL = "all"


def part_in(text: str, option: str) -> tuple[int, int] | None:
    """Return which part of how many a text says, or None for all.

    Parameters
    ----------
    text
        ``"2/3"``, parts counted from 1, or ``"all"``.
    option
        Who says it, for the error.

    Raises
    ------
    UsageError
        If it says neither.
    """
    if text == ALL:
        return None
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise pytest.UsageError(
            f"{option} is {text!r:.100}. Give a part of how many, from 1, such as 2/3, or '{ALL}'."
        )
    return part, parts


class PartOption:
    """A command-line option that says a part, and its hooks: a module that has these as functions
    of its own is the plugin of the option.

    Parameters
    ----------
    what
        What there are parts of, which is the name of the option too.
    about
        What is run for a part of them, for ``--help``.
    variable
        The environment variable that says the default. Default: none, and all are run.
    """

    def __init__(self, what: str, about: str, variable: str = "") -> None:
        self._what, self._about, self._variable = what, about, variable

    def chosen(self, config: pytest.Config) -> tuple[int, int] | None:
        """Return which part of how many is to be run, or None for all. Raises UsageError if the
        option says neither.
        """
        name = f"--{self._what}"
        told = f"{name} (or ${self._variable})" if self._variable else name
        return part_in(config.getoption(name), told)

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Add the option."""
        default = f"${self._variable}, else {ALL}" if self._variable else ALL
        parser.getgroup("dovetail").addoption(
            f"--{self._what}",
            metavar="PART/PARTS",
            default=os.environ.get(self._variable) or ALL,
            help=f"{self._about}, such as 2/3, or '{ALL}' (default: {default})",
        )

    def pytest_configure(self, config: pytest.Config) -> None:
        """Check the option. Raises the errors of `chosen`."""
        self.chosen(config)

    def pytest_report_header(self, config: pytest.Config) -> str | None:
        """Say which part it is, and how to have it again."""
        chosen = self.chosen(config)
        if chosen is None:
            return None
        part, parts = chosen
        return f"{self._what}: part {part} of {parts} (--{self._what} {part}/{parts})"

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Say it at the end where ``-q`` leaves out the header."""
        said = self.pytest_report_header(config)
        if said is not None and config.get_verbosity() < 0:
            terminalreporter.write_line(said)
