"""Traces and explanations show which kernels CUDA calls launch, as CUPTI tells them."""

from __future__ import annotations

import ctypes
from threading import Thread

import pytest

import dovetail
import dovetail.nn.functional as F
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")


@pytest.fixture(autouse=True)
def _listened_to():
    dovetail.empty(0, device="cuda")
    from dovetail_cuda import launch_names

    why = launch_names.tell_launches(print)
    launch_names.tell_launches(None)
    if why is not None:
        pytest.skip(f"CUPTI does not tell the launches: {why}")


def test_a_trace_of_a_network_shows_the_kernels_of_forward_and_backward():
    x = dovetail.randn(8, 64, device="cuda", requires_grad=True)
    with dovetail.tracing() as t:
        F.layer_norm(F.softmax(x, 1), (64,)).backward(x.detach())
    (softmax,) = t.calls("aten::_softmax")
    assert softmax.launches == ["dovetail_softmax"]
    (backward,) = t.calls("aten::native_layer_norm_backward")
    assert backward.launches == ["dovetail_layer_norm_to_input"]
    assert "launches dovetail_softmax" in str(t)
    assert t.launches == [
        "dovetail_softmax",
        "dovetail_layer_norm",
        "dovetail_layer_norm_to_input",
        "dovetail_softmax_backward",
    ]


def test_an_explanation_shows_the_kernels_of_one_call():
    x = dovetail.randn(8, 64, device="cuda", requires_grad=True)
    explained = dovetail.explain(dovetail.ops.aten._softmax, x, 1, False)
    assert explained.launches == ("dovetail_softmax",)
    assert "├─ launches dovetail_softmax" in str(explained)
    assert explained.chain[-1].source.partition(":")[0].endswith("families/softmax.py")
    assert "launches nothing" in str(dovetail.explain(dovetail.ops.aten.t, x.detach()))


def test_an_explanation_of_a_wrong_index_leaves_no_error_behind():
    x, far = dovetail.zeros(3, device="cuda"), dovetail.tensor([7], device="cuda")
    assert dovetail.explain(dovetail.ops.aten.index.Tensor, x, [far]).launches is None
    dovetail.cuda.synchronize()
    near = dovetail.tensor([1], device="cuda")
    found = dovetail.explain(dovetail.ops.aten.index.Tensor, x, [near])
    assert "dovetail_check_index" in found.launches


def test_random_numbers_are_not_drawn_for_an_explanation():
    x = dovetail.ones(4, device="cuda")
    before = dovetail.cuda.get_rng_state()
    assert dovetail.explain(dovetail.ops.aten.native_dropout, x, 0.5, True).launches is None
    assert dovetail.equal(dovetail.cuda.get_rng_state(), before)


def test_launches_of_another_thread_are_not_those_of_a_trace():
    x = dovetail.ones(4, device="cuda")
    with dovetail.tracing() as t:
        other = Thread(target=x.exp)
        other.start()
        other.join()
        x.neg()
    assert len(t.launches) == 1
    assert "negative" in t.launches[0]


def test_nothing_listens_when_no_trace_is_on():
    from dovetail_cuda import launch_names

    with dovetail.tracing():
        assert launch_names._subscribed
    assert not launch_names._subscribed


def test_a_trace_says_so_where_another_profiler_listens():
    from dovetail_cuda import launch_names

    cupti, taken = launch_names._library(), ctypes.c_void_p()
    callback = launch_names._Callback(lambda *_: None)
    assert not cupti.cuptiSubscribe(ctypes.byref(taken), callback, None)
    try:
        with dovetail.tracing() as t:
            dovetail.ones(2, device="cuda")
    finally:
        cupti.cuptiUnsubscribe(taken)
    assert "another profiler is listening" in str(t)
    assert not t.launches


def test_a_trace_says_what_to_install_where_cupti_is_missing(monkeypatch):
    from dovetail_cuda import launch_names

    def missing():
        raise OSError("libcupti.so.12 is not found")

    monkeypatch.setattr(launch_names, "_library", missing)
    with dovetail.tracing() as t:
        dovetail.ones(2, device="cuda")
    assert t.unknown.startswith("launches on cuda are not known: libcupti.so.12 is not found")
    assert "pip install nvidia-cuda-cupti" in str(t)


@pytest.mark.parametrize(
    ("version", "wheel"), [(12, "nvidia-cuda-cupti-cu12"), (13, "nvidia-cuda-cupti")]
)
def test_the_wheel_with_cupti_has_no_version_in_its_name_since_cuda_13(monkeypatch, version, wheel):
    from dovetail_cuda import launch_names

    def missing():
        raise OSError("it is not found")

    monkeypatch.setattr(launch_names, "_library", missing)
    monkeypatch.setattr(launch_names, "_version", lambda: version)
    assert launch_names.tell_launches(print).endswith(f"pip install {wheel}")
