"""Runs programs in an interpreter of their own."""

from __future__ import annotations

import subprocess
import sys


def printed_by(program: str, given: str = "") -> str:
    """Run a program in a fresh interpreter, in which warnings are errors, and return what it
    prints.

    Parameters
    ----------
    given
        What it reads from standard input.

    Raises
    ------
    AssertionError
        If it fails, with what it wrote to standard error.
    """
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
