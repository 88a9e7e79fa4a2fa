"""Programs as users write them, of sorting, linear algebra, convolution and training, give the
values and the gradients of the CPU, whatever the chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import dask.array as da
import numpy as np
import pytest

import dovetail
from dovetail import fft, linalg
from dovetail.func import grad, hessian, jacrev, jvp, vmap
from dovetail.nn import functional as F

RNG = np.random.default_rng(0)
ROWS, COLUMNS, CLASSES = 12, 6, 3
TABLE, TARGETS = RNG.standard_normal((ROWS, COLUMNS)), RNG.standard_normal(ROWS)
WEIGHTS, LABELS = RNG.standard_normal((COLUMNS, CLASSES)), RNG.integers(0, CLASSES, ROWS)
TIES = RNG.integers(-2, 3, (ROWS, COLUMNS)).astype(float)
IMAGES, TAPS = RNG.standard_normal((4, 3, 8, 9)), RNG.standard_normal((5, 3, 3, 3))

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def program(*arrays: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Note a function as a program that is given tensors of `arrays`."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = function, arrays
        return function

    return note


def identity(x: Any) -> Any:
    return dovetail.eye(COLUMNS, dtype=x.dtype, device=x.device)


# -- linear algebra --------------------------------------------------------------------------------


@program(TABLE)
def principal_components(x: Any) -> Any:
    centred = x - x.mean(0)
    _, values, vectors = linalg.svd(centred, full_matrices=False)
    return (centred @ vectors.mT[:, :2]).abs(), values


@program(TABLE, TARGETS)
def ridge_regression(x: Any, y: Any) -> Any:
    return linalg.solve(x.mT @ x + identity(x) / 2, x.mT @ y)


@program(TABLE, TARGETS)
def least_squares(x: Any, y: Any) -> Any:
    return linalg.lstsq(x, y[:, None]).solution


@program(TABLE)
def whitening(x: Any) -> Any:
    centred = x - x.mean(0)
    values, vectors = linalg.eigh(centred.mT @ centred / ROWS)
    white = centred @ vectors @ values.rsqrt().diag()
    return white.mT @ white / ROWS, values


@program(TABLE)
def likelihood_of_a_normal_distribution(x: Any) -> Any:
    centred = x - x.mean(0)
    factor = linalg.cholesky(centred.mT @ centred / ROWS + identity(x) / 10)
    scaled = linalg.solve_triangular(factor, centred.mT, upper=False)
    return scaled.square().sum() / 2 + ROWS * factor.diagonal().log().sum()


@program(TABLE)
def multivariate_normal(x: Any) -> Any:
    covariance = x.mT @ x + identity(x)
    return dovetail.distributions.MultivariateNormal(x[0] * 0, covariance).log_prob(x)


@program(TABLE)
def factors(x: Any) -> Any:
    q, r = linalg.qr(x)
    p, lower, upper = linalg.lu(x[:COLUMNS])
    packed, pivots = linalg.lu_factor(x[:COLUMNS])
    return q @ q.mT, r.abs(), p @ lower @ upper, linalg.lu_solve(packed, pivots, x[COLUMNS:].mT)


@program(TABLE)
def determinants_and_inverses(x: Any) -> Any:
    square = x[:COLUMNS]
    return (
        *(linalg.slogdet(x.mT @ x)[1], linalg.det(square), linalg.inv(square), linalg.pinv(x)),
        *(linalg.matrix_exp(square / 5), linalg.matrix_power(square, 3)),
    )


@program(TABLE)
def iterations(x: Any) -> Any:
    square = x.mT @ x
    greatest = least = square[:, 0]
    for _ in range(4):
        greatest = square @ greatest
        greatest = greatest / greatest.norm()
        least = linalg.solve(square, least)
        least = least / linalg.vector_norm(least)
    return greatest @ square @ greatest, least @ square @ least


@program(TABLE)
def norms_of_matrices(x: Any) -> Any:
    return linalg.matrix_norm(x, "nuc"), linalg.matrix_norm(x, 2), linalg.cond(x)


@program(TABLE)
def products(x: Any) -> Any:
    return (
        *(dovetail.kron(x[:2], x[2:4]), linalg.multi_dot([x.mT, x, x.mT])),
        dovetail.tensordot(x.view(3, 4, 6), x.view(4, 3, 6), dims=([0, 1], [1, 0])),
        *(dovetail.block_diag(x[:2], x[2:3]), linalg.cross(x[:, :3], x[:, 3:])),
        dovetail.outer(x[:, 0], x[0]),
    )


@program(TABLE)
def complex_numbers(x: Any) -> Any:
    z = dovetail.complex(x[:, :3], x[:, 3:])
    eigenvalues = linalg.eigvals(x[:COLUMNS]).abs().sort().values
    return (z @ z.mH).real, z.abs(), z.angle(), eigenvalues, linalg.eigvalsh(z.mH @ z)


@program(TABLE)
def fourier_transforms(x: Any) -> Any:
    spectrum = fft.rfft(x, dim=0)
    convolved = fft.ifft(fft.fft(x[:, 0]) * fft.fft(x[:, 1])).real
    return spectrum.abs(), fft.irfft(spectrum * spectrum, n=ROWS, dim=0), convolved


@program(TABLE)
def covariances(x: Any) -> Any:
    return (
        *(dovetail.cov(x.mT), dovetail.corrcoef(x.mT), x.std(0), F.pdist(x[:5])),
        *(dovetail.cdist(x, x[:3], p=1.0), x.renorm(2, 0, 1.0)),
    )


# -- sorting and places ----------------------------------------------------------------------------


@program(TABLE, WEIGHTS)
def k_means(x: Any, _: Any) -> Any:
    centres = x[:CLASSES]
    for _ in range(3):
        nearest = dovetail.cdist(x, centres).argmin(1)
        sums = (centres * 0).index_add(0, nearest, x)
        counts = (centres[:, 0] * 0).index_add(0, nearest, dovetail.ones_like(x[:, 0]))
        centres = sums / counts.clamp_min(1)[:, None]
    return centres


@program(TABLE)
def nearest_neighbours(x: Any) -> Any:
    distances = dovetail.cdist(x, x) + 1e3 * dovetail.eye(ROWS, dtype=x.dtype, device=x.device)
    values, places = distances.topk(3, largest=False)
    return values, x[places].mean(1)


@program(TABLE)
def ranks(x: Any) -> Any:
    rank = x.argsort(0).argsort(0)
    return rank, x.sort(0).values.mean(1)[rank], x.sort(0, descending=True).values.cumsum(0)


@program(TABLE)
def sorting_by_keys(x: Any) -> Any:
    order = x[:, 1].argsort()
    order = order[x[order, 0].round().argsort(stable=True)]
    return x[order], x.take_along_dim(x.argsort(1), 1)


@program(TIES)
def equal_elements(x: Any) -> Any:
    by_column, by_row = x.sort(dim=0, stable=True), x.sort(dim=1, descending=True, stable=True)
    found, counts = x.detach().unique(return_counts=True)
    return (
        *(*by_column, *by_row, found, counts, x.detach().unique(dim=0), x.topk(3, 1).values),
        *(x.median(0).values, x.mode(1).values, x.kthvalue(2, 0).values),
    )


@program(TABLE)
def order_statistics(x: Any) -> Any:
    middle = x.median(0).values
    levels = dovetail.tensor([0.1, 0.5, 0.9], dtype=x.dtype, device=x.device)
    return (x - middle).abs().median(0).values, x.quantile(levels, dim=0), x.nanmedian()


@program(TABLE)
def histograms(x: Any) -> Any:
    edges = dovetail.linspace(-1, 1, 5, dtype=x.dtype, device=x.device)
    places = dovetail.bucketize(x, edges)
    counts = dovetail.bincount(places.flatten(), minlength=6)
    return places, counts, x.detach().histc(5, -2, 2), dovetail.searchsorted(x.sort(1).values, x)


@program(TABLE, LABELS)
def segments(x: Any, labels: Any) -> Any:
    zeros, places = x[:CLASSES] * 0, labels[:, None].expand(ROWS, COLUMNS)
    reduced = [
        zeros.scatter_reduce(0, places, x, how, include_self=False)
        for how in ("sum", "amax", "mean", "prod")
    ]
    return (*reduced, zeros.index_reduce(0, labels, x, "amin", include_self=False))


@program(TABLE)
def scans(x: Any) -> Any:
    return (
        *(x.cumsum(0), x.cumprod(1), x.cummax(0).values, x.cummin(1).indices, x.logcumsumexp(0)),
        *(x.flip(0).cumsum(0).flip(0), x.diff(dim=0, n=2), dovetail.trapezoid(x, dim=0)),
    )


@program(TABLE)
def masks(x: Any) -> Any:
    y = dovetail.where(x < -1, x.square(), x.masked_fill(x > 1, 0.0))
    return y, x.clamp(-0.5, 0.5), x.log().nan_to_num(), x[x[:, 0] > 0], x.masked_select(x > 0)


@program(TABLE)
def writes(x: Any) -> Any:
    y = x * 1
    y[2:5] *= 2
    y[:, 1] = y[:, 0]
    y[y > 1] = 0
    y[[0, 3], [1, 2]] = 7
    y.t()[4].add_(1)
    y[:, :3].sub_(y[:, 3:])
    return y, y.triu(1), y.diagonal()


# -- networks --------------------------------------------------------------------------------------


@program(TABLE)
def softmaxes(x: Any) -> Any:
    return x.softmax(0), x.log_softmax(0), x.logsumexp(0), F.softmin(x, 0), x.softmax(1)


@program(TABLE, LABELS, WEIGHTS)
def a_classifier(x: Any, labels: Any, weights: Any) -> Any:
    scores = x @ weights
    importance = dovetail.tensor([1.0, 2.0, 0.5], dtype=x.dtype, device=x.device)
    return (
        F.cross_entropy(scores, labels, weight=importance, label_smoothing=0.1),
        F.multi_margin_loss(scores, labels),
        scores.argmax(1).eq(labels).to(x.dtype).mean(),
    )


@program(TABLE, TARGETS)
def losses(x: Any, y: Any) -> Any:
    found = x[:, 0]
    return (
        *(F.huber_loss(found, y), F.gaussian_nll_loss(found, y, x[:, 1].exp())),
        F.kl_div(found.log_softmax(0), y.softmax(0), reduction="sum"),
        *(F.cosine_similarity(x[:, :3], x[:, 3:], 0), F.triplet_margin_loss(*x.split(4))),
        *(F.poisson_nll_loss(found, y.abs()), F.soft_margin_loss(found, y.sign())),
    )


@program(IMAGES, TAPS)
def a_convolutional_network(x: Any, taps: Any) -> Any:
    made = F.max_pool2d(F.relu(F.conv2d(x, taps, padding=1)), 2)
    return F.avg_pool2d(made, 2, ceil_mode=True), F.adaptive_avg_pool2d(made, 3)


@program(IMAGES, TAPS)
def convolutions(x: Any, taps: Any) -> Any:
    back = taps.transpose(0, 1)
    return (
        F.conv2d(x, taps, stride=2, padding=(1, 2), dilation=2),
        F.conv2d(x, taps[:3, :1], groups=3),
        F.conv_transpose2d(x, back, stride=2, padding=1, output_padding=1),
        F.conv1d(x[:, :, 0], taps[:, :, 0]),
        F.conv3d(x[None], taps[:4, None, :2].expand(4, 4, 2, 3, 3)),
    )


@program(IMAGES)
def windows(x: Any) -> Any:
    values, places = F.max_pool2d(x, 2, return_indices=True)
    return (
        *(F.max_unpool2d(values, places, 2, output_size=(8, 9)), F.adaptive_max_pool2d(x, (3, 2))),
        *(F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), F.fold(F.unfold(x, 2), (8, 9), 2)),
    )


@program(IMAGES)
def normalizations(x: Any) -> Any:
    return (
        *(F.batch_norm(x, None, None, training=True), F.group_norm(x, 3), F.instance_norm(x)),
        *(F.layer_norm(x, (8, 9)), F.normalize(x, dim=1)),
    )


@program(IMAGES)
def resized_images(x: Any) -> Any:
    return (
        F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
        *(F.interpolate(x, size=(5, 4), mode="bicubic"), F.pad(x, (1, 2, 2, 1), "reflect")),
        *(x.roll((2, -1), (2, 3)), x.rot90(1, (2, 3))),
    )


@program(TABLE)
def attention(x: Any) -> Any:
    q = x.view(2, 6, 6)
    mask = dovetail.ones(6, 6, dtype=dovetail.bool, device=x.device).tril()
    return (
        F.scaled_dot_product_attention(q, q, q, is_causal=True),
        F.scaled_dot_product_attention(q, q * 2, q, attn_mask=mask),
    )


@program(TABLE)
def a_recurrent_layer(x: Any) -> Any:
    layer = dovetail.nn.GRU(COLUMNS, 4, dtype=x.dtype, device="cpu").to(x.device)
    return layer(x.view(3, 4, COLUMNS))[0]


@program(TABLE, TARGETS)
def transforms(x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        return F.softplus(-(y * (x @ w))).mean()

    w = x[0]
    return (
        *(grad(loss)(w), hessian(loss)(w), jvp(loss, (w,), (x[1],))[1]),
        vmap(grad(lambda w, row: (row @ w).tanh()), (None, 0))(w, x),
        jacrev(lambda w: (x @ w).softmax(0))(w),
    )


@program(TABLE)
def a_penalty_on_gradients(x: Any) -> Any:
    (first,) = dovetail.autograd.grad((x.softmax(0) * x.cumsum(0)).sum(), x, create_graph=True)
    return first.square().sum()


# --------------------------------------------------------------------------------------------------


def outcome(name: str, tensors: list[Any]) -> list[Any]:
    """Return the results of a program, and the gradients of its tensors for weights of these."""
    leaves = [each.requires_grad_() for each in tensors if each.is_floating_point()]
    dovetail.manual_seed(0)
    results = PROGRAMS[name][0](*tensors)
    results = results if isinstance(results, tuple) else (results,)
    terms = [(each * each.detach().cos()).sum() for each in results if each.requires_grad]
    if terms:
        sum(terms).backward()
    shown = [*results, *[each.grad for each in leaves if each.grad is not None]]
    return [each.detach().cpu().numpy() for each in shown]


@pytest.mark.parametrize("chunks", [(5, 2), (3, -1)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_values_and_gradients_of_the_cpu(
    name: str, chunks: tuple[int, ...]
) -> None:
    arrays = PROGRAMS[name][1]
    expected = outcome(name, [dovetail.tensor(array) for array in arrays])
    lazy = [
        da.from_array(array, chunks=tuple([each for each, _ in zip(cycle(chunks), array.shape)]))
        for array in arrays
    ]
    found = outcome(name, [dovetail.dask.from_dask(array) for array in lazy])
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)
