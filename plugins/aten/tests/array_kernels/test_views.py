"""Views: values, errors, and shared memory."""

from __future__ import annotations

import numpy as np
import pytest

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
VIEWS = (
    ("view", X, (6, 4)),
    ("view", X, (-1,)),
    ("view", X, (2, -1, 2)),
    ("view", np.zeros((0, 3)), (3, 0)),
    ("view", np.array(1.0), (1, 1)),
    ("view", X.transpose(1, 0, 2), (3, 2, 2, 2)),
    ("permute", X, (2, 0, -2)),
    ("permute", np.array(1.0), ()),
    ("transpose.int", X, 0, -1),
    ("transpose.int", np.array(1.0), 0, -1),
    ("t", X[0]),
    ("t", X[0, 0]),
    ("t", np.array(1.0)),
    ("select.int", X, 1, 2),
    ("select.int", X, -1, -1),
    ("select.int", X[0, 0], 0, 1),
    ("slice.Tensor", X, 1, 1, 3, 1),
    ("slice.Tensor", X, 2, None, None, 2),
    ("slice.Tensor", X, 0, -1, 9223372036854775807),
    ("slice.Tensor", X, 0, 5, 2),
    ("expand", X, (2, 3, 4)),
    ("expand", X[:, :1], (5, 2, 3, -1)),
    ("expand", X[:, :, :1], (-1, -1, 4)),
    ("expand", np.array(1.0), (2, 3)),
    ("expand", np.zeros((1, 0)), (3, 0)),
    ("expand", X[0].T[:, :1], (4, 3)),
    ("unsqueeze", X, 0),
    ("unsqueeze", X, -1),
    ("unsqueeze", np.array(1.0), 0),
    ("squeeze", X[:1, :, :1]),
    ("squeeze", X[:1, :1, :1]),
    ("squeeze.dim", X[:1, :, :1], 0),
    ("squeeze.dim", X, 0),
    ("squeeze.dim", np.array(1.0), 0),
    ("squeeze.dims", X[:1, :, :1], (0, 2)),
    ("unbind.int", X, 1),
    ("unbind.int", X[0, 0]),
    ("split.Tensor", X, 2, 1),
    ("split.Tensor", np.zeros(0), 0),
    ("split_with_sizes", X, (1, 3), 2),
    ("diagonal", X, 1, 1, 2),
    ("diagonal", X, -1, 0, -1),
    ("diagonal", X[0], 7),
    ("as_strided", X, (2, 2), (1, 5), 3),
    ("as_strided", X, (3, 4), (0, 1)),
    ("as_strided", X, (), (), 7),
    ("alias", X),
    ("detach", X),
    ("view.dtype", X, np.dtype("int32")),
    ("view.dtype", X, np.dtype("int64")),
    ("view.dtype", X, np.dtype("float16")),
    ("view.dtype", X.transpose(2, 0, 1), np.dtype("int32")),
    ("view_as_real", X.astype(np.complex64)),
    ("view_as_real", X.astype(np.complex64)[:, ::2]),
    ("view_as_complex", X.reshape(3, 4, 2)),
)


def flat(result):
    return list(result) if isinstance(result, list | tuple) else [result]


@pytest.mark.parametrize("call", VIEWS, ids=lambda call: call[0])
def test_a_view_agrees_with_pytorch(call, compare):
    name, x, *args = call
    compare(name, x, *args, view=True)


@pytest.mark.parametrize("call", VIEWS, ids=lambda call: call[0])
def test_a_view_is_an_array_that_shares_memory(call, kernel):
    name, x, *args = call
    x = x.copy("K")
    for result in flat(kernel(name, x, *args)):
        assert isinstance(result, np.ndarray)
        assert not result.size or np.shares_memory(result, x)


@pytest.mark.parametrize("call", VIEWS, ids=lambda call: call[0])
def test_a_view_can_be_written_unless_its_elements_share_memory(call, kernel):
    name, x, *args = call
    x = x.copy("K")
    for result in flat(kernel(name, x, *args)):
        if result.size and 0 not in [
            s for s, n in zip(result.strides, result.shape, strict=True) if n > 1
        ]:
            assert result.flags.writeable


