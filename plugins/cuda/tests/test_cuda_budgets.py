"""How many launches, copies and synchronisations calls cost, as the emulated driver counts them."""

from __future__ import annotations

import pytest

import dovetail
import dovetail.nn.functional as F
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")
emulator = pytest.importorskip(
    "cuda_emulator", reason="launches are counted by the emulator: make test-cuda-emulated"
)


def counted(call):
    """Return what a call costs once its kernels are compiled."""
    call()
    with emulator.count() as found:
        call()
    return found


@pytest.fixture(autouse=True)
def _without_waiting(monkeypatch):
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING", raising=False)


def tensors():
    dovetail.manual_seed(0)
    return {
        "x": dovetail.randn(32, 64, device="cuda"),
        "w": dovetail.randn(64, 64, device="cuda"),
        "b": dovetail.randn(64, device="cuda"),
        "t": dovetail.randint(0, 10, (32,), device="cuda"),
        "e": dovetail.randn(100, 16, device="cuda"),
        "i": dovetail.randint(0, 32, (32, 64), device="cuda"),
        "h": dovetail.randn(32, 64, device="cuda", dtype=dovetail.float16),
        "g": dovetail.randn(32, 64, device="cuda", dtype=dovetail.bfloat16),
        "image": dovetail.randn(4, 3, 8, 8, device="cuda"),
        "filters": dovetail.randn(5, 3, 3, 3, device="cuda"),
    }


