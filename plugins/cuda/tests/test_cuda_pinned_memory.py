"""Page-locked memory, and copies that do not wait."""

from __future__ import annotations

import pytest

import dovetail

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.skipif(not dovetail.cuda.is_available(), reason="there is no CUDA here")


@pytest.fixture
def count():
    return pytest.importorskip("cuda_emulator", reason="copies are counted by the emulator").count


def waits(counted):
    return counted.stream_syncs + counted.device_syncs + counted.event_syncs


def test_a_pinned_copy_is_on_the_cpu_and_lies_as_the_tensor_does():
    x = dovetail.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    assert not x.is_pinned()
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned[1:].is_pinned() and pinned.is_pinned("cuda")
    assert pinned.device.type == "cpu" and pinned.stride() == x.stride()
    assert dovetail.equal(pinned, x)
    assert pinned.pin_memory() is pinned
    pinned.add_(1)
    assert x[0, 0, 0] == 0
    for dtype in (dovetail.bfloat16, dovetail.complex64, dovetail.bool):
        assert x.to(dtype).pin_memory().dtype is dtype


def test_gradients_go_through_a_pinned_copy():
    x = dovetail.ones(3, requires_grad=True)
    (x.pin_memory().cuda(non_blocking=True) * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: dovetail.zeros(3, pin_memory=True),
        lambda: dovetail.full((3,), 2, pin_memory=True),
        lambda: dovetail.empty(3, pin_memory=True),
        lambda: dovetail.tensor([1, 2], pin_memory=True),
        lambda: dovetail.rand(3, pin_memory=True),
        lambda: dovetail.arange(3, pin_memory=True),
        lambda: dovetail.ones_like(dovetail.ones(3), pin_memory=True),
        lambda: dovetail.empty_like(dovetail.ones(3), pin_memory=True),
        lambda: dovetail.ones(3).new_zeros(2, pin_memory=True),
        lambda: dovetail.hann_window(4, pin_memory=True),
    ],
    ids=range(10),
)
def test_new_tensors_are_pinned_where_that_is_asked(make):
    made = make()
    assert made.is_pinned() and made.device.type == "cpu"


def test_only_tensors_of_the_cpu_are_pinned():
    x = dovetail.ones(2, device="cuda")
    assert not x.is_pinned()
    for call in (x.pin_memory, lambda: dovetail.ones(2, device="cuda", pin_memory=True)):
        with pytest.raises(RuntimeError, match=r"only dense CPU tensors can be pinned"):
            call()
    with pytest.raises(RuntimeError, match="Memory is pinned for CUDA devices, not for cpu"):
        dovetail.ones(2).pin_memory("cpu")


def test_a_copy_of_pinned_memory_does_not_wait_if_that_is_asked(count):
    pinned = dovetail.arange(100.0).pin_memory()
    pinned.cuda()
    with count() as counted:
        soon = pinned.to("cuda", non_blocking=True)
    assert (counted.to_device, waits(counted)) == (1, 0)
    with count() as counted:
        whole = pinned.to("cuda")  # it may be written to afterwards
    assert (counted.to_device, waits(counted)) == (1, 1)
    assert dovetail.equal(soon, whole) and dovetail.equal(soon.cpu(), pinned)


def test_a_copy_to_the_host_is_whole_when_the_stream_is_done(count):
    x = dovetail.arange(100.0, device="cuda")
    with count() as counted:
        found = x.to("cpu", non_blocking=True)
    assert (counted.to_host, waits(counted)) == (1, 0)
    assert found.is_pinned() and not dovetail.cuda.current_stream().query()
    x.zero_()  # comes after the copy
    dovetail.cuda.synchronize()
    assert dovetail.equal(found, dovetail.arange(100.0))
    with count() as counted:
        whole = x.to("cpu")
    assert (counted.to_host, waits(counted)) == (1, 1) and not whole.is_pinned()


def test_what_is_copied_soon_has_its_dtype_and_its_order_of_strides():
    x = dovetail.arange(24, device="cuda").reshape(2, 3, 4).permute(2, 0, 1)
    found = x.to("cpu", dovetail.float64, non_blocking=True)
    back = found.to("cuda", dovetail.bfloat16, non_blocking=True)
    dovetail.cuda.synchronize()
    assert found.dtype is dovetail.float64 and found.stride() == x.stride()
    assert dovetail.equal(found, x.cpu().double())
    assert back.dtype is dovetail.bfloat16 and back.tolist() == x.tolist()
    assert x[:0].to("cpu", non_blocking=True).shape == (0, 2, 3)


def test_memory_of_a_copy_under_way_is_not_given_to_another_tensor():
    x = dovetail.ones(1000, device="cuda")
    x.to("cpu", non_blocking=True)  # dropped before it is whole
    other = dovetail.zeros(1000).pin_memory()
    dovetail.cuda.synchronize()
    assert (other == 0).all()


def test_a_loader_gives_pinned_batches():
    from dovetail.utils.data import DataLoader, TensorDataset

    data = TensorDataset(dovetail.arange(6.0).reshape(6, 1), dovetail.arange(6))
    batches = list(DataLoader(data, batch_size=2, pin_memory=True))
    assert [each.is_pinned() for batch in batches for each in batch] == [True] * 6
    moved = [x.cuda(non_blocking=True) for x, _ in batches]
    assert dovetail.cat(moved).flatten().tolist() == list(range(6))
