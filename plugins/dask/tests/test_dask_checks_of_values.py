"""Values that an operator refuses: lazy ones when they are computed, by the error of the cpu."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest

import dovetail
from dovetail.nn import functional as F

ROWS = np.arange(20.0).reshape(5, 4)
ONES = np.ones((2, 4))
HALVES = np.full(4, 0.5)


def chunked(chunk):
    """Return a function that makes a lazy tensor in chunks of a size, or None: on the cpu."""

    def made(values):
        values = np.array(values)
        if chunk is None:
            return dovetail.tensor(values)
        return dovetail.dask.from_dask(da.from_array(values, chunks=chunk))

    return made


def gradient_of(loss, weight):
    weight.requires_grad_()
    loss(weight).backward()
    return weight.grad


def written(x, key):
    x[key] = 7.0
    return x


AT_A_ROW = {
    "x[i]": lambda t, i: t(ROWS)[t([0, i])],
    "x[:, i, j]": lambda t, i: t(ROWS.reshape(2, 5, 2))[:, t([0, i]), t([0, 1])],
    "x[i] = 7": lambda t, i: written(t(ROWS), t([0, i])),
    "take": lambda t, i: t(ROWS).take(t([0, 4 * i])),
    "put": lambda t, i: t(ROWS).put(t([0, 4 * i]), t([1.0, 2.0])),
    "index_put": lambda t, i: t(ROWS).index_put((t([0, i]),), t(ONES), accumulate=True),
    "take_along_dim": lambda t, i: dovetail.take_along_dim(t(ROWS), t([[0, i, 1, 1]]), 0),
    "index_fill": lambda t, i: t(ROWS).index_fill(0, t([0, i]), 7.0),
}
FROM_THE_FIRST = {
    "index_select": lambda t, i: t(ROWS).index_select(0, t([0, i])),
    "gather": lambda t, i: t(ROWS).gather(0, t([[0, i, 1, 1]])),
    "scatter": lambda t, i: t(ROWS).scatter(0, t([[0, i], [1, 1]]), t(ONES)),
    "scatter of a number": lambda t, i: t(ROWS).scatter(0, t([[0, i]]), 7.0),
    "scatter_add": lambda t, i: t(ROWS).scatter_add(0, t([[0, i], [1, 1]]), t(ONES)),
    "scatter_reduce": lambda t, i: t(ROWS).scatter_reduce(0, t([[0, i]]), t(ONES), "amax"),
    "index_add": lambda t, i: t(ROWS).index_add(0, t([0, i]), t(ONES)),
    "index_copy": lambda t, i: t(ROWS).index_copy(0, t([0, i]), t(ONES)),
    "index_reduce": lambda t, i: t(ROWS).index_reduce(0, t([0, i]), t(ONES), "amax"),
    "embedding": lambda t, i: F.embedding(t([0, i]), t(ROWS)),
    "the gradient of embedding": lambda t, i: gradient_of(
        lambda w: F.embedding(t([0, i]), w).sum(), t(ROWS)
    ),
    "nll_loss": lambda t, i: F.nll_loss(t(ROWS.T), t([0, i, 1, 1])),
    "cross_entropy": lambda t, i: F.cross_entropy(t(ROWS.T), t([0, i, 1, 1])),
    "the gradient of cross_entropy": lambda t, i: gradient_of(
        lambda x: F.cross_entropy(x, t([0, i, 1, 1])), t(ROWS.T)
    ),
    "segment_reduce by lengths": lambda t, i: dovetail.segment_reduce(
        t(ROWS[0]), "sum", lengths=t([4 - i, i])
    ),
    "segment_reduce by offsets": lambda t, i: dovetail.segment_reduce(
        t(ROWS[:, 0]), "sum", offsets=t([0, i, 4])
    ),
}
OF_A_CHANCE = {
    "bernoulli": lambda t, p: dovetail.bernoulli(t([0.0, p])),
    "bernoulli_": lambda t, p: t([0.0, 0.0]).bernoulli_(t([0.0, p])),
    "binary_cross_entropy of inputs": lambda t, p: F.binary_cross_entropy(
        t([0.5, p]), t([0.0, 1.0])
    ),
    "binary_cross_entropy of targets": lambda t, p: F.binary_cross_entropy(
        t([0.5, 0.5]), t([0.0, p])
    ),
    "quantile": lambda t, p: t(ROWS).quantile(t([0.5, p])),
    "nanquantile": lambda t, p: t(ROWS[:1, :1]).nanquantile(t([0.5, p])),
}
NOT_NEGATIVE = {
    "normal": lambda t, p: dovetail.normal(0.0, t([0.0, p])),
    "normal around means": lambda t, p: dovetail.normal(t([1.0, 2.0]), t([0.0, p])),
    "poisson": lambda t, p: dovetail.poisson(t([0.0, p])),
    "multinomial": lambda t, p: dovetail.multinomial(t([[1.0, 0.0], [p, 1.0]]), 1),
}
CASES = [
    *((AT_A_ROW, name, wrong, right) for name in AT_A_ROW for wrong, right in ((5, 4), (-6, -5))),
    *((FROM_THE_FIRST, name, bad, 3) for name in FROM_THE_FIRST for bad in (5, -1, 99)),
    *((OF_A_CHANCE, name, bad, 0.0) for name in OF_A_CHANCE for bad in (-0.5, 1.5, np.nan)),
    *((NOT_NEGATIVE, name, bad, 0.0) for name in NOT_NEGATIVE for bad in (-0.5, np.nan)),
]


@pytest.mark.parametrize("chunk", [1, 2, -1])
@pytest.mark.parametrize(
    ("calls", "name", "wrong", "right"), CASES, ids=[f"{case[1]}, {case[2]}" for case in CASES]
)
def test_a_wrong_value_is_refused_when_it_is_computed_by_the_error_of_the_cpu(
    calls, name, wrong, right, chunk
):
    with pytest.raises((IndexError, RuntimeError)) as refused:
        calls[name](chunked(None), wrong)
    made = calls[name](chunked(chunk), wrong)
    with pytest.raises(type(refused.value)) as refused_later:
        made.cpu()
    assert str(refused_later.value) == str(refused.value)
    expected = calls[name](chunked(None), right)
    np.testing.assert_allclose(calls[name](chunked(chunk), right).cpu(), expected, rtol=1e-6)


@pytest.mark.parametrize("index", [6, -7])
@pytest.mark.parametrize("shape", [(2, 3), (6,), (1, 6)])
def test_put_refuses_what_is_no_place_in_any_shape(shape, index):
    made = chunked(2)(np.zeros(shape)).put(chunked(1)([index]), chunked(1)([1.0]))
    with pytest.raises(IndexError, match=rf"tried to access index {index} on a tensor of 6 elem"):
        made.tolist()


def test_too_few_elements_for_a_mask_are_refused_when_they_are_computed():
    mask = chunked(2)([True, True, True, False])
    assert chunked(2)(HALVES).masked_scatter(mask, chunked(1)([1.0, 2.0, 3.0])).tolist() == [
        *(1.0, 2.0, 3.0),
        0.5,
    ]
    for source in ([1.0, 2.0], []):
        made = chunked(2)(HALVES).masked_scatter(mask, chunked(1)(source))
        with pytest.raises(RuntimeError, match=f"source has only {len(source)}"):
            made.tolist()


def test_a_wrong_value_in_a_chunk_that_is_not_computed_is_not_looked_at():
    losses = F.binary_cross_entropy(
        chunked(2)(HALVES), chunked(2)([0.0, 1.0, 1.0, 5.0]), reduction="none"
    )
    assert len(losses[:2].tolist()) == 2
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        losses.tolist()


def test_an_error_of_a_value_comes_from_a_process_of_its_own():
    made = F.cross_entropy(chunked(2)(ROWS.T), chunked(2)([0, -1, 1, 1]))
    with (
        dask.config.set(scheduler="processes", num_workers=1),
        pytest.raises(IndexError, match=r"Target -1 is out of bounds\. There are 5 classes"),
    ):
        made.item()


@pytest.mark.parametrize("write", [lambda v: v.add_(1), lambda v: v[0].add_(1)])
def test_a_write_to_a_view_that_shows_an_element_twice_is_refused(write):
    x = chunked(2)(np.arange(4.0))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(x.as_strided((2, 2), (0, 1)))
    with pytest.raises(
        RuntimeError, match=r"result of aten\.as_strided\.default, refers to a sing"
    ):
        write(x.as_strided((2, 3), (1, 1)))
    assert x.tolist() == [0, 1, 2, 3]
    x.as_strided((2, 2), (1, 2)).add_(1)
    assert x.tolist() == [1, 2, 3, 4]
    chunked(1)(np.zeros(8)).as_strided((2, 3), (3, 2)).add_(1)  # across each other, never at one
