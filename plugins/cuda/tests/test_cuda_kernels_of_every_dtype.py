"""Every kernel of the plugin in every dtype that it takes, beside the cpu's results. In strict mode
of the emulator NVIDIA's compiler gets each of them.
"""

from __future__ import annotations

import pytest

import dovetail
import dovetail.nn.functional as F
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")

DTYPES = [dovetail.float16, dovetail.bfloat16, dovetail.float32, dovetail.float64]
TOLERANCES = {dovetail.float16: 2e-2, dovetail.bfloat16: 1e-1, dovetail.float32: 1e-4}

OF_IMAGES = {
    "batch_norm": lambda x: F.batch_norm(x, None, None, x[0, :, 0, 0], x[0, :, 0, 1], True),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d that overlaps": lambda x: F.max_pool2d(x, 3, 1, 1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    "group_norm": lambda x: F.group_norm(x, x.shape[1], x[0, :, 0, 0], x[0, :, 0, 1]),
    "group_norm of one group": lambda x: F.group_norm(x, 1),
    "group_norm of channels last": lambda x: F.group_norm(x.mT, 1, x[0, :, 0, 0]),
    "conv2d": lambda x: F.conv2d(x, x[:, :, :3, :3], padding=1),
}
OF_ROWS = {
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "softmax": lambda x: x.softmax(1),
    "softmax of columns": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(1),
    "cross_entropy": lambda x: F.cross_entropy(x, dovetail.tensor([1, 0, 4], device=x.device)),
    "layer_norm": lambda x: F.layer_norm(x, (5,), x[0], x[1]),
    "remainder": lambda x: x % 0.7,
    "floor_divide": lambda x: x.detach() // 0.7,
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(0),
    "scatter of the greatest": lambda x: x.scatter_reduce(1, places(x), x.detach(), "amax"),
    "scatter of the least": lambda x: x.scatter_reduce(1, places(x), x.detach(), "amin"),
    "scatter of products": lambda x: x.scatter_reduce(1, places(x), x.detach(), "prod"),
    "scatter_add": lambda x: x.scatter_add(1, places(x), x),
    "scatter": lambda x: x.scatter(1, places(x)[:, :1], x.detach()[:, 1:]),
    "scatter of a number": lambda x: x.scatter(0, places(x), 0.5),
    "scatter_add of a part": lambda x: x.scatter_add(0, places(x)[:2, :1], x.detach()[:, 1:]),
    "gather": lambda x: x.gather(1, places(x)),
    "gather of a part": lambda x: x.mT.gather(1, places(x)[:2, :3]),
    "topk": lambda x: x.topk(3)[0],
    "topk of columns": lambda x: x.mT.topk(3, 0, largest=False)[0],
    "sort": lambda x: x.sort(0, descending=True)[0],
    "argsort": lambda x: x.argsort(1),
    "kthvalue": lambda x: x.kthvalue(2)[0],
    "median": lambda x: x.median(1)[0],
    "take": lambda x: x.take(places(x)),
    "masked_scatter": lambda x: x.masked_scatter(places(x) > 1, x),
    "index_put": lambda x: x.index_put((places(x)[0, :2],), x[:2]),
    "index": lambda x: x[places(x)[0]],
    "embedding": lambda x: F.embedding(places(x), x),
    "dropout of nothing": lambda x: F.dropout(x, 0.0),
    "dropout of all": lambda x: F.dropout(x, 1.0),
}
OF_WIDE = {  # PyTorch has no half precision of these
    "cholesky": lambda x: dovetail.linalg.cholesky(
        x @ x.mT + dovetail.eye(3, dtype=x.dtype, device=x.device)
    ),
    **{
        name: lambda x, name=name: getattr(dovetail.special, name)(x.detach().abs())
        for name in (
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
            "i0",
            "i0e",
            "i1",
            "i1e",
        )
    },
    **{
        name: lambda x, name=name: getattr(dovetail.special, name)(x.detach(), 3)
        for name in (
            "chebyshev_polynomial_t",
            "chebyshev_polynomial_u",
            "hermite_polynomial_h",
            "hermite_polynomial_he",
            "laguerre_polynomial_l",
            "legendre_polynomial_p",
        )
    },
}
CALLS = {**OF_ROWS, **OF_IMAGES, **OF_WIDE}


def places(x):
    return dovetail.tensor([[0, 2, 2, 1, 0]], device=x.device).expand(3, 5).contiguous()


def found(name, dtype, device, turned=False):
    """Return what a call gives, and its gradient if it has one, on the host in float64."""
    shape = (2, 4, 6, 6) if name in OF_IMAGES else (3, 5)
    numbers = dovetail.arange(float(dovetail.Size(shape).numel()), dtype=dovetail.float64)
    values = ((numbers * 0.7391).sin() * 2 + 0.01).reshape(shape).to(dtype).to(device)
    if turned:
        values = values.mT.contiguous().mT
    x = values.requires_grad_()
    y = CALLS[name](x)
    results = [y]
    if y.requires_grad:
        (y * y).sum().backward()
        results.append(x.grad)
    assert all(each.device.type == device for each in results)
    return [each.detach().cpu().double() for each in results], y.dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_gives_what_the_cpu_gives(name, dtype):
    if name in OF_WIDE and dtype not in DTYPES[2:]:
        pytest.skip("it has no half precision")
    expected, wanted = found(name, dtype, "cpu")
    # Both run before one is looked at: in strict mode no value is right.
    outcomes = [found(name, dtype, "cuda", turned) for turned in (False, True)]
    tolerance = TOLERANCES.get(dtype, 1e-9)
    for results, given in outcomes:
        assert given == wanted
        for one, other in zip(results, expected, strict=True):
            dovetail.testing.assert_close(
                one, other, rtol=tolerance, atol=tolerance, equal_nan=True
            )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_a_step_gives_what_the_cpu_gives(kind, dtype):
    results = []
    for device in ("cpu", "cuda"):
        x = dovetail.linspace(-1, 1, 7, dtype=dovetail.float64).to(dtype).to(device)
        x.requires_grad_()
        options = {"momentum": 0.9} if kind == "SGD" else {"eps": 1e-3}
        optimizer = getattr(dovetail.optim, kind)([x], lr=0.1, **options)
        for _ in range(3):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
        results.append(x.detach().cpu().double())
    tolerance = TOLERANCES.get(dtype, 1e-9)
    dovetail.testing.assert_close(*results, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numbers_are_drawn_in_every_dtype(dtype):
    x = dovetail.empty(1000, dtype=dtype, device="cuda")
    assert 0.4 < x.uniform_().double().mean().item() < 0.6
    assert abs(x.normal_().double().mean().item()) < 0.15
    kept = F.dropout(dovetail.ones_like(x).requires_grad_(), 0.5)
    kept.sum().backward()
    assert 400 < (kept != 0).sum().item() < 600
    drawn = dovetail.poisson(dovetail.full_like(x, 3.0))
    assert drawn.dtype == dtype and 2.5 < drawn.double().mean().item() < 3.5
    if dtype in DTYPES[2:]:
        drawn = dovetail.binomial(dovetail.full_like(x, 10.0), dovetail.full_like(x, 0.5))
        assert drawn.dtype == dtype and 4.5 < drawn.double().mean().item() < 5.5
