"""`--samples` as suites see it: checks of an operator on a part of its samples."""

from __future__ import annotations

import re

import pytest

from dovetail_dispatcher.testing import part_of_samples, samples_in_part

SUITE = """
import pytest
import dovetail
from dovetail.library import Library, register_fake, register_op_infos
from dovetail.testing import OpInfo, SampleInput, TensorMaker

library = Library("sampled", "DEF")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: print("rows", x.shape[0]) or x * 2, "CompositeExplicitAutograd")
register_fake("sampled::f", dovetail.empty_like, lib=library)


def samples(info, device, dtype, requires_grad):
    for rows in {rows}:
        yield SampleInput(TensorMaker(device=device, dtype=dtype)(rows))


register_op_infos("sampled", lambda: [
    OpInfo(name="sampled::f", dtypes={{dovetail.float32}}, sample_inputs_func=samples,
           ref=lambda x: x * {factor}, supports_autograd=False)
])

@pytest.mark.op_infos("sampled", checks=("reference",))
def test_operator(op_check):
    op_check()
"""


def run(
    pytester: pytest.Pytester, *options: str, rows: str = "range(1, 11)", factor: str = "2"
) -> pytest.RunResult:
    """Run the suite in a process of its own."""
    pytester.makepyfile(SUITE.format(rows=rows, factor=factor))
    return pytester.runpytest_subprocess(
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:hypothesispytest",
        "-s",
        "--operators",
        "all",
        *options,
    )


def rows_of(result: pytest.RunResult) -> list[int]:
    """Return what the operator was called with."""
    result.assert_outcomes(passed=1)
    return list(map(int, re.findall(r"\brows (\d+)", result.stdout.str())))


def test_all_samples_are_taken_by_default(pytester: pytest.Pytester) -> None:
    result = run(pytester)
    assert rows_of(result) == list(range(1, 11))
    result.stdout.no_fnmatch_line("samples: *")
    assert rows_of(run(pytester, "--samples", "all")) == list(range(1, 11))


def test_the_parts_together_are_all_samples_and_share_none(pytester: pytest.Pytester) -> None:
    parts = [rows_of(run(pytester, "--samples", f"{part}/3")) for part in (1, 2, 3)]
    assert sorted(rows for part in parts for rows in part) == list(range(1, 11))
    assert parts[0] == rows_of(run(pytester, "--samples", "1/3"))


def test_one_sample_is_taken_where_a_part_would_have_none(pytester: pytest.Pytester) -> None:
    parts = [
        rows_of(run(pytester, "--samples", f"{part}/5", rows="(7, 8)")) for part in range(1, 6)
    ]
    assert {len(part) for part in parts} == {1}
    assert {rows for part in parts for rows in part} == {7, 8}


def test_the_part_is_said(pytester: pytest.Pytester) -> None:
    lines = run(pytester, "--samples", "2/3", "-q").stdout.str().splitlines()
    said = "samples: part 2 of 3 (--samples 2/3)"
    assert lines.count(said) == 1 and lines.index(said) >= len(lines) - 4


def test_an_expected_failure_may_pass_on_a_part_of_the_samples(pytester: pytest.Pytester) -> None:
    known = pytester.path / "known.txt"
    known.write_text("::test_operator[reference-f] | it fails for ten rows\n")
    factor = "(3 if len(x) == 10 else 2)"
    parts = [
        run(pytester, "--samples", f"{part}/3", "--exceptions", str(known), factor=factor)
        for part in (1, 2, 3)
    ]
    assert [part.ret for part in parts] == [0, 0, 0]
    outcomes = [part.parseoutcomes() for part in parts]
    assert sorted(tuple(each) for each in outcomes) == [("xfailed",), ("xpassed",), ("xpassed",)]
    whole = run(pytester, "--exceptions", str(known), factor="2")
    whole.assert_outcomes(failed=1)


def test_what_is_no_part_is_refused(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--samples=4/3")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--samples is '4/3'*such as 2/3, or 'all'*"])


CHECKS = (
    "samples",
    "reference",
    "forward",
    "gradients",
    "dtypes",
    "meta",
    "batching",
    "noncontiguous",
)


def test_what_one_check_leaves_out_another_one_takes() -> None:
    token = part_of_samples.set((1, 3))
    try:
        taken = [samples_in_part([*range(9)], f"{check} aten::add float32") for check in CHECKS]
    finally:
        part_of_samples.reset(token)
    assert {len(each) for each in taken} == {3}
    assert {sample for each in taken for sample in each} == set(range(9))
    assert samples_in_part([*range(9)], "samples aten::add float32") == [*range(9)]
