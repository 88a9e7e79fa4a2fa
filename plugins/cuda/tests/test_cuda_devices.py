"""Two CUDA devices: results stay where their tensors are, and devices do not mix."""

from __future__ import annotations

import pytest

import dovetail
import dovetail_cuda

COUNT = dovetail_cuda.device_count()
pytestmark = pytest.mark.skipif(COUNT < 2, reason=f"there are {COUNT} CUDA devices, two are needed")


def written(x):
    x = x.clone()
    x[0] = 5.0
    return x


RESULTS = {
    "arithmetic": lambda x: x * 2 + x,
    "a number of the cpu": lambda x: x + dovetail.tensor(2.0, device="cpu"),
    "a reduction": lambda x: x.sum(0),
    "a matrix product": lambda x: x @ x.t(),
    "zeros_like": dovetail.zeros_like,
    "rand_like": dovetail.rand_like,
    "new_zeros": lambda x: x.new_zeros(2),
    "a cast": lambda x: x.double(),
    "a clone": lambda x: x.t().clone(),
    "contiguous": lambda x: x.t().contiguous(),
    "an index": lambda x: x[dovetail.tensor([1], device=x.device)],
    "a mask": lambda x: x[x > 0],
    "softmax": lambda x: x.softmax(1),
    "cat": lambda x: dovetail.cat([x, x]),
    "in place": lambda x: x.clone().add_(1),
    "a written slice": written,
    "sort": lambda x: x.sort(1).values,
    "dropout": lambda x: dovetail.nn.functional.dropout(x, 0.5),
}


@pytest.mark.parametrize("compute", RESULTS.values(), ids=RESULTS)
def test_a_result_is_on_the_device_of_its_tensors(compute):
    x = dovetail.arange(6.0, device="cpu").view(2, 3)
    assert str(compute(x.to("cuda:1")).device) == "cuda:1"
    assert str(compute(x.to("cuda:0")).device) == "cuda:0"


def test_a_gradient_is_on_the_device_of_its_tensor():
    x = dovetail.ones(3, device="cuda:1", requires_grad=True)
    (x.exp().sum() * 2).backward()
    assert str(x.grad.device) == "cuda:1"


MIXED = {
    "add": lambda x, y: x + y,
    "matmul": lambda x, y: x @ y,
    "cat": lambda x, y: dovetail.cat([x, y]),
    "an index": lambda x, y: x[y[0].long()],
    "where": lambda x, y: dovetail.where(x > 0, x, y),
    "add_": lambda x, y: x.add_(y),
}


@pytest.mark.parametrize("compute", MIXED.values(), ids=MIXED)
def test_tensors_of_two_devices_do_not_mix(compute):
    x, y = dovetail.ones(2, 2, device="cuda:0"), dovetail.ones(2, 2, device="cuda:1")
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cuda:1!"):
        compute(x, y)


def test_a_factory_after_a_tensor_may_name_another_device():
    x = dovetail.ones(2, device="cuda:0")
    assert str(dovetail.zeros_like(x, device="cuda:1").device) == "cuda:1"
    assert str(x.new_ones(3, device="cuda:1").device) == "cuda:1"


def test_copies_go_between_devices_also_of_views():
    x = dovetail.arange(6.0, device="cuda:0").view(2, 3)
    assert x.t().to("cuda:1").tolist() == [[0, 3], [1, 4], [2, 5]]
    there = dovetail.zeros(3, 2, device="cuda:1")
    assert there.copy_(x.t()).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_every_device_has_a_generator():
    dovetail.manual_seed(3)
    first = dovetail.rand(4, device="cuda:0").tolist()
    assert dovetail.rand(4, device="cuda:1").tolist() == first
    dovetail.rand(4, device="cuda:0")
    state = dovetail.cuda.get_rng_state("cuda:1")
    second = dovetail.rand(4, device="cuda:1").tolist()
    dovetail.cuda.set_rng_state(state, "cuda:1")
    assert dovetail.rand(4, device="cuda:1").tolist() == second


def test_the_current_device_is_where_new_tensors_are_made():
    with dovetail.cuda.device(1):
        assert dovetail.cuda.current_device() == 1
        assert str(dovetail.ones(1, device="cuda").device) == "cuda:1"
    assert str(dovetail.ones(1, device="cuda").device) == "cuda:0"


MOVES = {
    "cuda": lambda x: x.cuda(),
    "to": lambda x: x.to("cuda"),
    "as_tensor": lambda x: dovetail.as_tensor(x, device="cuda"),
    "asarray": lambda x: dovetail.asarray(x, device="cuda"),
    "zeros_like": lambda x: dovetail.zeros_like(x, device="cuda"),
    "copy": lambda x: x.to("cuda", copy=True),
    "new_zeros": lambda x: x.new_zeros(2, device="cuda"),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_device_without_an_index_is_the_current_one(move):
    x = dovetail.ones(2, device="cuda:1")
    assert MOVES[move](x).device == dovetail.device("cuda:0")
    with dovetail.cuda.device(1):
        assert MOVES[move](x).device == x.device
        assert x.cuda() is x
        assert MOVES[move](dovetail.ones(2, device="cuda:0")).device == x.device


def test_a_module_moves_to_the_current_device():
    module = dovetail.nn.Linear(2, 2, device="cuda:1").cuda()
    assert {each.device.index for each in module.parameters()} == {0}


@pytest.mark.parametrize("size", [3, 0])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: dovetail.add(x, x, out=out),
        lambda x, out: dovetail.exp(x, out=out),
        lambda x, out: dovetail.cat([x[:1], x[1:]], out=out),
        lambda x, out: dovetail.cumsum(x, 0, out=out),
    ],
)
def test_out_is_on_the_device_of_the_result(call, size):
    x, out = dovetail.ones(3, device="cuda:0"), dovetail.empty(size, device="cuda:1")
    with pytest.raises(RuntimeError, match=r"cuda:0 and cuda:1, where out= is! Give an out= on"):
        call(x, out)
    assert str(out.device) == "cuda:1"
    call(x.to("cuda:1"), out)
    assert str(out.device) == "cuda:1"


def test_out_that_grows_stays_on_its_device():
    out = dovetail.empty(0, device="cuda:1")
    dovetail.zeros(3, out=out)
    assert str(out.device) == "cuda:1"
    assert out.tolist() == [0, 0, 0]
