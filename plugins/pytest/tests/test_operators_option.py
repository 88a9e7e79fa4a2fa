"""`--operators` as suites see it: each test runs a small suite of its own."""

from __future__ import annotations

import re

import pytest

SUITE = """
import pytest

NAMES = [f"plugged::f{number}{overload}" for number in range(40) for overload in ("", ".Scalar")]

@pytest.mark.operators("name", NAMES)
@pytest.mark.parametrize("turn", [1, 2])
def test_operator(name, turn):
    pass

@pytest.mark.operators("name", NAMES[:2], ids=str.upper)
def test_named(name):
    pass
"""


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the suite in this process."""
    pytester.makeini("[pytest]\naddopts = --strict-markers --strict-config\n")
    pytester.makepyfile(SUITE)
    return pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", *options
    )


def ids(pytester: pytest.Pytester, *options: str) -> list[str]:
    """Return what is in the brackets of each test of every operator."""
    listed = run(pytester, "--collect-only", "-q", "-k", "test_operator", *options)
    return re.findall(r"test_operator\[(.*)\]", listed.stdout.str())


@pytest.fixture(autouse=True)
def _all_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOVETAIL_OPERATORS", raising=False)


def test_a_suite_runs_for_all_operators_by_default(pytester: pytest.Pytester) -> None:
    result = run(pytester)
    result.assert_outcomes(passed=162)
    result.stdout.no_fnmatch_line("operators: *")


def test_the_parts_together_are_all_operators_and_share_none(pytester: pytest.Pytester) -> None:
    parts = [ids(pytester, "--operators", f"{part}/3") for part in (1, 2, 3)]
    assert all(20 < len(part) < 90 for part in parts)
    assert sorted(name for part in parts for name in part) == sorted(ids(pytester))


def test_the_overloads_of_a_name_are_in_one_part(pytester: pytest.Pytester) -> None:
    found = set(ids(pytester, "--operators", "2/3"))
    assert {name.replace(".Scalar", "") for name in found if ".Scalar" in name} == {
        name for name in found if ".Scalar" not in name
    }


def test_tests_are_called_after_the_operator_or_as_they_say(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_operator?f0.Scalar-1?", "*test_named?PLUGGED::F0?*"])


def test_the_part_is_said_in_the_header_and_with_q_at_the_end(pytester: pytest.Pytester) -> None:
    said = "operators: part 2 of 3 (--operators 2/3)"
    lines = run(pytester, "--operators", "2/3").stdout.str().splitlines()
    assert lines.count(said) == 1 and lines.index(said) < 5
    lines = run(pytester, "--operators", "2/3", "-q").stdout.str().splitlines()
    assert lines.count(said) == 1 and lines.index(said) == len(lines) - 2


def test_the_environment_says_the_part_where_no_option_does(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOVETAIL_OPERATORS", "1/3")
    result = run(pytester)
    result.stdout.fnmatch_lines(["operators: part 1 of 3 *"])
    run(pytester, "--operators", "all").assert_outcomes(passed=162)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1/0", "third", "1", "-1/3"])
def test_what_is_no_part_is_refused(pytester: pytest.Pytester, text: str) -> None:
    result = run(pytester, f"--operators={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--operators (or $DOVETAIL_OPERATORS) is '{text}'*such as 2/3*"])
