"""Sparse tensors in programs: modules, functions of users, transforms, files, and what refuses."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import dovetail
from dovetail import Tensor, nn
from dovetail.autograd import Function, gradcheck, gradgradcheck

INDICES = [[0, 1, 1, 1], [2, 0, 2, 2]]


def made(values: Any = (3.0, 4.0, 5.0, 6.0)) -> Tensor:
    values = values if isinstance(values, Tensor) else dovetail.tensor(values)
    return dovetail.sparse_coo_tensor(INDICES, values, (2, 3))


def dense() -> Tensor:
    return (dovetail.arange(12.0) / 10).reshape(3, 4)


class Convolution(nn.Module):
    """A graph convolution as programs write it."""

    def __init__(self, adjacency: Tensor) -> None:
        super().__init__()
        self.register_buffer("adjacency", adjacency)
        self.weight = nn.Parameter(dovetail.ones(4, 2))

    def forward(self, x: Tensor) -> Tensor:
        return dovetail.spmm(self.adjacency, x @ self.weight)


def test_a_graph_convolution_gives_what_its_dense_matrix_gives() -> None:
    layer, x = Convolution(made()), dense()
    layer(x).pow(2).sum().backward()
    weight = layer.weight.detach().clone().requires_grad_()
    (made().to_dense() @ (x @ weight)).pow(2).sum().backward()
    dovetail.testing.assert_close(layer.weight.grad, weight.grad)


def test_a_sparse_buffer_moves_with_its_module_and_is_loaded() -> None:
    layer = Convolution(made()).double()
    assert layer.adjacency.dtype is dovetail.float64
    assert layer.adjacency.is_sparse
    other = Convolution(made([0.0, 0.0, 0.0, 0.0])).double()
    other.load_state_dict(layer.state_dict())
    dovetail.testing.assert_close(other.adjacency.to_dense(), layer.adjacency.to_dense())


def test_products_are_differentiated_twice_by_both_operands() -> None:
    values = dovetail.rand(4, dtype=dovetail.float64, requires_grad=True)
    columns = dovetail.rand(3, 2, dtype=dovetail.float64, requires_grad=True)

    def product(v: Tensor, d: Tensor) -> Tensor:
        return dovetail.sparse.mm(made(v), d)

    assert gradcheck(product, (values, columns))
    assert gradgradcheck(product, (values, columns))


def test_a_product_of_sparse_tensors_is_differentiated_twice() -> None:
    first = dovetail.rand(4, dtype=dovetail.float64, requires_grad=True)
    second = dovetail.rand(4, dtype=dovetail.float64, requires_grad=True)

    def product(v: Tensor, w: Tensor) -> Tensor:
        return (made(v) @ made(w).t()).to_dense()

    assert gradcheck(product, (first, second))
    assert gradgradcheck(product, (first, second))


def test_products_run_inside_transforms() -> None:
    values, columns = dovetail.rand(5, 4), dovetail.rand(5, 3, 2)
    batched = dovetail.vmap(lambda v, d: made(v) @ d)(values, columns)
    one_by_one = [made(v) @ d for v, d in zip(values, columns, strict=True)]
    dovetail.testing.assert_close(batched, dovetail.stack(one_by_one))
    by_values = dovetail.func.grad(lambda v: (made(v) @ columns[0]).pow(2).sum())(values[0])
    leaf = values[0].clone().requires_grad_()
    (made(leaf) @ columns[0]).pow(2).sum().backward()
    dovetail.testing.assert_close(by_values, leaf.grad)


class Product(Function):
    """A product as third parties write it: the matrix is kept on the context."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, columns: Tensor) -> Tensor:
        ctx.matrix, ctx.columns = matrix, columns
        return dovetail.dsmm(matrix, columns)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        by_matrix = (grads[0] @ ctx.columns.t()) if ctx.needs_input_grad[0] else None
        return by_matrix, dovetail.dsmm(ctx.matrix.mT, grads[0])


