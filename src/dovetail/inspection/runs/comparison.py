"""``dovetail.compare_runs``: the first call at which two runs of a program diverge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dovetail_dispatcher import short_place

from .parting import Parting, Search
from .program_text import program_of
from .recording import RecordedSpan, load_recording
from .runners import Outcome, runner_of
from .settings import Settings, settings_of
from .values import Difference, Tolerance, difference_of_errors, first_difference, scale_of

_SHOWN: Final = 3


@dataclass(frozen=True)
class RunComparison:
    """Result of comparing two runs of a program.

    Attributes
    ----------
    parting
        The first call whose results differ although its arguments agree, or None.
    compared
        Number of compared calls.
    notes
        Sentences about differences that no single call explains.
    program
        A program that repeats the call under both configurations, if this reproduces the
        difference; else None.
    """

    parting: Parting | None
    compared: int
    notes: tuple[str, ...] = ()
    program: str | None = None

    @property
    def agree(self) -> bool:
        """Whether the runs agree."""
        return self.parting is None and not self.notes

    def __bool__(self) -> bool:
        return self.agree

    def __str__(self) -> str:
        lines = [f"{self.compared} calls compared."]
        if self.parting is not None:
            lines += _text_of(self.parting)
        elif not self.notes:
            lines = [f"The runs agree: {lines[0]}"]
        lines += self.notes
        if self.program is not None:
            lines += ["", "The call alone:", "", self.program]
        return "\n".join(lines)


def compare_runs(
    f: Callable[..., object] | None = None,
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    first: object = None,
    second: object = None,
    rtol: float | None = None,
    atol: float | None = None,
    backward: bool = True,
) -> RunComparison:
    """Run a program under two configurations, and find the first call whose results differ.

    Both runs begin with the same seed and with copies of the arguments, so `f` should be a function
    of its arguments: pass it the model. A call with different results is repeated under both
    configurations with the same arguments, so that accumulated rounding errors are not attributed
    to it.

    Parameters
    ----------
    f
        The program: a function, a module or an operator. Omit it for two saved traces.
    args, kwargs
        Its arguments.
    first, second
        The configurations. None means unchanged. A device or its name: copy tensors and modules
        among the arguments there. A dtype: cast floating-point arguments to it. A dict with
        ``device``, ``dtype``, ``conditions`` (False disables kernels with conditions), ``native``
        (whether to use compiled code, in a separate process) and ``within`` (a function that
        returns a context manager). Or the `pathlib.Path` of a trace recorded with
        ``tracing(hashes=True)`` and saved with ``export_json``.
    rtol
        Greatest difference, relative to the element and to the greatest element. Default: by dtype,
        1.3e-6 for float32.
    atol
        Greatest absolute difference. Default: one unit in the last place of the greatest argument.
    backward
        Whether to run backward on results that require grad, unless `f` does so itself. Default:
        True.

    Returns
    -------
    RunComparison
        True if the runs agree; its text has the call, its kernels, and a program that reproduces
        it.

    Raises
    ------
    TypeError
        For an invalid configuration, or if the program cannot be sent to another process.
    ValueError
        If a file is not a trace with hashes.

    Notes
    -----
    While calls are recorded, backward uses the formulas over tensors, not those over arrays. So the
    results of two runs without a trace are compared too. The values of all calls stay in memory
    until the comparison ends.
    """
    sides = _side(first, "first"), _side(second, "second")
    if f is None and any([isinstance(side, Settings) for side in sides]):
        raise TypeError(
            "compare_runs(): the program is missing. Pass a function, or the paths of two saved "
            "traces as first and second."
        )
    program = (f, tuple(args), dict(kwargs or {}))
    with ExitStack() as stack:
        runners = [stack.enter_context(runner_of(side)) for side in sides]
        outcomes = [each.run(program, traced=True, backward=backward) for each in runners]
        search = Search((runners[0], runners[1]), Tolerance(rtol, atol))
        parting = search.first_parting(outcomes[0].spans, outcomes[1].spans)
        live = all([each.can_repeat for each in runners])
        notes = () if parting is not None else _notes(search, outcomes, live=live)
        if parting is None and not notes and live:
            plain = [each.run(program, traced=False, backward=backward) for each in runners]
            notes = _notes_on_plain(search, plain)
    text = None
    if parting is not None and isinstance(sides[0], Settings) and isinstance(sides[1], Settings):
        text = program_of(parting, sides[0], sides[1])
    return RunComparison(parting, search.compared, notes, text)


def _side(value: object, parameter: str) -> Settings | list[RecordedSpan]:
    return load_recording(value) if isinstance(value, Path) else settings_of(value, parameter)


def _notes(search: Search, outcomes: Sequence[Outcome], *, live: bool) -> tuple[str, ...]:
    """Return sentences about what no single call explains.

    Parameters
    ----------
    live
        Whether both runs were made now, so that their results are known.
    """
    notes = []
    if live and outcomes[0].error != outcomes[1].error:
        found = difference_of_errors(outcomes[0].error, outcomes[1].error)
        notes.append(f"One run raises: {found.text}.")
    apart = _apart(outcomes, search.tolerance) if live else None
    if search.lone and (apart is not None or not live):
        x, y = search.lone[0]
        lone = x or y
        assert lone is not None
        where = "first" if y is None else "second"
        at = f", called at {short_place(lone.called_at)}" if lone.called_at else ""
        notes.append(
            f"Only the {where} run calls {lone.name}{at}, or has these values for its arguments."
        )
    if apart is not None:
        notes.append(f"The results of the runs differ: {apart.text}.")
    if search.explained and (notes or not live):
        shown = "; ".join(search.explained[:_SHOWN])
        notes.append(
            "No call differs for the same arguments. Differences grow in these, in this order: "
            f"{shown}."
        )
    return tuple(notes)


def _notes_on_plain(search: Search, plain: Sequence[Outcome]) -> tuple[str, ...]:
    first, second = plain
    if first.error != second.error:
        found: Difference | None = difference_of_errors(first.error, second.error)
    else:
        found = _apart(plain, search.tolerance)
    if found is None:
        return ()
    return (
        "The runs agree while their calls are recorded, and differ without a trace, where backward "
        f"runs formulas over arrays: {found.text}.",
    )


def _apart(outcomes: Sequence[Outcome], tolerance: Tolerance) -> Difference | None:
    """Return how the results of two runs differ, by more than rounding in each call explains."""
    first, second = (each.results for each in outcomes)
    return first_difference(first, second, tolerance, scale_of([*first, *second]))


def _text_of(parting: Parting) -> list[str]:
    where = f" in {parting.node}" if parting.node and parting.node != parting.name else ""
    phase = "backward" if parting.node else "forward"
    lines = [f"The runs part in {phase}, at {parting.name}{where}: {parting.text}."]
    if parting.called_at:
        lines.append(f"  called at {short_place(parting.called_at)}")
    given = ", ".join([f"{each.dtype}{list(each.shape)}" for each in parting.first.given])
    options = ", ".join([f"{name}={text}" for name, text in parting.first.options.items()])
    lines.append(f"  arguments: {', '.join([each for each in (given, options) if each])}")
    first, second = parting.kernels
    for kernel in dict.fromkeys([*first, *second]):
        both = kernel in first and kernel in second
        run = "both runs" if both else "first run" if kernel in first else "second run"
        lines.append(f"  {run}: {_short(kernel)}")
    return lines


def _short(kernel: str) -> str:
    """Return the text of a kernel with the end of the path of its file."""
    name, at, place = kernel.partition(" at ")
    file, space, rest = place.partition(" (")
    return f"{name}{at}{short_place(file) if file else ''}{space}{rest}"
