"""Runs the checks of operators for ``dovetail conformance``: which operators, in how many
processes, and how far it has come.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dovetail_kernel import Device, plugin_manager

from ..testing import OpInfo, Outcome, check_op_info, op_infos
from .common import UsageError, words

ALL = "all"
"""The value of ``--operators`` for all operators."""

_TENTHS = 10


def chosen_operators(infos: Sequence[OpInfo], operators: str, seed: int) -> list[OpInfo]:
    """Return the operators to test, in order.

    Parameters
    ----------
    operators
        ``all``, how many, or a part of how many, such as ``2/3``.
    seed
        By which they are chosen.

    Raises
    ------
    UsageError
        If `operators` is none of these.
    """
    found = re.fullmatch(r"([0-9]+)(?:/([0-9]+))?", operators)
    if operators == ALL:
        return list(infos)
    number, parts = (int(each or 0) for each in found.groups()) if found else (0, 0)
    if number < 1 or ("/" in operators and number > parts):
        raise UsageError(
            f"--operators is {operators!r}. Give how many, such as 100, a part, such as 2/3, or "
            f"{ALL!r}."
        )
    order = list(range(len(infos)))
    random.Random(seed).shuffle(order)
    places = order[number - 1 :: parts] if parts else order[:number]
    return [infos[place] for place in sorted(places)]


def outcomes_of(
    infos: Sequence[OpInfo], device: Device, names: tuple[str, ...], jobs: int
) -> Iterator[list[Outcome]]:
    """Yield the outcomes of each operator, in order.

    Parameters
    ----------
    names
        The checks; all if there are none.
    jobs
        In how many processes they run. With one they run in this.
    """
    if jobs == 1:
        for info in infos:
            yield list(check_op_info(info, device=device, names=names))
        return
    run = partial(outcomes_of_name, device=str(device), names=names)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run, [info.name for info in infos])


def outcomes_of_name(name: str, device: str, names: tuple[str, ...]) -> list[Outcome]:
    """Return the outcomes of one operator, in a process of its own."""
    with loaded_device(device) as on:
        info = next(each for each in op_infos(name.partition("::")[0]) if each.name == name)
        return list(check_op_info(info, device=on, names=names))


def with_progress(outcomes: Iterable[list[Outcome]], count: int) -> Iterator[list[Outcome]]:
    """Yield the outcomes of `count` operators, and show the progress on stderr: a bar on a
    terminal, elsewhere a line for every tenth.
    """
    console = Console(stderr=True)
    failed = 0
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=count)
        for done, of_operator in enumerate(outcomes, 1):
            yield of_operator
            failed += sum([each.state == "failed" for each in of_operator])
            about = f"{of_operator[0].operator}, {failed} checks failed" if of_operator else ""
            progress.update(task, advance=1, description=about)
            if not console.is_terminal and done * _TENTHS // count > (done - 1) * _TENTHS // count:
                console.print(f"{done} of {count} operators, {failed} checks failed")


def loaded_device(name: str) -> Device:
    """Return a device, after loading its backend.

    Raises
    ------
    UsageError
        If there is no such device type, or its tensors have no values.
    PluginError
        If the backend cannot be had, with the reason.
    """
    with words(RuntimeError):
        device = Device(name)
    if device.type == "meta":
        raise UsageError("tensors on 'meta' have no values to check. Name a device that computes.")
    plugin_manager.attached_backend(device.type)
    return device
