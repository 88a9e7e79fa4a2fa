"""Random numbers on device ``dask``: a seed for each chunk."""

from __future__ import annotations

import pickle

import dask
import numpy as np

import dovetail
from dovetail.nn import functional as F


def drawn():
    """Return numbers of every kind."""
    generator = dovetail.Generator("dask").manual_seed(7)
    return [
        dovetail.randn(400, 300, device="dask", generator=generator),
        dovetail.rand(5, device="dask", generator=generator),
        dovetail.randint(0, 9, (50,), device="dask", generator=generator),
        dovetail.randperm(20, device="dask", generator=generator),
        dovetail.empty(30, device="dask").bernoulli_(0.3, generator=generator),
    ]


def values(tensors):
    return [each.cpu().numpy() for each in tensors]


def test_a_seed_gives_the_same_numbers_whoever_computes_them_and_how_often():
    with dask.config.set({"array.chunk-size": "64kiB"}):
        first, second = drawn(), drawn()
        assert first[0].array.npartitions > 4
        threads, again = values(first), values(first)
        with dask.config.set(scheduler="synchronous"):
            alone = values(second)
    for a, b, c in zip(threads, again, alone, strict=True):
        assert (a == b).all() and (a == c).all()
    assert sorted(threads[3]) == list(range(20))


def test_chunks_and_draws_differ():
    with dask.config.set({"array.chunk-size": "64kiB"}):
        generator = dovetail.Generator("dask").manual_seed(1)
        x = dovetail.randn(400, 300, device="dask", generator=generator)
        y = dovetail.randn(400, 300, device="dask", generator=generator)
        chunks = [block.compute()[:50, :50] for block in x.array.blocks.ravel()]
    assert len({chunk.tobytes() for chunk in chunks}) == len(chunks) > 4
    assert not (x == y).any()
    assert abs(float(x.mean())) < 0.02 and abs(float(x.std()) - 1) < 0.02
    assert abs(float((x * y).mean())) < 0.02


def test_manual_seed_sets_the_default_generator():
    made = []
    for _ in range(2):
        dovetail.manual_seed(3)
        made.append(dovetail.randn(4, device="dask").tolist())
    dovetail.manual_seed(4)
    assert made[0] == made[1] != dovetail.randn(4, device="dask").tolist()


def test_a_generator_goes_on_where_its_state_was_taken():
    generator = dovetail.Generator("dask").manual_seed(5)
    dovetail.rand(3, device="dask", generator=generator)
    state, copy = generator.get_state(), pickle.loads(pickle.dumps(generator))
    expected = dovetail.rand(3, device="dask", generator=generator).tolist()
    assert dovetail.rand(3, device="dask", generator=copy).tolist() == expected
    assert dovetail.rand(3, device="dask", generator=generator).tolist() != expected
    generator.set_state(state)
    assert dovetail.rand(3, device="dask", generator=generator).tolist() == expected


def test_dropout_keeps_the_same_elements_in_forward_and_backward():
    x = dovetail.ones(100, 10, device="dask", requires_grad=True)
    y = F.dropout(x, 0.4)
    y.sum().backward()
    kept = y.detach().cpu().numpy()
    assert (kept == x.grad.cpu().numpy()).all()
    assert set(np.unique(kept)) == {0, np.float32(1 / 0.6)}


def test_a_layer_on_dask_starts_from_the_numbers_of_the_cpu_it_was_made_on():
    dovetail.manual_seed(0)
    here = dovetail.nn.Linear(3, 2)
    there = dovetail.nn.Linear(3, 2).to("dask")
    there.load_state_dict(here.state_dict())
    assert there.weight.device.type == "dask"
    assert (there.weight.cpu() == here.weight).all()
