"""Tensors on device ``dask``: made of Dask's arrays, computed later, with the chunks they have."""

from __future__ import annotations

import subprocess
import sys
from math import prod

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback

import dovetail
from dovetail.nn import functional as F


class Counted(Callback):
    """Counts the tasks that run."""

    def __init__(self):
        self.tasks = 0

    def _pretask(self, key, dsk, state):
        self.tasks += 1


@pytest.fixture(autouse=True)
def synchronous():
    """Let this thread compute: the arrays are small."""
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(array, chunks):
    """Return a tensor of an array, in chunks."""
    return dovetail.dask.from_dask(da.from_array(np.asarray(array), chunks=chunks))


def numbers(*shape, seed=0):
    """Return normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def test_a_tensor_of_a_dask_array_keeps_its_chunks_and_computes_nothing():
    with Counted() as counted:
        x = dovetail.dask.from_dask(da.ones((10, 4), chunks=(3, 2)))
        y = (x * 2 + 1).relu().sum(0)
    assert counted.tasks == 0
    assert (str(x.device), x.shape, x.dtype) == ("dask:0", (10, 4), dovetail.float64)
    assert x.array.chunks == ((3, 3, 3, 1), (2, 2))
    assert y.tolist() == [30.0] * 4


def test_what_has_a_value_in_python_computes_it():
    x = lazy([1.0, 2.0, 3.0], 2)
    assert x.sum().item() == 6
    assert bool((x > 0).all())
    assert float(x[1]) == 2
    assert repr(x) == "tensor([1., 2., 3.], device='dask:0', dtype=dovetail.float64)"
    assert x.cpu().numpy().tolist() == [1, 2, 3]


def test_chunks_of_unknown_sizes_are_refused_with_what_to_call():
    array = da.arange(10, chunks=5)
    selected = array[array > 3]
    with pytest.raises(ValueError, match=r"chunks of unknown sizes.*compute_chunk_sizes\(\) first"):
        dovetail.dask.from_dask(selected)
    selected.compute_chunk_sizes()
    assert dovetail.dask.from_dask(selected).tolist() == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("chunks", [((0, 0), (3,)), ((0, 0), (1, 2)), ((0,), (3,))])
def test_a_dimension_without_elements_may_have_several_chunks(chunks):
    x = dovetail.dask.from_dask(da.zeros((0, 3), chunks=chunks))
    y = lazy(np.zeros((1, 3)), (1, 3))[1:]
    w = lazy(np.ones(3), 3).requires_grad_()
    ((x + y) * w).sum().backward()
    assert (x * w).sum(0).tolist() == w.grad.tolist() == [0, 0, 0]


def test_what_is_no_dask_array_or_of_no_dtype_of_tensors_is_refused():
    with pytest.raises(TypeError, match=r"takes a dask\.array\.Array, not list\. Make one: "):
        dovetail.dask.from_dask([1, 2])
    with pytest.raises(TypeError, match=r"dask\.array has no dtype datetime64"):
        dovetail.dask.from_dask(da.from_array(np.zeros(2, "datetime64[s]")))


def test_a_zarr_store_is_read_chunk_by_chunk(tmp_path):
    zarr = pytest.importorskip("zarr", reason="stores are Zarr's")
    stored = zarr.open(tmp_path / "x.zarr", mode="w", shape=(6, 2), chunks=(2, 2), dtype="float32")
    stored[:] = np.arange(12).reshape(6, 2)
    x = dovetail.dask.from_zarr(tmp_path / "x.zarr")
    assert x.array.chunks == ((2, 2, 2), (2,))
    assert x.sum(0).tolist() == [30, 36]
    assert dovetail.dask.from_zarr(stored, chunks=(3, 2)).array.numblocks == (2, 1)


def test_an_elementwise_operator_is_one_task_for_each_chunk():
    x = dovetail.dask.from_dask(da.ones((8, 8), chunks=2))
    before = len(x.array.__dask_graph__())
    for operator in (F.gelu, dovetail.sigmoid, F.softplus, lambda x: dovetail.lerp(x, x, 0.5)):
        made = operator(x)
        assert made.array.chunks == x.array.chunks
        assert len(made.array.__dask_graph__()) == before + 16


PAIRS = np.array([[0, 1, 2, 0, 3], [2, 2, 1, 0, 0], [3, 0, 1, 3, 3]])
ROWS = np.array([5, 0, 5, 2])
CALLS = {
    "index_add": lambda x, i: x.index_add(0, i["rows"], i["values"]),
    "index_add of columns": lambda x, i: x.index_add(1, i["rows"][1:] % 4, i["columns"]),
    "scatter_add": lambda x, i: x.scatter_add(0, i["pairs"][:, :4], x[:3] * 2),
    "scatter_add along 1": lambda x, i: x.scatter_add(1, i["pairs"][:, :3], x[:3, :3]),
    "scatter": lambda x, i: x.scatter(0, i["places"], x[:2]),
    "scatter of a number": lambda x, i: x.scatter(1, i["pairs"][:, :2], 7.0),
    "sort": lambda x, i: dovetail.sort(x, 0),
    "stable sort": lambda x, i: dovetail.sort(x, dim=1, descending=True, stable=True),
    "argsort": lambda x, i: x.argsort(0),
    "topk": lambda x, i: x.topk(2, 0),
    "topk of the least": lambda x, i: x.topk(1, 1, largest=False),
    "kthvalue": lambda x, i: x.kthvalue(2, 0),
    "median": lambda x, i: x.median(0),
    "index_put": lambda x, i: x.index_put((i["rows"],), i["values"]),
    "index_put of points": lambda x, i: x.index_put((i["rows"], i["rows"] % 4), i["values"][:, 0]),
    "added index_put": lambda x, i: x.index_put((i["rows"],), i["values"], accumulate=True),
    "index_put of columns": lambda x, i: x.index_put((None, i["rows"] % 4), i["ones"]),
    "embedding": lambda x, i: F.embedding(i["pairs"], x),
    "index_select": lambda x, i: x.index_select(1, i["rows"] % 4),
    "indexing": lambda x, i: x[i["pairs"]],
    "indexing of points": lambda x, i: x[i["rows"], i["rows"] % 4],
    "indexing by a mask": lambda x, i: x[x > 0],
    "gather": lambda x, i: x.gather(0, i["pairs"][:, :4]),
    "take": lambda x, i: x.take(i["pairs"]),
    "cumsum": lambda x, i: x.cumsum(0),
    "cummax": lambda x, i: x.cummax(0),
    "softmax": lambda x, i: x.softmax(0),
    "log_softmax": lambda x, i: x.log_softmax(1),
    "logsumexp": lambda x, i: x.logsumexp(0),
    "variance": lambda x, i: x.var(0),
    "argmax": lambda x, i: x.argmax(),
    "product": lambda x, i: x.t() @ x,
    "cat": lambda x, i: dovetail.cat([x, x.flip(0)], 1),
    "roll": lambda x, i: x.roll(2, 0),
    "padding": lambda x, i: F.pad(x, (1, 2, 0, 1)),
    "steps": lambda x, i: x[1::2, ::3],
    "layer norm": lambda x, i: F.layer_norm(x, (4,)),
    "inverse": lambda x, i: dovetail.linalg.inv(x[:4]),
    "quantile": lambda x, i: dovetail.quantile(x, 0.3, dim=0),
    "masked fill": lambda x, i: x.masked_fill(x > 0, -1.0),
    "where": lambda x, i: dovetail.where(x > 0, x, -x),
    "unfold": lambda x, i: x.unfold(0, 3, 2),
    "triangle": lambda x, i: x.tril(-1),
    "diagonal": lambda x, i: x.diagonal(1),
}


@pytest.mark.parametrize("chunks", [2, (6, 1)], ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_an_operator_and_its_gradient_are_those_of_the_cpu_whatever_the_chunks(name, chunks):
    def run(make):
        x = make(numbers(6, 4), chunks).requires_grad_()
        given = {
            "rows": make(ROWS, 3),
            "pairs": make(PAIRS, 2),
            "places": make(np.array([[0, 1, 2, 3], [5, 4, 3, 2]]), (1, 4)),
            "values": make(numbers(4, 4, seed=1), (3, 2)),
            "columns": make(numbers(6, 3, seed=2), 2),
            "ones": make(np.ones((6, 4)), 4),
        }
        result = CALLS[name](x, given)
        results = result if isinstance(result, tuple) else (result,)
        values = [each for each in results if each.requires_grad]
        for value in values:
            (value * value.detach().cos()).sum().backward(retain_graph=True)
        gradients = [x.grad] if values else []
        return [each.detach().cpu().numpy() for each in (*results, *gradients)]

    here = run(lambda array, _: dovetail.tensor(array))
    for own, expected in zip(run(lazy), here, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x, w: F.conv2d(x, w, stride=2, padding=1),
        lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1)),
        lambda x, w: F.max_pool2d(x, 2) * w.sum(),
        lambda x, w: F.avg_pool2d(x, 3, 1) * w.sum(),
        lambda x, w: F.adaptive_avg_pool2d(x, 2) * w.mean(),
        lambda x, w: F.batch_norm(x, None, None, w[:3, 0, 0, 0], training=True),
    ],
)
def test_layers_go_over_the_chunks_of_a_batch(layer):
    def run(make):
        x, w = make(numbers(7, 3, 6, 6), (2, 3, 6, 6)), make(numbers(4, 3, 3, 3, seed=1), -1)
        x.requires_grad_(), w.requires_grad_()
        made = layer(x, w)
        if made.device.type == "dask":
            assert len(made.array.chunks[0]) == 4
        (made * made.detach().sin()).sum().backward()
        return [each.detach().cpu().numpy() for each in (made, x.grad, w.grad)]

    for own, expected in zip(run(lazy), run(lambda array, _: dovetail.tensor(array)), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-12)


def test_writes_in_place_reach_views_and_gradients():
    x = lazy(np.zeros((4, 3)), 2)
    row, columns = x[1], x.t()
    x[0] = 5.0
    row.add_(1)
    columns[2, 3] = 7.0
    assert x.tolist() == [[5, 5, 5], [1, 1, 1], [0, 0, 0], [0, 0, 7]]
    assert columns.t().tolist() == x.tolist()
    w = lazy(numbers(4, 3), 2).requires_grad_()
    y = w * 2
    y[1:].mul_(3)
    y.sum().backward()
    assert w.grad.tolist() == [[2] * 3, [6] * 3, [6] * 3, [6] * 3]


@pytest.mark.parametrize("shape", [(18, 9), (9, 18), (4, 27, 3, 1, 1), (2, 81)])
@pytest.mark.parametrize("chunks", [5, (7, 2), -1])
def test_sizes_that_go_into_no_other_are_viewed_and_their_gradient_comes_back(shape, chunks):
    host = np.arange(324.0).reshape(27, 12)[:, : prod(shape) // 27]
    x = dovetail.dask.from_dask(da.from_array(host, chunks)).requires_grad_()
    result = x.reshape(shape)
    assert result.detach().cpu().numpy().tolist() == host.reshape(shape).tolist()
    (result * result.detach()).sum().backward()
    assert x.grad.cpu().numpy().tolist() == host.tolist()


def test_importing_dovetail_imports_no_dask():
    program = "import sys, dovetail; print('dask' in sys.modules, 'dovetail_dask' in sys.modules)"
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


def test_numbers_that_need_functions_of_scipy_are_drawn_chunk_by_chunk():
    pytest.importorskip("scipy")
    rates = dovetail.full((4000,), 3.0, device="dask")
    drawn = [dovetail.poisson(rates), dovetail.binomial(rates * 4, rates / 6)]
    for each, variance in zip(drawn, (3.0, 6.0), strict=True):
        assert each.mean().item() == pytest.approx(variance, rel=0.1)
        assert each.tolist() == each.tolist()  # as often as it is computed


def test_attention_to_nothing_is_zero():
    q = dovetail.randn(1, 1, 3, 4, device="dask")
    shown = dovetail.ones(3, 3, dtype=dovetail.bool, device="dask").tril(-1)
    found = F.scaled_dot_product_attention(q, q, q, attn_mask=shown)
    assert found[0, 0, 0].tolist() == [0.0] * 4
    assert np.isfinite(found.cpu().numpy()).all()


@pytest.mark.parametrize("form", ["safetensors", "torch"])
def test_a_model_is_saved_with_the_values_of_each_parameter(tmp_path, form):
    dovetail.manual_seed(0)
    model = dovetail.nn.Sequential(*[dovetail.nn.Linear(3, 3) for _ in range(3)]).to("dask")
    expected = {name: each.tolist() for name, each in model.state_dict().items()}
    dovetail.save(model.state_dict(), tmp_path / "model", format=form)
    loaded = dovetail.load(tmp_path / "model")
    assert {name: each.tolist() for name, each in loaded.items()} == expected
    assert {each.device.type for each in loaded.values()} == {"dask"}
    model.load_state_dict(loaded)


def test_what_is_infinite_or_no_number_is_a_result_and_no_warning():
    x = lazy(np.array([0.0, -1.0, 4.0], np.float32), 2).requires_grad_()
    y = x.clamp(min=0).log() + x.sqrt()
    assert y.tolist() == pytest.approx([-np.inf, np.nan, np.log(4) + 2], nan_ok=True)
    assert (x * np.inf).softmax(0).isnan().any()


def test_samples_without_replacement_are_drawn_lazily():
    drawn = dovetail.multinomial(dovetail.ones(3, 5, device="dask"), 4)
    assert [len(set(row)) for row in drawn.tolist()] == [4, 4, 4]


def test_elementwise_functions_that_dask_has_not_are_numpys():
    x, y = np.arange(1, 9).reshape(2, 4), np.array([[6], [4]])
    for name in ("gcd", "lcm"):
        made = getattr(dovetail, name)(lazy(x, (1, 2)), lazy(y, (1, 1)))
        assert made.device.type == "dask"
        assert made.cpu().tolist() == getattr(np, name)(x, y).tolist()


@pytest.mark.parametrize("bound", [1.0, 3.0])
def test_a_number_is_selected_by_a_mask(bound):
    number = lazy(2.0, ())
    assert number.masked_select(number > bound).tolist() == [2.0] * (bound < 2)
    assert number[number > bound].tolist() == [2.0] * (bound < 2)


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("before", [(), (None,), ([1],)], ids=str)
def test_a_mask_of_one_number_takes_all_or_nothing(taken, before):
    x, values = np.arange(6.0).reshape(2, 3), np.float64(9)
    found = []
    for make in (dovetail.from_numpy, lambda array: lazy(array, array.shape)):
        mask = make(np.array(taken))
        key = [make(np.array(each)) if each else each for each in before]
        put = dovetail.ops.aten.index_put(make(x), [*key, mask], make(np.array(values)), True)
        found.append(put.tolist())
    assert found[0] == found[1]
    assert (found[0] == x.tolist()) is not taken
    alone = dovetail.ops.aten.index_put(lazy(2.0, ()), [lazy(taken, ())], lazy(7.0, ()))
    assert alone.item() == (7.0 if taken else 2.0)


@pytest.mark.parametrize("function", [dovetail.softmax, dovetail.log_softmax])
def test_a_softmax_along_no_dimension_is_refused_as_elsewhere(function):
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 5"):
        function(lazy(np.ones((2, 3)), (1, 3)), 5)


@pytest.mark.parametrize("shape", [(0, 2, 4), (2, 0, 8), (0,), (4, 0, 1, 3)])
def test_an_array_without_elements_has_any_shape_without_elements(shape):
    x = lazy(np.zeros((2, 0, 2, 4), np.float32), (1, 1, 1, 2)).requires_grad_()
    made = x.reshape(shape)
    assert made.device.type == "dask" and made.dtype == dovetail.float32
    assert made.cpu().shape == shape
    made.sum().backward()
    assert x.grad.shape == (2, 0, 2, 4)
    with pytest.raises(RuntimeError, match="invalid for input"):
        x.reshape(2, 3)


@pytest.mark.parametrize("name", ["logsumexp", "amax", "softmax", "log_softmax", "argmax", "norm"])
def test_rows_of_no_rows_are_reduced_to_nothing(name: str) -> None:
    reduced = [
        getattr(dovetail.ones(0, 3, device=device), name)(dim=1) for device in ("dask", "cpu")
    ]
    assert reduced[0].shape == reduced[1].shape
    assert reduced[0].cpu().tolist() == []


MADE_EMPTY = {
    "cut": lambda x: x[4:4],
    "every other": lambda x: x[1:1:2],
    "joined": lambda x: dovetail.cat([x[:0], x[5:5]]),
    "repeated": lambda x: x[:1].repeat(0, 1),
    "expanded": lambda x: x[:, :1].expand(4, 1)[2:2].expand(0, 6),
    "by a mask": lambda x: x[x[:, 0] > 9],
    "split": lambda x: x.split([0, 4])[0],
}
USED = {
    "nansum": lambda x: x.nansum(1),
    "mean of all but NaN": lambda x: x.nanmean(1),
    "flat": lambda x: x.reshape(-1),
    "in another shape": lambda x: (x + 1).reshape(3, 0, 2),
    "places": lambda x: x.clone().as_strided((2, 0), (1, 1)),
    "written": lambda x: x.clone().fill_(3.0),
    "chosen": lambda x: dovetail.where(x.isnan(), 0.0, x).sum(1),
    "joined": lambda x: dovetail.cat([x, x, dovetail.ones(2, 6, device=x.device)]).sum(0),
    "gradient": dovetail.func.grad(lambda y: (y * y).sum()),
}


@pytest.mark.parametrize("use", USED)
@pytest.mark.parametrize("made", MADE_EMPTY)
def test_what_has_no_elements_left_is_used_as_on_the_cpu_whatever_its_chunks(made, use):
    array = numbers(4, 6)
    expected = USED[use](MADE_EMPTY[made](dovetail.tensor(array)))
    found = USED[use](MADE_EMPTY[made](lazy(array, (1, 2))))
    assert found.device.type == "dask"
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("repeats", [(0, 1), (1, 0), (3, 2), (2, 0, 3), (2, 1, 3)])
@pytest.mark.parametrize("chunks", [(2, 3), (1, 2), ((1, 1), (1, 2))])
def test_chunks_of_any_sizes_are_repeated(repeats, chunks):
    array = numbers(2, 3)
    found = lazy(array, chunks).repeat(*repeats)
    assert found.tolist() == dovetail.tensor(array).repeat(*repeats).tolist()


@pytest.mark.parametrize("chunks", [2, (1, 3)])
def test_a_write_to_no_place_gives_a_new_tensor_with_the_same_values(chunks):
    x = dovetail.dask.from_dask(da.arange(12, chunks=5).astype(float).reshape(4, 3).rechunk(chunks))
    nowhere = dovetail.tensor([], dtype=dovetail.int64, device="dask")
    rows, columns = x[:0], x[:, :0]
    made = [
        x.index_add(0, nowhere, rows),
        x.index_add(1, nowhere, columns),
        x.index_copy(0, nowhere, rows),
        x.index_copy(1, nowhere, columns),
        x.index_fill(0, nowhere, 1.0),
        x.index_fill(1, nowhere, 1.0),
        x.index_put((nowhere,), rows),
        x.index_put((nowhere,), rows, accumulate=True),
    ]
    for each in made:
        assert each is not x
        assert each.tolist() == x.tolist()


def gradients_of(function, *tensors):
    """Return a result and the gradients of its sum, as lists."""
    inputs = [each.detach().requires_grad_() for each in tensors]
    made = function(*inputs)
    made.square().sum().backward()
    return [made.tolist(), *(each.grad.tolist() for each in inputs)]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: x.reshape(3, 4, 6), [(4, 6, 3)]),
        (lambda x: dovetail.nn.functional.group_norm(x, 2), [(3, 6, 5)]),
        (lambda x, w: dovetail.nn.functional.group_norm(x, 3, w), [(2, 6, 2, 3), (6,)]),
        (lambda x, w: dovetail.nn.functional.layer_norm(x, (3, 5), w), [(4, 3, 5), (3, 5)]),
        (lambda x, y: x.masked_scatter(x > 0, y), [(4, 6), (5, 5)]),
        (lambda x, w: dovetail.conv2d(x, w, groups=2), [(3, 4, 5, 7), (6, 2, 2, 3)]),
        (lambda x: dovetail.nn.functional.fold(x, (4, 5), (2, 2)), [(2, 12, 12)]),
        (lambda x: x.kthvalue(2, 1).values.reshape(2, -1), [(4, 5, 3)]),
    ],
)
@pytest.mark.parametrize("chunks", [2, 3, -1])
def test_chunks_of_any_sizes_are_merged_and_split_by_kernels(function, shapes, chunks):
    arrays = [numbers(*shape) for shape in shapes]
    expected = gradients_of(function, *map(dovetail.tensor, arrays))
    found = gradients_of(function, *(lazy(each, chunks) for each in arrays))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
