"""`Timer`: measures a statement, with repetitions chosen by its run time."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from textwrap import dedent
from time import perf_counter
from typing import Any, NoReturn

from ...cuda import is_available, synchronize
from ...functions.global_settings import get_num_threads, set_num_threads
from .measurement import Measurement, TaskSpec


def timer() -> float:
    """Return the clock in seconds, after synchronizing the devices in use."""
    if "dovetail_cuda" in sys.modules and is_available():
        synchronize()
    return perf_counter()


class Timer:
    """Measures the run time of a statement.

    Parameters
    ----------
    stmt, setup
        The statement, and one that runs once before each measurement. Default: ``"pass"``.
    global_setup
        Accepted and ignored: only other languages use it.
    timer
        The clock, in seconds. Default: the system clock, after synchronizing devices.
    globals
        The names available to the statements, besides ``dovetail``.
    label, sub_label, description, env
        Labels of the table, the row, the column, and the environment.
    num_threads
        Number of threads for array libraries during the measurement. Default: 1.
    language
        ``"python"``.

    Raises
    ------
    SyntaxError
        If a statement is not valid Python.
    NotImplementedError
        For a language other than Python.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: Mapping[str, object] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: object = "python",
    ) -> None:
        name = str(getattr(language, "name", language)).lower()
        if name not in ("py", "python"):
            raise NotImplementedError(
                f"language={language!r}: statements are Python's. Call what another language has "
                "through a function."
            )
        stmt, setup = dedent(stmt).strip("\n"), dedent(setup).strip("\n")
        known = dict(globals or {})
        known.setdefault("dovetail", sys.modules["dovetail"])
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )
        self._timer = timeit.Timer(stmt=stmt or "pass", setup=setup or "pass", timer=timer,
                                   globals=known)  # fmt: skip

    def timeit(self, number: int = 1000000) -> Measurement:
        """Return the time of `number` runs, after a warm-up."""
        with self._threads():
            self._timer.timeit(max(number // 100, 2))
            return self._measurement(number, [self._timer.timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Raise NotImplementedError: use `blocked_autorange`, which chooses both numbers."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> NoReturn:
        """Raise NotImplementedError: use `blocked_autorange`, which chooses the number of runs."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], object] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Return the times of blocks that are long enough to make clock overhead negligible, for a
        total of at least `min_run_time` seconds.

        Parameters
        ----------
        callback
            Called with number and time of every block.
        min_run_time
            In seconds. Default: 0.2.
        """
        with self._threads():
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time or len(times) < 2:
                times.append(self._run(number, callback))
            return self._measurement(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], object] | None = None,
    ) -> Measurement:
        """Return the times of blocks, until their interquartile range is small enough.

        Parameters
        ----------
        threshold
            Largest interquartile range, as a fraction of the median. Default: 0.1.
        min_run_time, max_run_time
            Shortest and longest duration, in seconds. Default: 0.01 and 10.
        callback
            Called with number and time of every block.
        """
        with self._threads():
            number = self._block_size(0.05)
            times: list[float] = []
            while sum(times) < max_run_time:
                times.append(self._run(number, callback))
                found = self._measurement(number, times)
                if (
                    len(times) > 3
                    and sum(times) > min_run_time
                    and found.meets_confidence(threshold)
                ):
                    break
            return self._measurement(number, times)

    def collect_callgrind(self, number: int = 100, **options: Any) -> NoReturn:
        """Raise NotImplementedError: instructions are not counted."""
        raise NotImplementedError(
            "collect_callgrind() counts instructions of compiled code, of which there is none "
            "here. Use blocked_autorange(), or a sampling profiler of Python."
        )

    def _block_size(self, min_run_time: float) -> int:
        """Return for how many runs a block takes a thousand times what reading the clock takes."""
        overhead = min([self._timer.timeit(0) for _ in range(5)])
        number = 1
        while True:
            time = self._timer.timeit(number)
            if time >= min_run_time / 1000 and time > overhead * 1000:
                return number
            if time >= min_run_time or number >= 10**9:
                return number
            number *= 10

    def _run(self, number: int, callback: Callable[[int, float], object] | None) -> float:
        time = self._timer.timeit(number)
        if callback is not None:
            callback(number, time)
        return time

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, list(times), self._task_spec)

    @contextmanager
    def _threads(self) -> Iterator[None]:
        before = get_num_threads()
        try:
            set_num_threads(self._task_spec.num_threads)
            yield
        finally:
            set_num_threads(before)
