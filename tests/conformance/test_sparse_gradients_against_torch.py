"""Sparse gradients of embeddings, how they meet others, and the optimizers that take them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch")
PICKED = [[1, 1, 3], [0, 4, 1]]
LIBRARIES = (dovetail, torch)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse invariant checks")
        yield


def same(program: Callable[[Any], Any]) -> None:
    """Check that a program gives the same in both libraries: tensors, layouts, stored elements, or
    the same error.
    """
    ours, theirs = [_told(program, each) for each in LIBRARIES]
    assert len(ours) == len(theirs)
    for own, other in zip(ours, theirs, strict=True):
        if isinstance(other, np.ndarray):
            np.testing.assert_allclose(own, other, rtol=2e-6, atol=1e-7)
        else:
            assert own == other


def _told(program: Callable[[Any], Any], library: Any) -> list[Any]:
    try:
        results = program(library)
    except (RuntimeError, ValueError) as error:
        return [type(error), str(error)[:35]]
    told: list[Any] = []
    for each in results if isinstance(results, list | tuple) else [results]:
        if not isinstance(each, library.Tensor):
            told.append(each)
            continue
        told += [str(each.layout).rpartition(".")[2], each.detach().cpu().to_dense().numpy()]
        if each.layout is library.sparse_coo:
            told += [each.coalesce()._indices().cpu().numpy(), each.is_coalesced()]
    return told


def table(library: Any) -> Any:
    return (library.arange(10.0).reshape(5, 2) / 7).requires_grad_()


def picked(library: Any, weight: Any, rows: Any = PICKED, **options: Any) -> Any:
    return library.nn.functional.embedding(library.tensor(rows), weight, sparse=True, **options)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}])
def test_the_gradient_of_a_table_stores_the_rows_that_were_picked(options: dict[str, Any]) -> None:
    def program(library: Any) -> Any:
        weight = table(library)
        picked(library, weight, **options).pow(3).sum().backward()
        return weight.grad

    same(program)


@pytest.mark.parametrize("options", [{}, {"mode": "sum"}, {"mode": "max"}, {"padding_idx": 4}])
@pytest.mark.parametrize("factors", [False, True])
def test_the_gradient_of_bags_is_sparse(options: dict[str, Any], factors: bool) -> None:
    def program(library: Any) -> Any:
        weight, more = table(library), {**options}
        if factors:
            more |= {"mode": "sum", "per_sample_weights": library.ones(2, 3) * 3}
        bag = library.nn.functional.embedding_bag
        bag(library.tensor(PICKED), weight, sparse=True, **more).sum().backward()
        return weight.grad

    same(program)


MEETING: dict[str, Callable[[Any, Any], Any]] = {
    "two": lambda lib, w: picked(lib, w).sum() + picked(lib, w, [[2, 2]]).sum(),
    "sparse first": lambda lib, w: picked(lib, w).sum() + (w * w).sum(),
    "strided first": lambda lib, w: (w * w).sum() + picked(lib, w).sum(),
    "inside": lambda lib, w: MEETING["sparse first"](lib, w * 2),
    "through a product": lambda lib, w: picked(lib, w * w).sum(),
}


@pytest.mark.parametrize("name", MEETING)
def test_gradients_that_meet_in_one_run_are_added(name: str) -> None:
    def program(library: Any) -> Any:
        weight = table(library)
        MEETING[name](library, weight).backward()
        return weight.grad

    same(program)


@pytest.mark.parametrize("order", ["ss", "sd", "ds", "ssd", "sds"])
def test_gradients_of_several_runs_are_added(order: str) -> None:
    def program(library: Any) -> Any:
        weight, kept = table(library), []
        for place, each in enumerate(order):
            before = weight.grad
            lost = picked(library, weight, [[1, place]]) if each == "s" else weight
            lost.square().sum().backward()
            kept += [weight.grad is before, weight.grad.clone()]
        return kept

    same(program)


def test_a_sparse_gradient_can_be_differentiated_again_and_hooked() -> None:
    def program(library: Any) -> Any:
        weight = table(library)
        seen: list[Any] = []
        handle = weight.register_hook(lambda grad: (seen.append(grad._nnz()), grad * 2)[1])
        loss = picked(library, weight).pow(3).sum()
        (first,) = library.autograd.grad(loss, weight, create_graph=True)
        handle.remove()
        (second,) = library.autograd.grad(first.coalesce().values().sum(), weight)
        return [*seen, first, second]

    same(program)


STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("SGD", {}),
    "maximized": ("SGD", {"maximize": True}),
    "momentum": ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    "nesterov": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "decay of sgd": ("SGD", {"weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"lr_decay": 0.1}),
    "adagrad maximized": ("Adagrad", {"maximize": True, "initial_accumulator_value": 0.5}),
    "decay of adagrad": ("Adagrad", {"weight_decay": 0.1}),
    "sparse": ("SparseAdam", {"eps": 1e-5}),
    "sparse maximized": ("SparseAdam", {"maximize": True, "betas": (0.5, 0.7)}),
    **{name: (name, {}) for name in ("Adam", "AdamW", "RMSprop", "NAdam", "Rprop", "ASGD")},
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_by_sparse_gradients(name: str) -> None:
    def program(library: Any) -> Any:
        kind, options = STEPS[name]
        layer = library.nn.Embedding.from_pretrained(table(library), freeze=False, sparse=True)
        optimizer = getattr(library.optim, kind)(layer.parameters(), lr=0.1, **options)
        for turn in range(4):
            optimizer.zero_grad(set_to_none=turn % 2 == 0)
            layer(library.tensor(PICKED) % (turn + 2)).pow(3).sum().backward()
            optimizer.step()
        return [layer.weight, *optimizer.state[layer.weight].values()]

    same(program)


def test_a_closure_makes_sparse_gradients_for_lbfgs() -> None:
    def program(library: Any) -> Any:
        layer = library.nn.Embedding.from_pretrained(table(library), freeze=False, sparse=True)
        optimizer = library.optim.LBFGS(layer.parameters(), lr=0.3, max_iter=4)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (layer(library.tensor(PICKED)) - 1).square().sum()
            loss.backward()
            return loss

        return [optimizer.step(closure), layer.weight]

    same(program)


def test_sparse_adam_refuses_strided_gradients() -> None:
    def program(library: Any) -> Any:
        weight = table(library)
        weight.sum().backward()
        library.optim.SparseAdam([weight]).step()

    same(program)


@pytest.mark.parametrize("dims", [1, 2])
def test_strided_and_sparse_tensors_take_sparse_ones_in_place(dims: int) -> None:
    def program(library: Any) -> Any:
        indices = library.tensor([[0, 2, 0], [1, 1, 1]][:dims])
        values = library.arange(6.0)[:3] if dims == 2 else library.arange(6.0).reshape(3, 2)
        sparse = library.sparse_coo_tensor(indices, values, (3, 2))
        strided = library.ones(2, 3).t()
        return [
            strided.add_(sparse, alpha=3),
            strided.sub_(sparse),
            sparse.clone().add_(sparse.coalesce(), alpha=2),
            sparse.clone().mul_(2),
            sparse.clone().div_(2),
        ]

    same(program)


def test_a_size_or_a_dtype_that_does_not_fit_is_refused() -> None:
    def program(library: Any, size: tuple[int, int], dtype: str) -> Any:
        sparse = library.sparse_coo_tensor(library.tensor([[0]]), library.ones(1, 2), (3, 2))
        library.zeros(size, dtype=getattr(library, dtype)).add_(sparse)

    same(lambda library: program(library, (2, 2), "float32"))
    same(lambda library: program(library, (3, 2), "int64"))


@pytest.mark.parametrize("kind", ["sparse", "complex"])
def test_sparse_adam_refuses_parameters(kind: str) -> None:
    def program(library: Any) -> Any:
        odd = library.ones(2, dtype=library.cfloat) if kind == "complex" else library.ones(2)
        odd = odd.to_sparse() if kind == "sparse" else odd
        library.optim.SparseAdam([library.ones(2), odd])

    same(program)


def test_a_sparse_tensor_makes_others_of_its_kind() -> None:
    def program(library: Any) -> Any:
        values = library.ones(2, 3, dtype=library.float64)
        sparse = library.sparse_coo_tensor(library.tensor([[0, 2]]), values, (4, 3))
        parts = sparse._indices(), sparse._values() * 2
        made = [sparse.new(*parts, sparse.size()), sparse.new(*parts), sparse.new(sparse.size())]
        made += [sparse.new(2, 3), sparse.new(), sparse.new().resize_as_(sparse)]
        kinds = [(str(each.dtype)[-7:], each.sparse_dim(), each._nnz()) for each in made]
        return [*made, *kinds]

    same(program)
