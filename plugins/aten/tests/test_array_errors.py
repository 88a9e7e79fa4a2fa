"""PyTorch's words for shapes that do not broadcast and dtypes that are not supported."""

from __future__ import annotations

import pytest

import dovetail
from dovetail_aten.kernel_support import wrap_dim, wrap_dims
from dovetail_dispatcher import ops
from dovetail_dispatcher.calls.array_errors import broadcast_error, call_error, unsupported_error


def test_the_first_differing_dimension_is_named():
    message = str(broadcast_error([(2,), (3,)]))
    assert message.startswith(
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    )


def test_dimensions_count_from_the_front_of_the_longer_shape():
    assert "at non-singleton dimension 2" in str(broadcast_error([(5, 4, 3), (2,)]))


def test_a_third_operand_is_compared_with_what_the_first_two_make():
    assert "tensor a (4) must match the size of tensor b (3)" in str(
        broadcast_error([(1,), (4,), (3,)])
    )


@pytest.mark.parametrize("shapes", ([(2, 1), (3,)], [(), (3,)], [(0,), (1,)], []))
def test_shapes_that_broadcast_give_no_error(shapes):
    assert broadcast_error(shapes) is None


def test_bool_minus_bool_has_no_meaning():
    assert isinstance(unsupported_error("sub", ["Bool", "Bool"]), RuntimeError)
    assert "Subtraction, the `-` operator, with two bool tensors is not supported" in str(
        unsupported_error("sub", ["Bool"])
    )
    assert "Negation, the `-` operator, on a bool tensor" in str(unsupported_error("neg", ["Bool"]))


def test_another_dtype_has_no_implementation():
    error = unsupported_error("bitwise_and", ["Float"])
    assert isinstance(error, NotImplementedError)
    assert "\"bitwise_and\" not implemented for 'Float'" in str(error)


@pytest.mark.parametrize(
    "words",
    [
        "ufunc 'bitwise_and' not supported for the input types",
        "and does not accept dtype float32 at position 0. Accepted dtypes are subtypes of integer",
        "Only integer or boolean dtypes are allowed in bitwise_and(...). Got float32.",
    ],
    ids=["NumPy", "JAX", "the standard"],
)
def test_what_libraries_say_of_dtypes_is_said_in_words_of_pytorch(words):
    error = call_error(ops.aten.bitwise_and.Tensor._operator, TypeError(words))
    assert isinstance(error, NotImplementedError)
    assert "\"bitwise_and\" not implemented for '?'" in str(error)
    mistake = TypeError("bitwise_and() takes 2 positional arguments but 3 were given")
    assert call_error(ops.aten.bitwise_and.Tensor._operator, mistake) is mistake


def test_a_kernel_that_writes_nothing_may_say_read_only():
    error = ValueError("the table is read-only")
    assert call_error(ops.aten.add.Tensor._operator, error, dovetail.ones(2)) is error


def test_dimensions_are_wrapped_from_the_end():
    assert wrap_dim(-1, 3) == 2
    assert wrap_dims((-1, 0), 3) == (2, 0)
    assert wrap_dims(None, 2) == (0, 1)
    assert wrap_dims((), 2) == (0, 1)


def test_a_number_has_no_dimension_to_reduce():
    assert wrap_dim(-1, 0) == 0
    assert wrap_dims(0, 0) == ()


def test_a_dimension_out_of_range_is_an_index_error():
    with pytest.raises(IndexError, match=r"expected to be in range of \[-1, 0\], but got 3"):
        wrap_dim(3, 0)
