"""Traces and explanations show the kernels that a call hands to a device, where it tells them."""

from __future__ import annotations

import json

import pytest

import dovetail
from dovetail_kernel import ArrayBackend, backend

pytestmark = pytest.mark.cpu_only(reason="the cpu stands for a device that tells its launches")
WHY = "launches on cpu are not known: this one is silent"


class Device:
    """Stands for a device that tells its launches: its kernels tell themselves."""

    def __init__(self) -> None:
        self.to = None
        self.asked = 0
        self.reason = None

    def tell_launches(self, to):
        self.asked += to is not None
        self.to = None if self.reason else to
        return self.reason

    def launch(self, name):
        if self.to is not None:
            self.to(name)


@pytest.fixture
def device(monkeypatch):
    made = Device()
    dovetail.empty(0)
    arrays = backend("cpu").arrays
    monkeypatch.setattr(arrays, "launches_kernels", True, raising=False)
    monkeypatch.setattr(arrays, "tell_launches", made.tell_launches, raising=False)
    return made


@pytest.fixture
def twice(device):
    """An operator whose kernel launches two kernels, the second twice."""
    with dovetail.library._scoped_library("launches_of_calls", "FRAGMENT") as lib:
        lib.define("twice(Tensor x) -> Tensor")

        def kernel(x):
            device.launch("copy")
            device.launch("add")
            device.launch("add")
            return x * 2

        lib.impl("twice", kernel, "CPU")
        yield dovetail.ops.launches_of_calls.twice


def test_a_trace_shows_the_kernels_that_each_call_launches(twice):
    with dovetail.tracing() as t:
        twice(dovetail.ones(2))
    (call,) = t.calls("launches_of_calls::twice")
    assert call.launches == ["copy", "add", "add"] == t.launches
    assert call.as_dict()["launches"] == call.launches
    assert "launches copy, 2 × add" in str(t)
    assert str(t).startswith(f"trace: {len(t)} spans, 3 launches\n")
    (event,) = [e for e in t.as_chrome_trace()["traceEvents"] if e["name"] == call.name]
    assert json.loads(json.dumps(event))["args"]["launches"] == call.launches
    assert t.unknown is None


def test_a_launch_outside_of_calls_is_one_of_the_trace_or_of_the_part_that_is_named(device):
    with dovetail.tracing() as t:
        device.launch("of no call")
        with dovetail.profiler.record_function("part"):
            device.launch("of a part")
    assert t.launches == ["of no call", "of a part"]
    assert t.spans[-1].launches == ["of a part"]


def test_a_device_is_asked_only_while_a_trace_is_on(device, twice):
    assert device.to is None
    with dovetail.tracing() as outer:
        with dovetail.tracing() as inner:
            twice(dovetail.ones(2))
        assert device.asked == 1
        twice(dovetail.ones(2))
    assert device.to is None
    assert len(inner.launches) == 3
    assert len(outer.launches) == 6
    twice(dovetail.ones(2))
    assert len(outer.launches) == 6


def test_a_trace_that_an_error_ends_listens_no_more(device):
    with pytest.raises(ZeroDivisionError), dovetail.tracing():
        assert device.to is not None
        raise ZeroDivisionError
    assert device.to is None


def test_a_trace_says_why_launches_are_not_known(device):
    device.reason = "this one is silent"
    with dovetail.tracing() as t:
        dovetail.ones(2)
    assert t.unknown == WHY
    assert str(t).startswith(f"trace: {len(t)} spans; {WHY}\n")


def test_a_backend_tells_nothing_unless_it_says_how():
    assert ArrayBackend().tell_launches(print) == "ArrayBackend does not tell them"
    assert not ArrayBackend.launches_kernels


def test_a_device_that_is_loaded_inside_of_a_trace_is_asked_as_well(monkeypatch):
    dovetail.empty(0)
    arrays, made = backend("cpu").arrays, Device()
    with dovetail.tracing() as t:
        monkeypatch.setattr(arrays, "launches_kernels", True, raising=False)
        monkeypatch.setattr(arrays, "tell_launches", made.tell_launches, raising=False)
        dovetail.frexp(dovetail.ones(2, dtype=dovetail.float64))  # composes a route
        made.launch("late")
    assert t.launches == ["late"]
    assert made.to is None


def test_an_explanation_shows_what_an_array_kernel_launches_and_leaves_the_arguments(device):
    x = dovetail.ones(2, requires_grad=True)
    explained = dovetail.explain(dovetail.ops.aten.exp.default, x)
    assert explained.launches == ()
    assert "├─ launches nothing" in str(explained)
    assert device.to is None
    y = dovetail.ones(2)
    dovetail.explain(dovetail.ops.aten.mul_.Tensor, y, 3.0)
    assert y.tolist() == [1, 1]
    assert y._version == 0


def test_what_draws_random_numbers_is_no_call_of_an_explanation(device):
    dovetail.manual_seed(3)
    state = dovetail.get_rng_state()
    x = dovetail.ones(2)
    assert dovetail.explain(dovetail.ops.aten.bernoulli.p, x, 0.5).launches is None
    assert bool((dovetail.get_rng_state() == state).all())


def test_the_kernel_of_a_script_is_not_run_to_explain_it(device):
    ran = []
    with dovetail.library._scoped_library("launches_of_calls", "FRAGMENT") as lib:
        lib.define("scripted(Tensor x) -> Tensor")
        lib.impl("scripted", lambda x: ran.append(x) or x.clone(), "CPU")
        assert dovetail.explain(dovetail.ops.launches_of_calls.scripted, x := dovetail.ones(2))
        assert not ran, x
    assert device.asked == 0


def test_a_backend_without_launches_is_explained_as_before():
    explained = dovetail.explain(dovetail.ops.aten.exp.default, dovetail.ones(2))
    assert explained.launches is None
    assert "launches" not in str(explained)
