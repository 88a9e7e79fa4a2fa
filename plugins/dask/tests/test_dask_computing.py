"""When lazy tensors are computed: together, once a step, again in backward, on a cluster."""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import pytest

import dovetail
from dovetail.nn import functional as F


class Reads:
    """Notes how often chunks are read, and how many are held at once."""

    def __init__(self):
        self.count, self.most, self._read = 0, 0, []

    def __call__(self, block_info=None):
        (start, stop), (_, columns) = block_info[None]["array-location"]
        chunk = np.random.default_rng(start).standard_normal((stop - start, columns))
        self._read = [each for each in self._read if each() is not None]
        self._read.append(weakref.ref(chunk))
        self.count += 1
        self.most = max(self.most, len(self._read))
        return chunk


def read(block_info=None):
    """Return a chunk."""
    return Reads()(block_info=block_info)


def source(rows=64, columns=5, chunk=4, function=read):
    """Return data that is made chunk by chunk."""
    chunks = ((chunk,) * (rows // chunk), (columns,))
    return da.map_blocks(function, chunks=chunks, dtype=float, meta=np.empty((0, 0)))


def gradient(x, y, over):
    """Return the lazy loss and gradient of least squares, with what is over a size recomputed."""
    w = dovetail.linspace(-1, 1, x.shape[1], dtype=dovetail.float64).to("dask").requires_grad_()
    with dovetail.dask.recompute(over):
        loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    return loss, w.grad


def test_values_of_one_call_share_what_they_need():
    reads = Reads()
    x = dovetail.dask.from_dask(source(function=reads))
    loss, grad = gradient(x, dovetail.dask.from_dask(da.ones(64, chunks=4)), "1GiB")
    with dask.config.set(scheduler="synchronous"):
        computed = dovetail.dask.compute({"loss": loss, "grads": [grad]}, 5)
    assert reads.count == 16
    assert computed[1] == 5
    host = source().compute()
    w = np.linspace(-1, 1, 5)
    away = host @ w - 1
    assert computed[0]["loss"].is_cpu
    np.testing.assert_allclose(computed[0]["loss"].item(), (away**2).mean())
    np.testing.assert_allclose(computed[0]["grads"][0].numpy(), 2 * host.T @ away / 64)


def test_what_was_saved_is_read_again_in_the_place_of_being_held():
    y, found = dovetail.dask.from_dask(da.ones(64, chunks=4)), []
    for over in ("1GiB", "1kiB"):
        reads = Reads()
        x = dovetail.dask.from_dask(source(function=reads))
        w = dovetail.ones(5, dtype=dovetail.float64, device="dask").requires_grad_()
        with dovetail.dask.recompute(over):
            loss = ((x @ w - y) ** 2).mean().log()  # its gradient needs all of the loss first
        loss.backward()
        with dask.config.set(scheduler="synchronous"):
            grad = dovetail.dask.compute(w.grad)
        found.append((reads.count, reads.most, grad.tolist()))
    held, again = found
    assert held[:2] == (16, 16)
    assert again[0] == 32 and again[1] < 8
    np.testing.assert_allclose(held[2], again[2], rtol=1e-13)


def test_what_is_no_number_of_bytes_is_refused():
    with pytest.raises(ValueError, match="byte unit"):
        dovetail.dask.recompute(over="much")
    with pytest.raises(ValueError, match="over is a number of bytes, 0 or more, but is -1"):
        dovetail.dask.recompute(over=-1)


class Pair(NamedTuple):
    """A tuple of the program's own."""

    loss: dovetail.Tensor
    step: int


def test_what_is_computed_comes_back_in_the_containers_it_was_given_in():
    x = dovetail.ones(3, 2, device="dask")
    pair, best = dovetail.dask.compute(Pair(x.sum(), 5), x.topk(1))
    assert (type(pair), pair.loss.item(), pair.step) == (Pair, 6, 5)
    assert best.values.tolist() == [[1.0]] * 3 and best.values.is_cpu


def test_what_can_hold_no_result_is_refused():
    with pytest.raises(TypeError, match=r"persist takes tensors, modules.*, not generator"):
        dovetail.dask.persist(each for each in [dovetail.ones(2, device="dask")])


def trained(device, steps=4):
    """Return what a small network has learned, and how many tasks its weight depends on."""
    dovetail.manual_seed(0)
    model = dovetail.nn.Sequential(
        dovetail.nn.Linear(5, 8), dovetail.nn.Tanh(), dovetail.nn.Linear(8, 3)
    ).double()
    array = source()
    x, labels = dovetail.tensor(array.compute()), dovetail.arange(64) % 3
    if device == "dask":
        model = model.to(device)
        x = dovetail.dask.from_dask(array)
        labels = dovetail.dask.from_dask(da.from_array(labels.numpy(), chunks=4))
    optimizer = dovetail.optim.Adam(model.parameters(), lr=0.05)
    tasks = []
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()
        if device == "dask":
            dovetail.dask.persist(model, optimizer)
            tasks.append(len(model[0].weight.array.__dask_graph__()))
    return [p.detach().cpu().numpy() for p in model.parameters()], tasks


def test_a_network_learns_what_it_learns_on_the_cpu_and_its_graph_does_not_grow():
    with dask.config.set(scheduler="synchronous"):
        lazy, tasks = trained("dask")
    here, _ = trained("cpu")
    assert tasks == [1] * 4
    for own, expected in zip(lazy, here, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-12)


def test_persisted_tensors_still_share_memory_with_their_views():
    x = dovetail.dask.from_dask(da.zeros((4, 2), chunks=2))
    row = x[1]
    dovetail.dask.persist(x)
    x += 1
    row[0] = 5
    assert (x.tolist(), row.tolist()) == ([[1, 1], [5, 1], [1, 1], [1, 1]], [5, 1])


def test_the_tasks_are_drawn(monkeypatch):
    drawn = []
    monkeypatch.setattr(dask, "visualize", lambda *args, **kwargs: drawn.append((args, kwargs)))
    x = dovetail.ones(3, device="dask")
    dovetail.dask.visualize([x, x + 1], filename="tasks.svg")
    ((arrays, options),) = drawn
    assert len(arrays) == 2 and all(isinstance(each, da.Array) for each in arrays)
    assert options == {"filename": "tasks.svg", "optimize_graph": False}


def test_the_bar_of_dask_shows_progress(capsys):
    from dask.diagnostics import ProgressBar

    with ProgressBar():
        dovetail.dask.compute(dovetail.ones(3, device="dask") + 1)
    assert "100% Completed" in capsys.readouterr().out


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own."""
    distributed = pytest.importorskip("distributed", reason="workers are those of distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GiB"
    ) as started:
        yield started


def test_a_cluster_computes_the_same(cluster):
    from distributed import Client

    array = da.random.default_rng(0).standard_normal((64, 5), chunks=(4, 5))
    x, y = dovetail.dask.from_dask(array), dovetail.dask.from_dask(da.ones(64, chunks=4))
    loss, grad = gradient(x, y, "1kiB")
    with dask.config.set(scheduler="synchronous"):
        alone = dovetail.dask.compute(loss, grad)
    with Client(cluster):
        several = dovetail.dask.compute(loss, grad)
    # BLAS may round otherwise where chunks that came over a wire are aligned otherwise.
    np.testing.assert_allclose(several[0].item(), alone[0].item(), rtol=1e-13)
    np.testing.assert_allclose(several[1].tolist(), alone[1].tolist(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")  # of no elements
@pytest.mark.parametrize(
    "infinite",
    [
        lambda x: x.log(),
        lambda x: x.log() - x.log(),
        lambda x: 0 * (1 / x),
        lambda x: (x.log() * x).sum(),
        lambda x: x.log() @ x,
        lambda x: (1 / x).mean(0),
        lambda x: dovetail.zeros(0, device="dask").var(),
    ],
)
def test_what_is_infinite_or_no_number_is_computed_without_a_warning(
    infinite: Callable[[Any], Any],
) -> None:
    zeros = dovetail.zeros(4, 4, device="dask")
    assert not infinite(zeros).isfinite().all()
    assert not dovetail.dask.compute(infinite(zeros)).isfinite().all()
    values = infinite(zeros)
    dovetail.dask.persist(values)
    assert not values.cpu().isfinite().all()


def test_an_array_that_only_others_were_made_of_is_freed() -> None:
    x, made = dovetail.rand(4, 2, device="dask"), []
    for operator in (
        lambda v: v.sin(),
        lambda v: v.sort(0).values,
        lambda v: F.layer_norm(v, (2,)),
        lambda v: v.cumsum(0),
        lambda v: v.index_add(0, dovetail.tensor([0], device="dask"), v[:1]),
    ):
        y = operator(x + 1)
        made.append(weakref.ref(y.array))
        result = operator(y)
        del y
        assert made[-1]() is None, operator
        assert result.cpu().shape == (4, 2)


def test_the_garbage_of_graphs_is_collected_after_a_slice_too():
    """Dask stops the collector for good if it was so when Dask was imported."""
    program = """
import gc
import dovetail
x = dovetail.ones(4, device="dask")
assert x[1:].flip(0).tolist() == [1.0] * 3
assert gc.isenabled()
assert gc.get_threshold()[0] > 0
"""
    subprocess.run([sys.executable, "-c", program], check=True)
