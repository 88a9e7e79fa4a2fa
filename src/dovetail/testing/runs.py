"""Runs of checks: one outcome per check and operator."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass

from dovetail_dispatcher.testing import Check, CheckSkipped, OpInfo, checks, op_infos
from dovetail_kernel import Device, get_default_device


@dataclass(frozen=True)
class Outcome:
    """Result of one check of one operator.

    Attributes
    ----------
    operator, family, check
        Their names.
    state
        "passed", "failed" or "skipped".
    detail
        The error, or the reason for skipping.
    """

    operator: str
    family: str
    check: str
    state: str
    detail: str = ""


def check_op_info(
    info: OpInfo, *, device: Device | str | None = None, names: tuple[str, ...] = ()
) -> Iterator[Outcome]:
    """Run the checks of one operator.

    Parameters
    ----------
    info
        The operator.
    device
        Device of the samples. Default: the default device.
    names
        Checks to run. Default: all.

    Yields
    ------
    Outcome

    Raises
    ------
    ValueError
        For an unknown check.
    """
    chosen = chosen_checks(names)
    on = Device(device) if device is not None else get_default_device()
    for check in chosen:
        state, detail = "passed", ""
        try:
            check.run(info, on)
        except CheckSkipped as skipped:
            state, detail = "skipped", str(skipped)
        except Exception as error:
            state, detail = "failed", "".join(traceback.format_exception_only(error)).strip()
        yield Outcome(info.name, info.family, check.name, state, detail)


def check_op_infos(
    namespace: str, *, device: Device | str | None = None, names: tuple[str, ...] = ()
) -> Iterator[Outcome]:
    """Run the checks of every operator of a namespace; parameters are as for `check_op_info`."""
    for info in op_infos(namespace):
        yield from check_op_info(info, device=device, names=names)


def chosen_checks(names: tuple[str, ...]) -> list[Check]:
    """Return the checks of some names, or all."""
    known = {check.name: check for check in checks()}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no check {unknown[0]!r}. There are: {', '.join(known)}.")
    return [known[name] for name in names or known]
