"""Report of the compiled routes of a library, and of the reasons why others are Python."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from dovetail_dispatcher import compiled_code, forget_all_routes
from dovetail_kernel import Device, float32

from ..testing import OpInfo, op_infos


class RouteReport(NamedTuple):
    """Statistics of the routes of the samples of operators.

    Attributes
    ----------
    operators
        The number of called operators.
    programs
        The number of compiled routes.
    refused
        The reasons why other routes are Python, with the number of routes.
    """

    operators: int
    programs: int
    refused: Counter[str]

    @property
    def share(self) -> float:
        """The fraction of compiled routes; 1 without routes."""
        count = self.programs + self.refused.total()
        return self.programs / count if count else 1.0

    def lines(self) -> Iterator[str]:
        """Return the report as text."""
        count = self.programs + self.refused.total()
        yield (
            f"{self.programs} of {count} routes of {self.operators} operators are programs "
            f"({self.share:.1%})"
        )
        for reason, number in self.refused.most_common():
            yield f"{number:6} {reason}"


def route_report(namespace: str, samples: int = 4, step: int = 1) -> RouteReport:
    """Call the operators of a library on their samples on the cpu, and count compiled and Python
    routes.

    Parameters
    ----------
    namespace
        The namespace of the operators, which need `OpInfo`.
    samples
        The number of samples of each operator, called without and with gradients.
    step
        Use only every `step`-th operator. Default: all.

    Raises
    ------
    RuntimeError
        Without compiled code, or if the operators have no samples: those of the base library are in
        dovetail-testing.
    """
    if not compiled_code.is_in_force():
        raise RuntimeError(
            "there is no compiled code, so all routes are Python text. Install dovetail-native, "
            "and unset DOVETAIL_NATIVE if it is 0."
        )
    infos = list(islice(op_infos(namespace), 0, None, step))
    from dovetail_native.lowering import PROGRAM, routes

    before = Counter(routes)
    forget_all_routes()
    for info in infos:
        _call(info, samples)
    refused = routes - before
    return RouteReport(len(infos), refused.pop(PROGRAM, 0), refused)


def _call(info: OpInfo, samples: int) -> None:
    """Call an operator on its samples; what it refuses has no part in the report."""
    dtype = float32 if float32 in info.dtypes else min(info.dtypes, key=str)
    for requires_grad in (False, True):
        given = info.sample_inputs(Device("cpu"), dtype, requires_grad and dtype is float32)
        for sample in given[:samples]:
            with warnings.catch_warnings(), suppress(Exception):
                warnings.simplefilter("ignore")
                info.op(*sample.arguments, **sample.kwargs)
