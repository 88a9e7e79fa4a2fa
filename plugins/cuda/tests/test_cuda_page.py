"""The samples of docs/cuda.md that need a device run, and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import dovetail
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")

PAGE = Path(__file__).parents[3] / "docs/cuda.md"
SAMPLES = re.findall(
    r"^```py\n(.*?)^```\n\n```text\n(.*?)^```\n",
    PAGE.read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


def without_times(text: str) -> str:
    """Return a text without durations, lines of files, and the width that a duration takes."""
    return re.sub(r"  [\d.]+ [mµn]?s$|(?<=\.py):\d+", "", text, flags=re.MULTILINE)


def test_the_page_has_samples():
    assert len(SAMPLES) == 2


def test_the_samples_print_what_the_page_shows():
    dovetail.empty(0, device="cuda")
    from dovetail_cuda import launch_names

    why = launch_names.tell_launches(print)
    launch_names.tell_launches(None)
    if why is not None:
        pytest.skip(f"CUPTI does not tell the launches: {why}")
    scope: dict[str, object] = {"__name__": "__main__"}
    for code, shown in SAMPLES:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "example.py", "exec"), scope)
        assert without_times(out.getvalue()) == without_times(shown)
