"""Orders, and indices over all elements, on a device."""

from __future__ import annotations

import pytest

import dovetail
import dovetail.nn.functional as F
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")

NAN, INF = float("nan"), float("inf")
ROWS = {
    "nan": dovetail.tensor([[1.0, NAN, -0.0, 0.0, NAN, INF, -INF, 1.0]]),
    "bfloat16": dovetail.tensor([[1.0, NAN, -0.0, 0.0, 3.0, INF]], dtype=dovetail.bfloat16),
    "bool": dovetail.tensor([[True, False, True, False]]),
    "uint8": dovetail.tensor([[3, 255, 0, 3]], dtype=dovetail.uint8),
    "int64": dovetail.tensor([[2**62 + 1, 2**62, -(2**63), 2**62 + 1]]),
    "equal": dovetail.zeros(2, 300),
    "columns": dovetail.arange(24).reshape(2, 3, 4).mT.remainder(5),
    "empty": dovetail.zeros(0, 4),
    "long": (dovetail.arange(1500) * 7 % 1024).reshape(1, -1),
    "last short": (dovetail.arange(1024) * 7 % 100).reshape(1, -1),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("descending", [False, True])
def test_orders_are_those_of_the_cpu(name, descending):
    x = ROWS[name]
    for call in (
        lambda x: x.sort(dim=1, descending=descending, stable=True),
        lambda x: [x.argsort(1, descending)],
    ):
        outcomes = [list(call(each)) for each in (x, x.to("cuda"))]
        for one, other in zip(*outcomes, strict=True):
            dovetail.testing.assert_close(other.cpu(), one, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", [each for each in ROWS if each != "bool"])
@pytest.mark.parametrize("largest", [False, True])
def test_the_greatest_and_least_are_those_of_the_cpu_each_at_a_place_of_its_own(name, largest):
    x = ROWS[name]
    for call in (lambda x: x.topk(3, 1, largest=largest), lambda x: x.kthvalue(2, 1, True)):
        wanted, _ = call(x)
        values, places = [each.cpu() for each in call(x.to("cuda"))]
        for found in (values, x.gather(1, places)):
            dovetail.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
        in_order = places.sort(1)[0]
        assert bool((in_order[:, 1:] != in_order[:, :-1]).all())


WRONG = {
    "take": (
        lambda x: x.take(dovetail.tensor([0, 9], device="cuda")),
        "tried to access index 9 on a tensor of 6 elements",
    ),
    "put": (
        lambda x: x.put(dovetail.tensor([-7], device="cuda"), x[:1, 0]),
        "tried to access index -7 on a tensor of 6 elements",
    ),
    "masked_scatter": (
        lambda x: x.masked_scatter(x == x, x[0, :2]),
        "source has only 2. Give one for every true element of the mask.",
    ),
    "masked_scatter of nothing": (
        lambda x: x.masked_scatter(x == x, x[:0]),
        "source has only 0. Give one for every true element of the mask.",
    ),
    "scatter_reduce": (
        lambda x: x.scatter_reduce(1, dovetail.full((2, 3), 5, device="cuda"), x, "sum"),
        "index 5 is out of bounds for dimension 1 with size 3",
    ),
}


@pytest.mark.parametrize("call, text", WRONG.values(), ids=WRONG)
def test_what_is_out_of_range_is_told_when_the_device_is_waited_for(call, text, monkeypatch):
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING", raising=False)
    x = dovetail.ones(2, 3, device="cuda")
    call(x)
    with pytest.raises(IndexError, match="found when the device was waited for") as raised:
        dovetail.cuda.synchronize()
    assert text in str(raised.value)
    dovetail.cuda.synchronize()


@pytest.mark.parametrize("options", [{"padding_idx": 1}, {"scale_grad_by_freq": True}], ids=str)
def test_gradients_of_embeddings_are_those_of_the_cpu(options):
    found = []
    for device in ("cpu", "cuda"):
        weight = dovetail.linspace(-1, 1, 20, device=device).reshape(5, 4).requires_grad_()
        index = dovetail.tensor([[0, 1, 1], [4, 0, 0]], device=device)
        (F.embedding(index, weight, **options) ** 2).sum().backward()
        found.append(weight.grad.cpu())
    dovetail.testing.assert_close(*found)
    assert bool((found[0][1] == 0).all()) == ("padding_idx" in options)
