"""Compiled routes do what their text does: the samples of every operator, run both ways, give the
same bits, memory, graphs, versions and errors.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.inspection.route_report import route_report
from dovetail_dispatcher import compiled_code
from dovetail_dispatcher.sockets import COMPILED_ROUTE
from dovetail_dispatcher.table import registry
from dovetail_dispatcher.testing import OpInfo, SampleInput, op_infos
from dovetail_testing.checks import samples

lowering = pytest.importorskip("dovetail_native.lowering", reason="built without a C compiler")

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="there is no compiled code"),
    pytest.mark.cpu_only(reason="only routes over arrays of NumPy are compiled"),
]

DTYPES = (dovetail.float32, dovetail.int64, dovetail.complex64, dovetail.float16, dovetail.bool)
SAMPLES = 6
LEAST_COMPILED = 0.8
"""The part of the routes with budgets that are programs; it only rises."""
LEAST_OF_SAMPLES = 0.96
"""The same of the routes of samples of every fourth operator, with gradients and without: 0.975 of
them, and of all operators. It only rises.
"""
UNINITIALIZED = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
INFOS = [each for each in op_infos("aten") if each.operator.base_name not in UNINITIALIZED]


@pytest.fixture(autouse=True)
def routes_are_made_anew() -> Iterator[None]:
    registry.forget_all_routes()
    yield
    registry.forget_all_routes()


def both_ways(run: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what `run` returns with compiled routes, and with routes of text alone."""
    compiled = run()
    registry.forget_all_routes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(COMPILED_ROUTE, "plug", None)
        text = run()
    registry.forget_all_routes()
    return compiled, text


# -- what is compared ------------------------------------------------------------------------------


def outcome(info: OpInfo, sample: SampleInput, *, recorded: bool) -> Any:
    """Return everything that shows of a call: results, graph, arguments, gradients; or an error."""
    given = samples.copied(sample)
    tensors = [each for each in _flat([*given.arguments, *given.kwargs.values()]) if _is(each)]
    if recorded:
        for each in tensors:
            if each.dtype.is_floating_point or each.dtype.is_complex:
                each.requires_grad_()
    dovetail.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = _called(info.op)(*given.arguments, **given.kwargs)
        except Exception as error:
            return type(error), str(error), type(error.__cause__), [_shown(t) for t in tensors]
    results = _flat([made])
    seen = [[_shown(each) for each in results], [_shown(each) for each in tensors]]
    said = [(each.category, str(each.message)) for each in caught]
    return [seen, said, _gradients(results, tensors) if recorded else None]


def _called(op: Any) -> Any:
    """Return the operator, or while there are no compiled routes the text of its entry."""
    entry = getattr(op, "op", op)
    return op if COMPILED_ROUTE.plug is not None else getattr(entry, "text", op)


def _is(value: Any) -> bool:
    return isinstance(value, dovetail.Tensor)


def _flat(values: Any) -> list[Any]:
    if isinstance(values, list | tuple):
        return [item for value in values for item in _flat(value)]
    return [values]


def _shown(value: Any) -> Any:
    if not _is(value):
        return repr(value)
    array = value.array
    described = [
        type(value),
        array.dtype,
        array.shape,
        [stride for stride, size in zip(array.strides, array.shape, strict=True) if size > 1],
        _bits(array),
        value._signature,
        value.output_nr,
        value._counter is None,
        type(value._counter),
        value._storage is None,
        type(value._meta),
    ]
    if not value.is_inference():
        described.append(value._version)
    return [*described, _graph(value._grad_fn, 3)]


def _bits(array: np.ndarray[Any, Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _graph(node: Any, depth: int) -> Any:
    """Return names of nodes, what they say of their outputs and save, and where they lead."""
    if node is None or depth == 0:
        return None
    edges = [edge and (_graph(edge[0], depth - 1), edge[1]) for edge in node.next_edges]
    slots = sorted({name for cls in type(node).__mro__ for name in getattr(cls, "__slots__", ())})
    skipped = {"__weakref__", "__dict__", "next_edges", "sequence_nr", "inner"}  # running numbers
    saved = {name: _saved(getattr(node, name, "unset")) for name in slots if name not in skipped}
    return node.name(), edges, saved


def _saved(value: Any) -> Any:
    if isinstance(value, list | tuple):
        # The text of an entry gives its first call a list of ints, and further ones a tuple.
        are_ints = all([each.__class__ is int for each in value])
        return ["ints" if are_ints else type(value), *[_saved(each) for each in value]]
    if _is(value):
        return [value.array.shape, _bits(value.array), value._signature]
    if isinstance(value, np.ndarray):
        return [value.shape, value.dtype, _bits(value)]
    if isinstance(value, bool | int | float | complex | str | np.dtype):
        return repr(value)
    return type(value)


def _gradients(results: list[Any], tensors: list[Any]) -> Any:
    outputs = [each for each in results if _is(each) and each.requires_grad]
    leaves = [each for each in tensors if each.requires_grad and each.is_leaf]
    if not outputs or not leaves:
        return None
    try:
        seeds = [dovetail.ones_like(each) for each in outputs]
        found = dovetail.autograd.grad(outputs, leaves, seeds, allow_unused=True)
    except Exception as error:
        return type(error), str(error)
    return [_shown(each) for each in found]


# -- the tests -------------------------------------------------------------------------------------


@pytest.mark.operators("info", INFOS)
def test_samples_give_the_same_both_ways(info: OpInfo) -> None:
    device = dovetail.get_default_device()
    for dtype in [each for each in DTYPES if each in info.dtypes]:
        with samples.quiet():
            given = list(info.sample_inputs(device, dtype))[:SAMPLES]

        def run(given: list[SampleInput] = given) -> list[Any]:
            found = []
            for sample in given:
                for recorded in (False, True):
                    found.append(outcome(info, sample, recorded=recorded))
                with dovetail.inference_mode():
                    found.append(outcome(info, sample, recorded=False))
            return found

        compiled, text = both_ways(run)
        for mine, other in zip(compiled, text, strict=True):
            assert mine == other, dtype


COUNTING = """
import route_calls
from dovetail_dispatcher.sockets import COMPILED_ROUTE

route_calls.dt.ones(1) + 1  # loads what lowers
lower, counted = COMPILED_ROUTE.plug, []

def count(plan):
    route = lower(plan)
    counted.append(route is not None)
    return route

COMPILED_ROUTE.fill(count)
route_calls.collect()
print(sum(counted) / len(counted))
"""


def test_most_routes_are_compiled() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DOVETAIL_")}
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-c", COUNTING]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[-1]) >= LEAST_COMPILED


def test_the_routes_of_samples_are_compiled() -> None:
    found = route_report("aten", samples=2, step=12)
    assert found.programs > found.operators > 70
    assert found.share >= LEAST_OF_SAMPLES, "\n".join(found.lines())


def test_the_report_of_routes_counts_those_that_are_python_text() -> None:
    def refuse(plan: Any) -> None:
        lowering.routes["a reason"] += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(COMPILED_ROUTE, "plug", refuse)
        found = route_report("aten", samples=1, step=200)
    assert (found.programs, found.share) == (0, 0.0)
    first, second = found.lines()
    assert first.startswith(f"0 of {found.refused.total()} routes")
    assert second.split(maxsplit=1)[1] == "a reason"


def test_a_library_without_samples_has_no_report_of_routes() -> None:
    with pytest.raises(RuntimeError, match="nothing_here"):
        route_report("nothing_here")
