"""`--tests` as suites see it: each test runs a small suite of its own."""

from __future__ import annotations

import re

import pytest

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(90))
def test_number(number):
    assert number != 89

def test_alone():
    pass
"""


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the suite in this process."""
    pytester.makepyfile(SUITE)
    return pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", *options
    )


def ids(pytester: pytest.Pytester, *options: str) -> list[str]:
    """Return the tests that are run."""
    listed = run(pytester, "--collect-only", "-q", *options).stdout.str()
    return re.findall(r"::(test_\S+)", listed)


def test_a_suite_runs_whole_by_default(pytester: pytest.Pytester) -> None:
    result = run(pytester)
    result.assert_outcomes(passed=90, failed=1)
    result.stdout.no_fnmatch_line("tests: *")
    assert ids(pytester) == ids(pytester, "--tests", "all") == ids(pytester, "--tests", "1/1")


def test_the_parts_together_are_all_tests_and_share_none(pytester: pytest.Pytester) -> None:
    parts = [ids(pytester, "--tests", f"{part}/3") for part in (1, 2, 3)]
    assert all(15 < len(part) < 60 for part in parts)
    assert sorted(name for part in parts for name in part) == sorted(ids(pytester))


def test_a_part_is_the_same_each_time_and_keeps_the_order(pytester: pytest.Pytester) -> None:
    part = ids(pytester, "--tests", "2/3")
    assert part == ids(pytester, "--tests", "2/3") == [e for e in ids(pytester) if e in part]


def test_what_is_left_out_is_counted_and_the_part_is_said(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--tests", "2/3")
    left = 91 - len(ids(pytester, "--tests", "2/3"))
    result.stdout.fnmatch_lines(["tests: part 2 of 3 (--tests 2/3)", f"*{left} deselected*"])
    lines = run(pytester, "--tests", "2/3", "-q").stdout.str().splitlines()
    said = "tests: part 2 of 3 (--tests 2/3)"
    assert lines.count(said) == 1 and lines.index(said) >= len(lines) - 4


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "third", "1", "-1/3"])
def test_what_is_no_part_is_refused(pytester: pytest.Pytester, text: str) -> None:
    result = run(pytester, f"--tests={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--tests is '{text}'*such as 2/3, or 'all'*"])