FORWARD = {
    "add": (1, lambda x, **_: x + x),
    "add_": (1, lambda x, **_: x.add_(1)),
    "mul by a number": (1, lambda x, **_: x * 2),
    "remainder": (1, lambda x, **_: x % 3),
    "floor_divide": (1, lambda x, **_: x // 3),
    "sigmoid": (1, lambda x, **_: x.sigmoid()),
    "tanh": (1, lambda x, **_: x.tanh()),
    "relu": (1, lambda x, **_: x.relu()),
    "silu": (1, lambda x, **_: F.silu(x)),
    "gelu": (1, lambda x, **_: F.gelu(x)),
    "gelu by tanh": (1, lambda x, **_: F.gelu(x, approximate="tanh")),
    "softmax": (1, lambda x, **_: x.softmax(1)),
    "log_softmax": (1, lambda x, **_: x.log_softmax(0)),
    "layer_norm": (1, lambda x, b, **_: F.layer_norm(x, (64,), b, b)),
    "dropout": (1, lambda x, **_: F.dropout(x, 0.5)),
    "rand": (1, lambda **_: dovetail.rand(3, device="cuda")),
    "sum": (1, lambda x, **_: x.sum()),
    "matmul": (1, lambda x, w, **_: x @ w),
    "linear": (2, lambda x, w, b, **_: F.linear(x, w, b)),
    "embedding": (2, lambda t, e, **_: F.embedding(t, e)),
    "index": (2, lambda x, t, **_: x[t]),
    "index_select": (2, lambda x, t, **_: x.index_select(0, t)),
    "take": (2, lambda x, t, **_: x.take(t)),
    "put": (10, lambda x, t, **_: x.put(t, x[0, :32])),
    "masked_scatter": (10, lambda x, w, **_: w[:32].masked_scatter(x > 0, x)),
    "scatter of a number": (3, lambda x, t, **_: x.scatter(1, t[:, None], 1.0)),
    "index_reduce": (9, lambda x, t, **_: x.index_reduce(0, t, x, "amax")),
    "kthvalue": (3, lambda x, **_: x.kthvalue(3)),
    "max_pool2d": (1, lambda image, **_: F.max_pool2d(image, 2)),
    "avg_pool2d": (1, lambda image, **_: F.avg_pool2d(image, 2)),
    "adaptive_avg_pool2d": (1, lambda image, **_: F.adaptive_avg_pool2d(image, 2)),
    "conv2d": (3, lambda image, filters, **_: F.conv2d(image, filters)),
    "batch_norm": (1, lambda image, **_: F.batch_norm(image, None, None, training=True)),
    "nll_loss": (1, lambda x, t, **_: F.nll_loss(x, t)),
    "cross_entropy": (2, lambda x, t, **_: F.cross_entropy(x, t)),
    "softplus": (1, lambda x, **_: F.softplus(x)),
    "logsigmoid": (1, lambda x, **_: F.logsigmoid(x)),
    "hardswish": (1, lambda x, **_: F.hardswish(x)),
    "mish": (1, lambda x, **_: F.mish(x)),
    "group_norm": (1, lambda image, b, **_: F.group_norm(image, 3, b[:3], b[:3])),
    "gather": (2, lambda x, i, **_: x.gather(0, i)),
    "take_along_dim": (5, lambda x, i, **_: x.take_along_dim(i, 0)),
    "scatter": (3, lambda x, i, **_: x.scatter(0, i, x)),
    "scatter_add": (3, lambda x, i, **_: x.scatter_add(0, i, x)),
    "scatter_reduce": (9, lambda x, i, **_: x.scatter_reduce(0, i, x, "amax")),
    "one_hot": (3, lambda t, **_: F.one_hot(t, 10)),
    "sort": (1, lambda x, **_: x.sort(1)),
    "topk": (1, lambda x, **_: x.topk(5, 1)),
    "max along a dimension": (2, lambda x, **_: x.max(1)),
    "matmul, float16": (1, lambda h, **_: h @ h.T),
    "matmul, bfloat16": (1, lambda g, **_: g.mT @ g),
    "bmm, float16": (1, lambda h, **_: h.view(4, 8, 64) @ h.view(4, 8, 64).mT),
    "linear, float16": (2, lambda h, **_: F.linear(h, h, h[0, :32])),
}


@pytest.mark.parametrize("most, call", FORWARD.values(), ids=FORWARD)
def test_a_call_takes_no_more_launches_and_waits_for_nothing(most, call):
    given = tensors()
    found = counted(lambda: call(**given))
    assert found.launches <= most, found.kernels
    assert found.syncs == found.to_host == 0


BACKWARD = {
    "sigmoid": (1, dovetail.sigmoid),
    "tanh": (1, dovetail.tanh),
    "relu": (1, dovetail.relu),
    "silu": (1, F.silu),
    "gelu": (1, F.gelu),
    "softmax": (1, lambda x: x.softmax(1)),
    "log_softmax": (1, lambda x: x.log_softmax(1)),
    "dropout": (1, lambda x: F.dropout(x, 0.5)),
    "softplus": (1, F.softplus),
    "logsigmoid": (1, F.logsigmoid),
    "hardswish": (1, F.hardswish),
    "mish": (1, F.mish),
    "gather": (4, lambda x: x.gather(0, dovetail.zeros_like(x, dtype=dovetail.int64))),
    "topk": (4, lambda x: x.topk(5, 1)[0]),
    "embedding": (4, lambda x: F.embedding(dovetail.arange(9, device="cuda"), x)),
    "layer_norm": (2, lambda x: F.layer_norm(x, (64,), x[0], x[0])),
}


def gradients(call, x):
    """Return a function that computes the gradient of a call, which was made before."""
    x = x.detach().requires_grad_()
    y = call(x)
    ones = dovetail.ones_like(y)
    return lambda: dovetail.autograd.grad(y, x, ones, retain_graph=True)


@pytest.mark.parametrize("most, call", BACKWARD.values(), ids=BACKWARD)
def test_a_backward_takes_no_more_launches_and_waits_for_nothing(most, call):
    x = tensors()["x"]
    if call is BACKWARD["layer_norm"][1]:
        weight = tensors()["b"].requires_grad_()
        found = counted(gradients(lambda x: F.layer_norm(x, (64,), weight, weight.detach()), x))
    else:
        found = counted(gradients(call, x))
    assert found.launches <= most, found.kernels
    assert found.syncs == found.to_host == 0


OF_EMBEDDINGS = {
    # One launch looks at the indices again: they may have changed since the forward.
    "embedding": (3, {}),
    "embedding with padding": (5, {"padding_idx": 3}),
    "embedding scaled": (9, {"scale_grad_by_freq": True}),
}


@pytest.mark.parametrize("most, options", OF_EMBEDDINGS.values(), ids=OF_EMBEDDINGS)
def test_a_backward_of_embeddings_takes_no_more_launches_and_waits_for_nothing(most, options):
    given = tensors()
    found = counted(gradients(lambda e: F.embedding(given["t"], e, **options), given["e"]))
    assert found.launches <= most, found.kernels
    assert found.syncs == found.to_host == 0


OF_IMAGES = {
    "conv2d": (3, lambda x: F.conv2d(x, x[:, :, :3, :3].detach().contiguous())),
    "max_pool2d": (2, lambda x: F.max_pool2d(x, 2)),  # indices are checked
    "avg_pool2d": (1, lambda x: F.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d": (1, lambda x: F.adaptive_avg_pool2d(x, 2)),
    "batch_norm": (1, lambda x: F.batch_norm(x, None, None, training=True)),
    "group_norm": (1, lambda x: F.group_norm(x, 3)),
}


@pytest.mark.parametrize("most, call", OF_IMAGES.values(), ids=OF_IMAGES)
def test_a_backward_of_images_takes_no_more_launches_and_waits_for_nothing(most, call):
    found = counted(gradients(call, tensors()["image"]))
    assert found.launches <= most, found.kernels
    assert found.syncs == found.to_host == 0


def test_a_training_step_of_a_network_of_convolutions_waits_for_nothing():
    given = tensors()
    layers = [
        dovetail.nn.Conv2d(3, 4, 3, padding=1),
        dovetail.nn.BatchNorm2d(4),
        dovetail.nn.ReLU(),
        dovetail.nn.MaxPool2d(2),
        dovetail.nn.Flatten(),
        dovetail.nn.Linear(4 * 4 * 4, 10),
    ]
    network = dovetail.nn.Sequential(*layers).to("cuda")
    rule = dovetail.optim.Adam(network.parameters())

    def step():
        rule.zero_grad()
        F.cross_entropy(network(given["image"]), given["t"][:4]).backward()
        rule.step()

    step()
    found = counted(step)
    assert found.syncs == found.to_host == 0
    assert found.launches <= 32, found.kernels


def step_of(optimizer, **options):
    """Return a training step of a network of two layers, forward, backward and update."""
    given = tensors()
    layers = [dovetail.nn.Linear(64, 64), dovetail.nn.ReLU(), dovetail.nn.Linear(64, 10)]
    network = dovetail.nn.Sequential(*layers).to("cuda")
    rule = optimizer(network.parameters(), **options)

    def step():
        rule.zero_grad()
        F.cross_entropy(network(given["x"]), given["t"]).backward()
        rule.step()

    step()
    return step


def test_a_training_step_waits_for_nothing_and_takes_19_launches():
    found = counted(step_of(dovetail.optim.SGD, lr=0.1, momentum=0.9))
    assert found.launches <= 19, found.kernels
    assert found.syncs == found.to_host == 0


@pytest.mark.parametrize("optimizer", [dovetail.optim.Adam, dovetail.optim.AdamW])
def test_a_step_of_adam_waits_for_nothing_and_takes_one_launch_for_all_parameters(optimizer):
    found = counted(step_of(optimizer))
    assert found.launches <= 19, found.kernels
    assert found.kernels.count("dovetail_adam") == 1
    assert found.syncs == found.to_host == 0
