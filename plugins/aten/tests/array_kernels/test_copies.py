"""Copies, indexing by arrays and factories."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
X = np.arange(12, dtype=np.float32).reshape(3, 4)
I64 = np.dtype("int64")
CALLS = (
    ("clone", X.T),
    ("_to_copy", X, {"dtype": np.dtype("int32")}),
    ("_to_copy", X.astype(np.complex64), {"dtype": np.dtype("float32")}),
    ("_to_copy", X, {}),
    ("flip", X, (0, 1)),
    ("flip", X, ()),
    ("flip", np.array(1.0), ()),
    ("roll", X, (1,), (0,)),
    ("roll", X, (5, -1), (0, 1)),
    ("roll", X, (3,), ()),
    ("roll", X, (0,), (0,)),
    ("roll", np.zeros((0, 2)), (1,), (0,)),
    ("repeat", X, (2, 1, 3)),
    ("repeat", X, (0, 2)),
    ("repeat", np.array(2.0), ()),
    ("repeat", np.array(2.0), (3,)),
    ("cat", [X, X[:1]], 0),
    ("cat", [X], 1),
    ("cat", [np.zeros(0, np.float32), X], 1),
    ("cat", [X, X.astype(np.int64)], -1),
    ("cat", [np.array([1], np.int64), np.array([1.5], np.float16)], 0),
    ("cat", [X.astype(BFLOAT16), X], 0),
    ("stack", [X, X], -1),
    ("stack", [np.array(1.0), np.array(2.0)], 0),
    ("tril", X, 0),
    ("tril", np.stack([X, X]), -1),
    ("triu", X, 1),
    ("diag_embed", X, 1, 0, -1),
    ("diag_embed", X[0], -2),
    ("constant_pad_nd", X, (1, 2), 3.5),
    ("constant_pad_nd", X, (-1, 2, 1, -1), 0),
    ("constant_pad_nd", X, (), 0),
    ("_local_scalar_dense", np.array([3])),
    ("index.Tensor", X, [np.array([2, 0])]),
    ("index.Tensor", X, [np.array([2, -1]), np.array([[1], [0]])]),
    ("index.Tensor", X, [None, np.array([1, 1])]),
    ("index.Tensor", np.arange(24).reshape(2, 3, 4), [np.array([0, 1]), None, np.array([1, 2])]),
    ("index.Tensor", X, [X > 5]),
    ("index.Tensor", X, [np.array([True, False, True])]),
    ("index.Tensor", X, [np.array(1), np.array(2)]),
    ("index.Tensor", X, [np.array(1)]),
    ("index.Tensor", X, [np.zeros(0, np.int64)]),
    ("index_put", X, [np.array([0, 0, 2])], np.ones((3, 4), np.float32), True),
    ("index_put", X, [np.array([0, 2])], np.array(7, np.float32), False),
    ("index_put", X, [None, np.array([1, 1])], np.array([[1], [2], [3]], np.float32), True),
    ("index_put", X, [X > 5], np.array(0, np.float32), False),
    ("index_select", X, 1, np.array([0, 0, 3])),
    ("index_select", X, 0, np.array(1, np.int32)),
    ("index_select", np.array(1.0), 0, np.array([0, 0])[:1]),
    ("index_add", X, 0, np.array([2, 0, 2]), np.ones((3, 4), np.float32), {"alpha": 2}),
    ("index_add", X, 1, np.array([1]), np.ones((3, 1), np.float32), {}),
    ("gather", X, 1, np.array([[0, 3], [1, 1]])),
    ("gather", X, 0, np.array([[2, 0, 1, 2]])),
    ("gather", X, 0, np.zeros((0, 4), np.int64)),
    ("gather", np.array(5.0), 0, np.array(0)),
    ("scatter.src", X, 1, np.array([[3, 0], [1, 2]]), np.full((2, 2), -1, np.float32)),
    ("scatter.value", X, 0, np.array([[1, 2]]), 9),
    ("scatter_add", X, 1, np.array([[3, 3], [1, 1]]), np.ones((3, 4), np.float32)),
    ("scatter_add", X, 0, np.zeros((0, 4), np.int64), X),
    ("masked_select", X, X > 4),
    ("masked_select", X, np.array([[True], [False], [True]])),
    ("take", X, np.array([[11, -1], [0, 3]])),
    ("embedding", X, np.array([[0, 2], [2, 2]])),
    ("embedding", X, np.array(1), 1),
    (
        "embedding_dense_backward",
        np.ones((2, 3, 4), np.float32),
        np.array([[0, 2, 2], [2, 1, 0]]),
        5,
        -1,
        False,
    ),
    (
        "embedding_dense_backward",
        np.ones((2, 3, 4), np.float32),
        np.array([[0, 2, 2], [2, 1, 0]]),
        5,
        2,
        True,
    ),
    ("zeros", (2, 3)),
    ("ones", (), {"dtype": I64}),
    ("full", (2,), 3, {}),
    ("full", (2,), 1.5, {"dtype": I64}),
    ("full", (2,), True, {}),
    ("full", (2,), 1j, {}),
    ("scalar_tensor", 3, {}),
    ("arange", 5),
    ("arange", 2.5),
    ("arange.start", 1, 4),
    ("arange.start_step", 1, 0, -0.25, {}),
    ("arange.start_step", 7, 0, -2, {}),
    ("arange.start_step", 0, 5, 2, {"dtype": BFLOAT16}),
    ("arange.start", 3, 3),
    ("linspace", 0, 1, 5),
    ("linspace", 0, 10, 4, {"dtype": I64}),
    ("linspace", 0, 1, 1),
    ("eye", 3),
    ("zeros_like", X.T),
    ("ones_like", X, {"dtype": I64}),
    ("full_like", X, 2),
    ("new_zeros", X, (2, 2)),
    ("new_ones", X, ()),
    ("new_full", X, (2,), 5),
)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_a_copy_agrees_with_pytorch(call, compare):
    name, *args = call
    kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
    compare(name, *args, **kwargs)


@pytest.mark.parametrize(
    ("name", "args", "error", "words"),
    (
        ("cat", ([],), ValueError, "expected a non-empty list of Tensors"),
        (
            "cat",
            ([X, X[:, :2]],),
            RuntimeError,
            "Expected size 4 but got size 2 for tensor number 1 in the list",
        ),
        ("cat", ([X, X[0]],), RuntimeError, "same number of dimensions: got 2 and 1"),
        (
            "cat",
            ([np.array(1.0)],),
            RuntimeError,
            r"zero-dimensional tensor \(at position 0\) cannot be concatenated",
        ),
        ("stack", ([],), RuntimeError, "non-empty TensorList"),
        (
            "stack",
            ([X, X[0]],),
            RuntimeError,
            r"equal size, but got \[3, 4\] at entry 0 and \[4\] at entry 1",
        ),
        ("flip", (X, (0, 0)), RuntimeError, "dim 0 appears multiple times"),
        ("roll", (X, (1, 2), (0,)), RuntimeError, "shifts and dimensions must align"),
        (
            "repeat",
            (X, (2,)),
            RuntimeError,
            "can not be smaller than number of dimensions of tensor",
        ),
        ("tril", (X[0],), RuntimeError, "must have at least 2 dimensions"),
        ("constant_pad_nd", (X, (1,)), RuntimeError, "Length of pad must be even"),
        ("constant_pad_nd", (X, (-5, 0)), RuntimeError, r"narrow\(\): length must be non-negative"),
        (
            "_local_scalar_dense",
            (X,),
            RuntimeError,
            "a Tensor with 12 elements cannot be converted to Scalar",
        ),
        ("fill_.Tensor", (X, X), RuntimeError, "only supports 0-dimension value tensor"),
        (
            "index.Tensor",
            (X, [np.array([5])]),
            IndexError,
            "index 5 is out of bounds for dimension 0 with size 3",
        ),
        (
            "index.Tensor",
            (X[0], [np.array([0])] * 2),
            IndexError,
            "too many indices for tensor of dimension 1",
        ),
        (
            "index.Tensor",
            (X, [np.array([True])]),
            IndexError,
            r"The shape of the mask \[1\] at index 0 does not match",
        ),
        (
            "index.Tensor",
            (X, [np.array([0, 1]), np.array([0, 1, 2])]),
            IndexError,
            r"shapes \[2\], \[3\]",
        ),
        (
            "index.Tensor",
            (X, [np.array([1.0])]),
            IndexError,
            "must be long, int, byte or bool tensors",
        ),
        (
            "index_put",
            (X, [np.array([5])], np.array(1, np.float32)),
            IndexError,
            "index 5 is out of bounds for dimension 0",
        ),
        (
            "index_put",
            (X, [np.array([0])], np.zeros(3, np.float32)),
            RuntimeError,
            "cannot be broadcast to indexing result",
        ),
        (
            "index_put",
            (X, [np.array([0])], np.zeros(4)),
            RuntimeError,
            "source and destination dtypes match",
        ),
        ("index_select", (X, 0, np.array([3])), IndexError, "index out of range in self"),
        ("index_select", (X, 0, np.array([-1])), IndexError, "index out of range in self"),
        ("index_select", (X, 0, np.array([[0]])), IndexError, "Index is supposed to be a vector"),
        (
            "index_add",
            (X, 0, np.array([0, 1]), X[:1]),
            RuntimeError,
            r"Number of indices \(2\) should be equal to",
        ),
        ("index_add", (X, 0, np.array([3]), X[:1]), RuntimeError, "index 3 is out of bounds"),
        (
            "gather",
            (X, 0, np.array([[5]])),
            RuntimeError,
            "index 5 is out of bounds for dimension 0 with size 3",
        ),
        ("gather", (X, 0, np.array([[-1]])), RuntimeError, "index -1 is out of bounds"),
        (
            "gather",
            (X, 0, np.array([0])),
            RuntimeError,
            "same number of dimensions as input tensor",
        ),
        (
            "gather",
            (X, 0, np.zeros((1, 5), np.int64)),
            RuntimeError,
            "Size does not match at dimension 1",
        ),
        (
            "scatter.src",
            (X, 0, np.array([[0]]), np.zeros((1, 1))),
            RuntimeError,
            "Expected self.dtype to be equal to src.dtype",
        ),
        (
            "scatter.src",
            (X, 0, np.zeros((2, 4), np.int64), X[:1]),
            RuntimeError,
            "no larger size than src",
        ),
        (
            "scatter_add",
            (X, 0, np.array([[7]]), X),
            RuntimeError,
            "index 7 is out of bounds for dimension 0 with size 3",
        ),
        (
            "take",
            (X, np.array([12])),
            IndexError,
            "tried to access index 12 on a tensor of 12 elements",
        ),
        ("masked_select", (X, np.array([1])), RuntimeError, "expected BoolTensor for mask"),
        ("embedding", (X, np.array([3])), IndexError, "index out of range in self"),
        ("embedding", (X[0], np.array([0])), RuntimeError, "'weight' must be 2-D"),
        ("zeros", ((2, -1),), RuntimeError, r"negative dimension -1: \[2, -1\]"),
        ("arange.start_step", (0, 1, 0), RuntimeError, "step must be nonzero"),
        (
            "arange.start",
            (3, 0),
            RuntimeError,
            "upper bound and lower bound inconsistent with step sign",
        ),
        ("linspace", (0, 1, -1), RuntimeError, "number of steps must be non-negative"),
        ("eye", (-1,), RuntimeError, "n must be greater or equal to 0"),
    ),
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_wrong_copy_raises_what_pytorch_raises(name, args, error, words, kernel):
    with pytest.raises(error, match=words):
        kernel(name, *args)


def test_a_number_that_does_not_fit_is_not_filled_in(kernel):
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type uint8 without overflow"
    ):
        kernel("full", (2,), 300, dtype=np.dtype("uint8"))


def test_a_clone_keeps_the_order_of_dense_strides(kernel):
    assert kernel("clone", X.T).strides == X.T.strides


def test_empty_strided_has_the_strides_asked_for(kernel):
    assert kernel("empty_strided", (2, 3), (1, 2), dtype=np.dtype("float32")).strides == (4, 8)


def test_what_is_filled_in_place_is_an_operand_of_the_right_dtype(kernel):
    assert kernel("fill_.Scalar", X, 3).dtype == np.float32
    assert kernel("zero_", np.array([True])) == np.array(False)
