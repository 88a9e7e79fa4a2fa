"""`dovetail.utils.benchmark`: times of statements, and tables of them."""

from __future__ import annotations

import pytest

import dovetail
from dovetail.utils import benchmark
from dovetail.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """A clock that is a second later each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def measured(times: list[float], **task: object) -> Measurement:
    spec = {"stmt": "x", "setup": "pass", **task}
    return Measurement(1, times, TaskSpec(**spec))  # type: ignore[arg-type]


def test_a_statement_is_timed_with_its_setup_and_names() -> None:
    seen: list[str] = []
    found = Timer("seen.append('s'); x + x", "x = dovetail.ones(2); seen.append('setup')",
                  globals={"seen": seen}).timeit(10)  # fmt: skip
    assert found.number_per_run == 10
    assert found.median > 0
    assert seen.count("setup") == 2  # once for the runs that are not counted
    assert seen.count("s") == 12


def test_blocks_fill_the_time_that_was_asked_for() -> None:
    blocks: list[tuple[int, float]] = []

    def note(number: int, time: float) -> None:
        blocks.append((number, time))

    found = Timer("sum(range(100))").blocked_autorange(note, min_run_time=0.01)
    assert len(found.times) == len(blocks) >= 2
    assert sum(found.raw_times) >= 0.01
    assert {number for number, _ in blocks} == {found.number_per_run}


def test_the_clock_may_be_given() -> None:
    assert Timer("pass", timer=Clock()).timeit(4).times == [0.25]


def test_adaptive_blocks_end_when_times_agree() -> None:
    found = Timer("pass", timer=Clock()).adaptive_autorange()
    assert found.meets_confidence()
    assert len(found.times) == 4


def test_a_measurement_tells_its_spread() -> None:
    found = measured([1.0, 2.0, 3.0, 10.0])
    assert (found.median, found.mean, found.iqr) == (2.5, 4.0, 3.0)
    assert found.has_warnings
    assert "IQR:    3.00 s (1.75 to 4.75)" in repr(found)
    assert "Interquartile range is 120.0% of the median" in repr(found)
    sure = measured([1.0, 1.0001, 1.0002, 1.0003])
    assert not sure.has_warnings
    assert (sure.significant_figures, found.significant_figures) == (4, 1)


def test_measurements_of_one_task_merge() -> None:
    one, other, different = measured([1.0]), measured([2.0]), measured([3.0], description="d")
    assert [each.times for each in Measurement.merge([one, other, different])] == [
        [1.0, 2.0],
        [3.0],
    ]


def test_a_table_has_rows_columns_and_threads() -> None:
    table = Compare(
        [
            measured([1e-6], label="add", sub_label="ten", description="ours"),
            measured([2e-6], label="add", sub_label="ten", description="other"),
            measured([4e-6], label="add", sub_label="many", description="ours", num_threads=2),
        ]
    )
    lines = [" ".join(line.split()) for line in str(table).splitlines()]
    assert lines[0].strip("[]-") == " add "
    assert lines[1] == "| ours | other"
    assert lines[2].startswith("1 threads: ---")
    assert lines[3] == "ten | 1.0 | 2.0"
    assert lines[4].startswith("2 threads: ")
    assert lines[5] == "many | 4.0 |"
    assert lines[-1] == "Times are in microseconds (us)."
    table.trim_significant_figures()
    table.colorize()
    assert "\033[92m\033[1m  1 " in str(table)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([1.0])  # type: ignore[list-item]


def test_times_far_apart_are_marked() -> None:
    table = Compare([measured([1.0, 2.0, 3.0, 10.0], label="x")])
    table.highlight_warnings()
    assert "(! 120%)" in str(table)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="statements are Python's"):
        Timer("x", language="c++")
    with pytest.raises(NotImplementedError, match="counts instructions of compiled code"):
        Timer().collect_callgrind()
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        Timer().repeat()
    with pytest.raises(SyntaxError):
        Timer("x +")


def test_threads_are_put_back() -> None:
    before = dovetail.get_num_threads()
    Timer("pass", num_threads=1).timeit(2)
    assert dovetail.get_num_threads() == before


def test_units_and_digits() -> None:
    assert benchmark.select_unit(1.5e-4) == ("us", 1e-6)
    assert benchmark.unit_to_english("ms") == "millisecond"
    assert benchmark.trim_sigfig(123.456, 2) == 120
    assert benchmark.ordered_unique([2, 1, 2]) == [2, 1]
