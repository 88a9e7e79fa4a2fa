"""Pooling and batch normalization give on CUDA what they give on the CPU, to first order."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail
import dovetail.nn.functional as F
import dovetail_cuda

REASON = dovetail_cuda.unavailable_because()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"cuda is unavailable: {REASON}")

IMAGES = (2, 3, 7, 6)
CALLS = {
    "max_pool1d": ((2, 3, 9), lambda x: F.max_pool1d(x, 3, 2, 1)),
    "max_pool2d": (IMAGES, lambda x: F.max_pool2d(x, 2, return_indices=True)),
    "max_pool2d of windows that overlap": (
        IMAGES,
        lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    ),
    "max_pool2d of part of a window": (
        IMAGES,
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
    ),
    "max_pool2d of two sizes": (
        IMAGES,
        lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 0), return_indices=True),
    ),
    "max_pool2d of elements apart": (IMAGES, lambda x: F.max_pool2d(x, 2, 1, 1, 2)),
    "max_pool2d of what is not contiguous": (
        IMAGES,
        lambda x: F.max_pool2d(x.transpose(2, 3), 2, return_indices=True),
    ),
    "max_pool3d": ((2, 2, 5, 6, 4), lambda x: F.max_pool3d(x, 2, 2, 1, return_indices=True)),
    "max_unpool2d": (
        IMAGES,
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(7, 6)),
    ),
    "avg_pool1d": ((2, 3, 9), lambda x: F.avg_pool1d(x, 3, 2, 1)),
    "avg_pool2d": (IMAGES, lambda x: F.avg_pool2d(x, 2)),
    "avg_pool2d with padding": (IMAGES, lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "avg_pool2d of part of a window": (IMAGES, lambda x: F.avg_pool2d(x, 3, 2, 1, True)),
    "avg_pool2d without counting padding": (
        IMAGES,
        lambda x: F.avg_pool2d(x, 3, 2, 1, True, False),
    ),
    "avg_pool2d by another divisor": (IMAGES, lambda x: F.avg_pool2d(x, 3, 2, 1, True, True, 3)),
    "avg_pool3d": ((2, 2, 5, 6, 4), lambda x: F.avg_pool3d(x, 2, 1, 1)),
    "adaptive_avg_pool2d": (IMAGES, lambda x: F.adaptive_avg_pool2d(x, (4, 5))),
    "adaptive_avg_pool2d to more": (IMAGES, lambda x: F.adaptive_avg_pool2d(x, (9, 2))),
    "adaptive_avg_pool3d": ((2, 2, 5, 6, 4), lambda x: F.adaptive_avg_pool3d(x, 2)),
    "batch_norm": (IMAGES, lambda x: F.batch_norm(x, None, None, training=True)),
    "batch_norm of a matrix": ((9, 4), lambda x: F.batch_norm(x, None, None, training=True)),
    "batch_norm with its own parameters": (
        IMAGES,
        lambda x: F.batch_norm(
            x, x[0, :, 0, 0].detach(), x[0, :, 1, 0].detach() ** 2, x[0, :, 0, 1], x[0, :, 1, 1]
        ),
    ),
}
CONVOLUTIONS = {
    "conv1d": ((2, 3, 9), (4, 3, 3), F.conv1d, {"padding": 1}),
    "conv2d": (IMAGES, (5, 3, 3, 3), F.conv2d, {"padding": 1}),
    "conv2d of a batch of one": ((1, 3, 7, 6), (5, 3, 3, 3), F.conv2d, {}),
    "conv2d with steps, apart": (
        IMAGES,
        (5, 3, 3, 2),
        F.conv2d,
        {"stride": (2, 1), "dilation": (1, 2), "padding": (2, 1)},
    ),
    "conv2d in groups": ((2, 6, 7, 6), (4, 3, 3, 3), F.conv2d, {"groups": 2}),
    "conv2d of each channel": ((2, 6, 7, 6), (12, 1, 3, 3), F.conv2d, {"groups": 6}),
    "conv2d of many channels": ((3, 2, 3, 3), (9, 2, 2, 2), F.conv2d, {}),
    "conv2d of points": (IMAGES, (5, 3, 1, 1), F.conv2d, {"stride": 2}),
    "conv3d": ((2, 2, 5, 6, 4), (3, 2, 2, 3, 2), F.conv3d, {"stride": 2, "padding": 1}),
    "conv_transpose2d": (
        IMAGES,
        (3, 4, 3, 3),
        F.conv_transpose2d,
        {"stride": 2, "padding": 1, "output_padding": 1},
    ),
    "conv_transpose2d in groups": (
        (2, 6, 4, 4),
        (6, 2, 3, 3),
        F.conv_transpose2d,
        {"groups": 3, "dilation": 2},
    ),
}
TOLERANCES = {
    dovetail.float64: 1e-12,
    dovetail.float32: 1e-5,
    dovetail.float16: 2e-2,
    dovetail.bfloat16: 1e-1,
}


def of_both(call, x):
    """Return what a call gives on the CPU and on CUDA, with the gradient of its first result."""
    for device in ("cpu", "cuda"):
        given = x.to(device).detach().requires_grad_()
        results = call(given)
        results = results if isinstance(results, tuple) else (results,)
        dovetail.manual_seed(1)
        weights = dovetail.randn(results[0].shape).to(x.dtype).to(device)
        (grad,) = dovetail.autograd.grad(results[0], given, weights)
        yield [each.detach().cpu() for each in (*results, grad)]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(("shape", "call"), CALLS.values(), ids=CALLS)
def test_results_and_gradients_are_those_of_the_cpu(shape, call, dtype):
    dovetail.manual_seed(0)
    on_cpu, on_cuda = of_both(call, dovetail.randn(shape).to(dtype))
    for expected, found in zip(on_cpu, on_cuda, strict=True):
        assert found.dtype == expected.dtype
        assert found.stride() == expected.stride()
        near = TOLERANCES[dtype]
        wide = [each.double().numpy() for each in (found, expected)]
        np.testing.assert_allclose(*wide, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(
    ("shape", "of_weight", "call", "options"), CONVOLUTIONS.values(), ids=CONVOLUTIONS
)
def test_convolutions_and_their_gradients_are_those_of_the_cpu(
    shape, of_weight, call, options, dtype
):
    dovetail.manual_seed(0)
    # Whole numbers: sums in any order are the same.
    given = [dovetail.randint(-2, 3, each).to(dtype) for each in (shape, of_weight)]
    found = []
    for device in ("cpu", "cuda"):
        x, weight = [each.to(device).requires_grad_() for each in given]
        channels = of_weight[1] * options.get("groups", 1)
        if call is not F.conv_transpose2d:
            channels = of_weight[0]
        bias = dovetail.ones(channels, dtype=dtype, device=device, requires_grad=True)
        made = call(x, weight, bias, **options)
        grads = dovetail.autograd.grad(made.sum(), (x, weight, bias))
        found.append([each.detach().cpu() for each in (made, *grads)])
    for on_cpu, on_cuda in zip(*found, strict=True):
        assert on_cuda.stride() == on_cpu.stride()
        assert on_cuda.tolist() == on_cpu.tolist()


def test_nan_is_the_greatest_and_of_equal_ones_the_first_is_found():
    x = dovetail.full((1, 1, 4, 4), -float("inf"))
    x[0, 0, 1, 1] = float("nan")
    on_cpu, on_cuda = of_both(lambda x: F.max_pool2d(x, 2, 1, 1, return_indices=True), x)
    assert on_cuda[1].tolist() == on_cpu[1].tolist()
    assert on_cuda[0].isnan().tolist() == on_cpu[0].isnan().tolist()


@pytest.mark.parametrize("training", [True, False])
def test_running_statistics_follow_the_batch(training):
    dovetail.manual_seed(0)
    x = dovetail.randn(IMAGES)
    layers = [dovetail.nn.BatchNorm2d(3).to(each).train(training) for each in ("cpu", "cuda")]
    for layer, device in zip(layers, ("cpu", "cuda"), strict=True):
        layer(x.to(device))
    for expected, found in zip(*[layer.buffers() for layer in layers], strict=True):
        np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)


def test_a_place_that_an_image_has_not_is_an_error_when_the_device_is_waited_for():
    values = dovetail.ones(1, 1, 1, 1, device="cuda")
    places = dovetail.full((1, 1, 1, 1), 100, dtype=dovetail.int64, device="cuda")
    F.max_unpool2d(values, places, 2)
    with pytest.raises(
        IndexError, match=r"Found an invalid max index: 100 \(output volumes have 4"
    ):
        dovetail.cuda.synchronize()