@pytest.mark.parametrize(
    ("name", "args", "error", "words"),
    (
        ("view", (X, (4,)), RuntimeError, r"shape '\[4\]' is invalid for input of size 24"),
        ("view", (X, (-1, -1)), RuntimeError, "only one dimension can be inferred"),
        ("view", (X, (-2, 3)), RuntimeError, "invalid shape dimension -2 at index 0"),
        ("view", (np.zeros((0, 3)), (-1, 0)), RuntimeError, "cannot reshape tensor of 0 elements"),
        (
            "view",
            (X[0].T, (12,)),
            RuntimeError,
            r"view size is not compatible.*Use \.reshape\(\.\.\.\) instead",
        ),
        (
            "permute",
            (X, (0,)),
            RuntimeError,
            "number of dimensions in the tensor input does not match",
        ),
        ("permute", (X, (0, 0, 1)), RuntimeError, "duplicate dims are not allowed"),
        ("transpose.int", (X, 0, 3), IndexError, "Dimension out of range"),
        ("t", (X,), RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D"),
        (
            "select.int",
            (X, 0, 5),
            IndexError,
            r"select\(\): index 5 out of range for tensor of size \[2, 3, 4\] at dimension 0",
        ),
        ("select.int", (np.array(1.0), 0, 0), IndexError, "cannot be applied to a 0-dim tensor"),
        ("slice.Tensor", (X, 0, 0, 2, 0), RuntimeError, "slice step must be positive"),
        (
            "expand",
            (X, (3, 3, 4)),
            RuntimeError,
            r"The expanded size of the tensor \(3\) must match the existing size \(2\) at",
        ),
        (
            "expand",
            (X, (3,)),
            RuntimeError,
            "must be greater or equal to the number of dimensions in the tensor",
        ),
        (
            "expand",
            (X, (-1, 2, 3, 4)),
            RuntimeError,
            "isn't allowed in a leading, non-existing dimension 0",
        ),
        ("unsqueeze", (X, 5), IndexError, r"expected to be in range of \[-4, 3\], but got 5"),
        ("squeeze.dim", (X, 3), IndexError, "Dimension out of range"),
        (
            "unbind.int",
            (np.array(1.0),),
            IndexError,
            "Dimension specified as 0 but tensor has no dimensions",
        ),
        ("split.Tensor", (X, 0), RuntimeError, "split_size can only be 0 if dimension size is 0"),
        ("split.Tensor", (X, -1), RuntimeError, "split_size be non-negative"),
        ("split_with_sizes", (X, (1, 2)), RuntimeError, "split_sizes to sum exactly to 2"),
        ("split_with_sizes", (X, (3, -1)), RuntimeError, "only non-negative entries"),
        ("diagonal", (X, 0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0"),
        (
            "as_strided",
            (X, (10, 10), (10, 1)),
            RuntimeError,
            r"setStorage: sizes \[10, 10\], strides \[10, 1\].* out of bounds",
        ),
        ("as_strided", (X, (1,), (-1,)), RuntimeError, "Negative strides are not supported"),
        ("as_strided", (X, (1,), (1, 2)), RuntimeError, "mismatch in length of strides and shape"),
        (
            "view.dtype",
            (X[:, :, :3], np.dtype("float64")),
            RuntimeError,
            r"self.size\(-1\) must be divisible by 2",
        ),
        (
            "view.dtype",
            (np.array(1.0), np.dtype("float16")),
            RuntimeError,
            r"self.dim\(\) cannot be 0 to view Double as Half",
        ),
        ("view_as_real", (X,), RuntimeError, "only supported for complex tensors"),
        ("view_as_complex", (X,), RuntimeError, "last dimension of size 2"),
        ("view_as_complex", (np.zeros((2, 2)).T,), RuntimeError, "last dimension with stride 1"),
    ),
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_wrong_view_raises_what_pytorch_raises(name, args, error, words, kernel):
    with pytest.raises(error, match=words):
        kernel(name, *args)


def test_the_backward_of_a_view_puts_the_gradient_where_it_was_taken_from(compare):
    grad = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    compare("select_backward", grad, (2, 4, 3), 1, -1)
    compare("slice_backward", grad, (2, 7), 1, 1, 7, 2)
    compare("diagonal_backward", np.ones((4, 2), np.float32), (2, 4, 3), 1, 0, 2)
    compare("diagonal_backward", np.ones(3, np.float32), (3, 4), 1, 0, 1)
