"""In which order in memory results of elementwise operators lie, for operands in several orders.

Run as a program, prints them as JSON.
"""

from __future__ import annotations

import itertools
import json
import warnings
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.testing import OpInfo, op_infos

SHAPE = (2, 2, 1, 3)
LAYOUTS = [
    *((6, 3, 3, 1), (3, 6, 3, 1), (1, 2, 4, 4)),
    *((0, 3, 0, 1), (0, 1, 0, 2), (1, 0, 6, 2), (24, 12, 4, 2)),
]
"""Three orders, three tensors that are expanded, and one with gaps."""


def orders(device: str) -> dict[str, list[object]]:
    """Return the strides of the results of each operator of several tensors on a device, or what it
    raised.
    """
    found = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for info in op_infos("aten"):
            is_pointwise = any([tag is dt.Tag.pointwise for tag in info.op.tags])
            args = _arguments(info) if is_pointwise else None
            if args is not None:
                found[info.name] = _orders(info, device, *args)
    return found


def _arguments(info: OpInfo) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the arguments of the first sample of several tensors, all of which are positional."""
    dtype = dt.float64 if dt.float64 in info.dtypes else dt.int64
    if dtype not in info.dtypes:
        return None
    for sample in info.sample_inputs(dt.device("cpu"), dtype):
        given = [sample.input, *sample.args]
        tensors = [each for each in given if isinstance(each, dt.Tensor) and each.numel()]
        if len(tensors) > 1 and not any(
            [isinstance(each, dt.Tensor) for each in sample.kwargs.values()]
        ):
            return given, sample.kwargs
    return None


def _orders(info: OpInfo, device: str, args: list[Any], kwargs: dict[str, Any]) -> list[object]:
    places = [n for n, each in enumerate(args) if isinstance(each, dt.Tensor)]
    found: list[object] = []
    for first, second in itertools.product(LAYOUTS, repeat=2):
        laid = list(args)
        for place in places:
            strides = first if place == places[0] else second
            values = args[place].detach().reshape(-1)[:1].expand(100).clone()
            laid[place] = values.to(device).as_strided(SHAPE, strides)
        try:
            made = info.op(*laid, **kwargs)
        except RuntimeError as error:  # writes into what is expanded
            found.append(type(error).__name__)
            continue
        results = [made] if isinstance(made, dt.Tensor) else made
        for each in results if isinstance(results, list | tuple) else []:
            sizes = zip(each.shape, each.stride(), strict=True)
            found.append([stride for size, stride in sizes if size > 1])
    return found


if __name__ == "__main__":
    print(json.dumps([orders(device) for device in ("cpu", "meta")]))
