"""The cuda backend on a GPU, compared with cpu."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail_aten as aten
import dovetail_cuda
import dovetail_kernel as kernel
from dovetail_dispatcher import ops

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")

at = ops.aten
INDEX = [2, 0, 2]


def indices(x):
    return aten.tensor(INDEX, device=x.device)


OPERATORS = {
    "add": lambda x: x + x.t(),
    "add a number": lambda x: x + 2.5,
    "subtract from a number": lambda x: 1 - x,
    "divide": lambda x: x / (x.abs() + 1),
    "pow": lambda x: x.abs() ** 1.5,
    "exp": aten.exp,
    "tanh": aten.tanh,
    "sigmoid": aten.sigmoid,
    "erf": aten.erf,
    "gelu": at.gelu,
    "relu": aten.relu,
    "softmax": lambda x: at.softmax(x, 1),
    "log_softmax": lambda x: at.log_softmax(x, 1),
    "where": lambda x: aten.where(x > 0, x, x * 0),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "masked_fill": lambda x: x.masked_fill(x > 0, 7.0),
    "sum": lambda x: x.sum(),
    "sum of a dim": lambda x: x.sum(1, True),
    "mean": lambda x: x.mean(0),
    "var": lambda x: x.var(1),
    "max": lambda x: x.max(1)[0],
    "amax": lambda x: x.amax(0),
    "cumsum": lambda x: x.cumsum(1),
    "prod": lambda x: x.prod(1),
    "matmul": lambda x: x @ x.t(),
    "bmm": lambda x: aten.bmm(x.unsqueeze(0), x.t().unsqueeze(0)),
    "cat": lambda x: aten.cat([x, x], 1),
    "stack": lambda x: aten.stack([x, x]),
    "permute": lambda x: x.permute(1, 0) * 2,
    "expand": lambda x: x[:, :1].expand(4, 4) * x,
    "diagonal": lambda x: x.diagonal() * 2,
    "as_strided": lambda x: aten.as_strided(x, (2, 2), (1, 2), 1) * 2,
    "slice": lambda x: x[1:, ::2] * 2,
    "index": lambda x: x[indices(x)],
    "index_select": lambda x: aten.index_select(x, 0, indices(x)),
    "index_add": lambda x: aten.index_add(x, 0, indices(x), x[:3]),
    "gather": lambda x: aten.gather(x, 0, indices(x).view((3, 1))),
    "scatter_add": lambda x: aten.scatter_add(x, 0, indices(x).view((3, 1)), x[:3, :1]),
    "sort": lambda x: aten.sort(x, 1)[0],
}


def on(device, function, requires_grad):
    values = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    x = aten.tensor(values).to(device)
    x.requires_grad = requires_grad
    return x, function(x)


@pytest.mark.parametrize("function", OPERATORS.values(), ids=OPERATORS)
def test_an_operator_gives_what_it_gives_on_cpu(function):
    _, expected = on("cpu", function, False)
    _, found = on("cuda", function, False)
    assert found.is_cuda
    assert (found.dtype, tuple(found.shape)) == (expected.dtype, tuple(expected.shape))
    np.testing.assert_allclose(
        np.asarray(found.to("cpu")), np.asarray(expected), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("function", OPERATORS.values(), ids=OPERATORS)
def test_a_gradient_is_what_it_is_on_cpu(function):
    pytest.importorskip("dovetail_autograd", reason="gradients need dovetail-autograd")
    kernel.plugin_manager.load_transform("autograd")
    grads = []
    for device in ("cpu", "cuda"):
        x, result = on(device, function, True)
        (result * result).sum().backward()
        grads.append(np.asarray(x.grad.to("cpu")))
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-4, atol=1e-5)


def test_a_few_training_steps_lower_the_loss():
    pytest.importorskip("dovetail_autograd", reason="gradients need dovetail-autograd")
    kernel.plugin_manager.load_transform("autograd")
    aten.manual_seed(0)
    x, target = aten.randn(64, 8, device="cuda"), aten.randn(64, 1, device="cuda")
    weight = aten.zeros(8, 1, device="cuda", requires_grad=True)
    losses = []
    for _ in range(20):
        loss = ((x @ weight - target) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        weight = (weight.detach() - weight.grad * 0.1).detach()
        weight.requires_grad = True
    assert losses[-1] < losses[0]


def test_a_view_shares_memory():
    x = aten.zeros(4, 3, device="cuda")
    x[1:].diagonal().fill_(1)
    assert x.sum().item() == 3


def test_a_freed_tensor_gives_its_memory_back():
    import cupy

    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    x = aten.ones(1 << 20, device="cuda")
    assert pool.used_bytes() >= before + (4 << 20)
    del x
    assert pool.used_bytes() == before


def test_a_tensor_knows_its_device():
    assert str(aten.ones(1, device="cuda").device) == "cuda:0"


def test_bfloat16_is_computed_and_rounded():
    x = aten.full((3, 2), 1.0078125, device="cuda", dtype=kernel.bfloat16)
    assert (x + x).dtype is kernel.bfloat16
    assert (x @ x.t())[0, 0].item() == 2.03125
    assert x.sum().item() == 6.0625  # 6.046875, ties to even


def test_equal_seeds_give_equal_numbers():
    aten.manual_seed(5)
    first = aten.rand(10, device="cuda").tolist()
    aten.manual_seed(5)
    assert aten.rand(10, device="cuda").tolist() == first
    assert aten.rand(10, device="cuda").tolist() != first


def test_tensors_of_two_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        aten.ones(2, device="cuda") + aten.ones(2, device="cpu")


@pytest.mark.parametrize("index", [[4], [-5]])
def test_an_index_out_of_range_is_told_when_the_device_is_waited_for(index):
    x = aten.zeros(4, device="cuda")
    place = aten.tensor(index, device="cuda")
    found = x[place]
    with pytest.raises(IndexError, match="is out of bounds for dimension 0 with size 4"):
        found.cpu()
    assert x.tolist() == [0, 0, 0, 0]
    x[place] = 1
    with pytest.raises(IndexError, match=r"an earlier call is wrong. Set CUDA_LAUNCH_BLOCKING=1"):
        x.sum().item()
    assert found.tolist() == [0]


def test_an_index_out_of_range_is_refused_at_once_where_launches_block(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    x, place = aten.zeros(4, device="cuda"), aten.tensor([4], device="cuda")
    with pytest.raises(IndexError, match=r"index 4 is out of bounds for dimension 0 with size 4$"):
        x[place]


def test_a_device_beyond_the_last_is_refused():
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        aten.ones(1, device=f"cuda:{dovetail_cuda.device_count()}")


def test_copies_go_both_ways():
    there, here = aten.zeros(2, 2, device="cuda"), aten.tensor([1.5, 2.5])
    there.copy_(here)
    assert aten.zeros(2, 2).copy_(there).tolist() == [[1.5, 2.5], [1.5, 2.5]]


def test_the_current_device_has_a_name_and_counts_memory():
    from dovetail_cuda import devices

    assert devices.device_name(devices.current_device())
    x = aten.ones(1 << 20, device="cuda")
    found = devices.memory_statistics()
    assert found.reserved_bytes >= found.allocated_bytes >= x.nbytes
    devices.synchronize()
