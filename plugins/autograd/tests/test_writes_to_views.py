"""In-place writes to views: of bases that lie in memory in another order, of detached leaves, of
several outputs.
"""

from __future__ import annotations

import pytest
from small_library import IS_SMALL

if IS_SMALL:
    pytest.skip("these programs need the front end", allow_module_level=True)
dovetail = pytest.importorskip("dovetail")


def test_a_write_to_a_view_of_a_transposed_base_is_differentiated() -> None:
    x = dovetail.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    w = dovetail.tensor([2.0, 3.0], requires_grad=True)
    base = x.t() * 3
    base[1].mul_(w)
    base.sum().backward()
    assert x.grad.tolist() == [[3.0, 6.0, 3.0], [3.0, 9.0, 3.0]]
    assert w.grad.tolist() == [6.0, 15.0]


def test_a_view_of_a_leaf_that_is_itself_a_view_is_not_written() -> None:
    leaf = dovetail.tensor([1.0, 2.0]).reshape(2, 1).requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        leaf[0].mul_(2)
    assert leaf.tolist() == [[1.0], [2.0]]


def test_one_of_several_views_has_no_node_once_its_base_was_written() -> None:
    x = dovetail.ones(2, requires_grad=True)
    base = x * 1
    first, _ = base.unbind()
    base.mul_(2)
    with pytest.raises(
        RuntimeError, match="Output 0 of Unbind is a view and its base or another view of its base"
    ):
        _ = first.grad_fn


def test_a_gradient_summed_to_no_dimensions_is_cast() -> None:
    x = dovetail.tensor(2.0, requires_grad=True)
    y = dovetail.tensor([[1.0, 2.0]], dtype=dovetail.float64)
    (y.float().double() * x).sum().backward()
    assert x.grad.tolist() == 3.0
    assert x.grad.dtype is dovetail.float32


def test_a_number_as_second_operand_of_div_has_the_node_of_tensors() -> None:
    x = dovetail.ones(2, requires_grad=True)
    assert (x / 2).grad_fn.name() == "DivBackward0"


def test_squeeze_of_one_dimension_has_the_node_of_one_dimension() -> None:
    x = dovetail.ones(1, 2, requires_grad=True)
    assert x.squeeze(0).grad_fn.name() == "SqueezeBackward1"
    assert x.squeeze(0, 1).shape == (2,)


def test_masked_select_with_a_mask_that_does_not_broadcast_says_so() -> None:
    with pytest.raises(RuntimeError, match="must match the size"):
        dovetail.ones(3).masked_select(dovetail.ones(2) > 0)