@pytest.mark.parametrize("is_leaf", [False, True], ids=["values", "leaf"])
def test_a_function_of_the_user_hands_the_gradient_on_to_the_values(is_leaf: bool) -> None:
    def gradient(product: Any) -> Tensor:
        values = dovetail.tensor([3.0, 4.0, 5.0, 6.0], requires_grad=not is_leaf)
        matrix = made(values)
        if is_leaf:
            matrix.requires_grad_()
        product(matrix, dense()).pow(2).sum().backward()
        grad = matrix.grad._values() if is_leaf else values.grad
        assert grad is not None
        return grad

    dovetail.testing.assert_close(gradient(Product.apply), gradient(dovetail.mm))


def test_a_sparse_gradient_reaches_the_values_at_their_indices() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, matrix: Tensor) -> Tensor:
            return matrix.to_dense()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0].to_sparse()

    values = dovetail.tensor([3.0, 4.0, 5.0, 6.0], requires_grad=True)
    weights = dovetail.tensor([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0]])
    (Same.apply(made(values)) * weights).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [0.0, 4.0, 6.0, 6.0]


def test_copies_and_pickles_are_tensors_of_their_own() -> None:
    matrix = made()
    for copied in (copy.deepcopy(matrix), pickle.loads(pickle.dumps(matrix))):
        assert repr(copied) == repr(matrix)
        copied._values().mul_(2)
        assert repr(copied) != repr(matrix) == repr(made())


@pytest.mark.parametrize(
    "call",
    [
        dovetail.exp,
        lambda s: s == s,
        lambda s: s.softmax(0),
        lambda s: nn.functional.cross_entropy(s, dovetail.tensor([0, 1])),
        lambda s: s.pow_(2),
        lambda s: s.view(-1),
        lambda s: s.tolist(),
        lambda s: s.data_ptr(),
        lambda s: dovetail.einsum("ij,ij", s, s),
        lambda s: dovetail.where(s.to_dense() > 0, s, s),
        lambda s: dovetail.ones(2, 3).index_put((s,), dovetail.ones(1)),
        lambda s: dovetail.sparse.mm(s, s.t(), reduce="mean"),
        lambda s: s.to_sparse_bsr((1, 1)),
    ],
)
def test_what_is_not_there_refuses_and_names_the_way_out(call: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"sparse|reduce"):
        call(made())


def test_an_operator_below_the_functions_refuses_too() -> None:
    with (
        dovetail._C.DisableTorchFunctionSubclass(),
        pytest.raises(NotImplementedError, match=r"sparse tensors.*to_dense\(\)"),
    ):
        dovetail.exp(made())


@pytest.mark.parametrize("format", ["safetensors", "torch"])
def test_a_file_holds_one(format: str) -> None:
    file = io.BytesIO()
    dovetail.save({"adjacency": made()}, file, format=format)
    file.seek(0)
    assert repr(dovetail.load(file)["adjacency"]) == repr(made())


@pytest.mark.parametrize(
    ("indices", "size", "text"),
    [
        ([[0, 2]], (2,), "for dim 0, size is 2 but found index 2"),
        ([[0, -1]], (2,), "found negative index -1 for dim 0"),
    ],
)
def test_indices_out_of_the_size_are_refused(indices: Any, size: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        dovetail.sparse_coo_tensor(indices, [1.0, 2.0], size)


def test_indices_that_occur_twice_are_not_taken_for_coalesced() -> None:
    with pytest.raises(RuntimeError, match="cannot set is_coalesced to true"):
        dovetail.sparse_coo_tensor(INDICES, [1.0, 2.0, 3.0, 4.0], is_coalesced=True)


def test_names_of_other_layouts_say_which_ones_are_there() -> None:
    with pytest.raises(AttributeError, match=r"sparse_bsr_tensor.*sparse_csr"):
        dovetail.sparse_bsr_tensor  # noqa: B018 - the error is what is looked at
    with pytest.raises(AttributeError, match=r"spsolve.*to_dense\(\)"):
        dovetail.sparse.spsolve  # noqa: B018 - the error is what is looked at
