"""NumPy's functions of tensors that require grad are operators: values, dtypes and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail

pytestmark = pytest.mark.cpu_only(reason="NumPy computes with the memory of the CPU")

VALUES = [[2.0, 0.5, 0.1], [0.3, 3.0, 0.2], [0.1, 0.4, 1.5]]
MATRIX = dovetail.tensor(VALUES, dtype=dovetail.float64, device="cpu")
ROW = np.array([[1.0, 2.0, 3.0]])
ROTATED = np.array([[1.0, 20.0, 1.0], [-20.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
POSITIVE = np.array([2, 0, 1])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "append": lambda x: np.append(x, [1.0, 2.0]),
    "append of rows": lambda x: np.append(x, ROW, axis=0),
    "array_split": lambda x: np.array_split(x, 2)[1],
    "array_split at": lambda x: np.array_split(x, [1], axis=1)[1],
    "around": lambda x: np.around(x, 1) + x,
    "atleast_3d": lambda x: np.atleast_3d(x[0]),
    "average": lambda x: np.average(x, axis=1, weights=[1.0, 2.0, 4.0]),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x[0], x)[0],
    "clip": lambda x: np.clip(x, 0.25, 2.25),
    "clip by arrays": lambda x: np.clip(x, ROW / 10, None),
    "column_stack": lambda x: np.column_stack([x, x[0]]),
    "concatenate of all": lambda x: np.concatenate([x, ROW], axis=None),
    "convolve": lambda x: np.convolve(x[0], x[1]),
    "convolve, same size": lambda x: np.convolve(x[0], [1.0, 0.5, 2.0, 3.0], mode="same"),
    "copy": np.copy,
    "cross": lambda x: np.cross(x, x[::1].T),
    "cross of columns": lambda x: np.cross(x, ROW.T, axisa=0, axisb=0),
    "delete": lambda x: np.delete(x, 1, axis=1),
    "diag": np.diag,
    "diag of a vector": lambda x: np.diag(x[0], k=1),
    "diagflat": np.diagflat,
    "diagonal": lambda x: np.diagonal(x, 1),
    "diff": lambda x: np.diff(x, axis=0),
    "dsplit": lambda x: np.dsplit(x.reshape(1, 3, 3), 3)[2],
    "eig": lambda x: np.abs(np.linalg.eig(x)[0]),
    "eigvals that are real": lambda x: np.linalg.eigvals(x + x.T),
    "eigvals that are not": lambda x: np.abs(np.linalg.eigvals(x * ROTATED)),
    "expand_dims of two": lambda x: np.expand_dims(x, (0, 2)),
    "flip": np.flip,
    "flip of rows": lambda x: np.flip(x, axis=1) - np.fliplr(x) / 2 + np.flipud(x),
    "gradient": lambda x: np.gradient(x, axis=1),
    "gradient by spacing": lambda x: np.gradient(x, 0.5)[1],
    "hsplit": lambda x: np.hsplit(x, [1, 2])[2],
    "hstack of one": np.hstack,
    "inner": lambda x: np.inner(x, ROW),
    "kron": lambda x: np.kron(x, ROW),
    "matrix_power": lambda x: np.linalg.matrix_power(x, 3),
    "matrix_norm": np.linalg.matrix_norm,
    "mean": lambda x: np.mean(x, axis=(0, 1), keepdims=True),
    "median": lambda x: np.median(x, axis=0),
    "meshgrid": lambda x: np.meshgrid(x[0], [1.0, 2.0])[0],
    "multi_dot": lambda x: np.linalg.multi_dot([x, x, ROW.T]),
    "nan_to_num": np.nan_to_num,
    "nansum": lambda x: np.nansum(x, axis=1),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=2.0),
    "pad by reflection": lambda x: np.pad(x, 2, mode="reflect"),
    "pad by the edge": lambda x: np.pad(x, (1, 2), "edge"),
    "partition": lambda x: np.partition(x, 1, axis=1)[:, 1],
    "percentile": lambda x: np.percentile(x, 30),
    "pinv": np.linalg.pinv,
    "polyval": lambda x: np.polyval([2.0, 1.0, 3.0], x),
    "prod": np.prod,
    "prod of rows": lambda x: np.prod(x, axis=1, keepdims=True),
    "ptp": lambda x: np.ptp(x, axis=0),
    "qr": lambda x: np.linalg.qr(x)[1],
    "qr of a tall matrix": lambda x: np.linalg.qr(x[:, :2])[0],
    "quantile": lambda x: np.quantile(x, [0.25, 0.5], axis=1),
    "repeat": lambda x: np.repeat(x, 2),
    "repeat of rows": lambda x: np.repeat(x, [1, 0, 2], axis=0),
    "rollaxis": lambda x: np.rollaxis(x.reshape(3, 1, 3), 2),
    "rot90": lambda x: np.rot90(x, 3),
    "select": lambda x: np.select([np.array(VALUES) > 1, x < 0.35], [x, x * 2], 5.0),
    "sinc": np.sinc,
    "solve of matrices": lambda x: np.linalg.solve(np.stack([x, x + 1]), np.array(VALUES[:3])),
    "solve of a vector": lambda x: np.linalg.solve(x, ROW[0]),
    "sort of all": lambda x: np.sort(x[:2], axis=None),
    "split": lambda x: np.split(x, 3)[1],
    "squeeze": lambda x: np.squeeze(x[:1], axis=0),
    "std": np.std,
    "std of columns": lambda x: np.std(x, axis=0, ddof=1, keepdims=True),
    "svd": lambda x: np.linalg.svd(x, compute_uv=False),
    "take": lambda x: np.take(x, [[0, 4], [2, 2]]),
    "take of columns": lambda x: np.take(x, POSITIVE, axis=1),
    "take_along_axis": lambda x: np.take_along_axis(x, POSITIVE[:, None], axis=1),
    "tile": lambda x: np.tile(x, (2, 1)),
    "trace": lambda x: np.trace(x, offset=1),
    "trapezoid": lambda x: np.trapezoid(x, dx=0.5, axis=0),
    "trapezoid over": lambda x: np.trapezoid(x, [1.0, 2.0, 4.0]),
    "unstack": lambda x: np.unstack(x, axis=1)[2] if hasattr(np, "unstack") else x[:, 2],
    "var": lambda x: np.var(x, axis=1),
    "vdot": lambda x: np.vdot(x, x.T),
    "vector_norm": lambda x: np.linalg.vector_norm(x, axis=1),
    "fft": lambda x: np.abs(np.fft.fft(x)),
    "fft of columns": lambda x: np.fft.irfft(np.fft.rfft(x, axis=0), n=5, axis=0),
    "fft of two axes": lambda x: np.real(np.fft.fft2(x)) + np.imag(np.fft.fftn(x, norm="ortho")),
    "fftshift": np.fft.fftshift,
    "amax": lambda x: np.amax(x, axis=1),
    "amin": lambda x: np.min(x, axis=0, keepdims=True),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 3)),
    "concatenate": lambda x: np.concatenate([x, ROW, x], axis=0),
    "concatenate along the last": lambda x: np.concatenate((x, x), -1),
    "cumsum": np.cumsum,
    "cumsum of rows": lambda x: np.cumsum(x, axis=1),
    "cumprod": lambda x: np.cumprod(x, 0),
    "det": np.linalg.det,
    "dot": lambda x: np.dot(x, x),
    "dot of arrays": lambda x: np.dot(ROW, x),
    "dot of more dimensions": lambda x: np.dot(x, np.ones((2, 3, 4))),
    "dot of a number": lambda x: np.dot(x, np.array(2.0)),
    "dstack": lambda x: np.dstack([x, x]),
    "einsum": lambda x: np.einsum("ij,jk->ki", x, x),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "hstack": lambda x: np.hstack([x, x]),
    "inv": np.linalg.inv,
    "max": np.max,
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "norm": np.linalg.norm,
    "norm of rows": lambda x: np.linalg.norm(x, axis=1),
    "norm of order 1": lambda x: np.linalg.norm(x, 1),
    "outer": lambda x: np.outer(x, ROW),
    "ravel": np.ravel,
    "reshape": lambda x: np.reshape(x, (1, 9)),
    "roll": lambda x: np.roll(x, 1),
    "roll of rows": lambda x: np.roll(x, 1, axis=0),
    "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "solve": lambda x: np.linalg.solve(x, ROW.T),
    "sort": lambda x: np.sort(x, axis=0),
    "stack": lambda x: np.stack([x, np.array(VALUES)], axis=1),
    "sum": np.sum,
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "tensordot": lambda x: np.tensordot(x, x),
    "tensordot of axes": lambda x: np.tensordot(x, x, axes=(0, 1)),
    "transpose": np.transpose,
    "transpose by axes": lambda x: np.transpose(x, (1, 0)),
    "triangles": lambda x: np.tril(x, -1) + np.triu(x, k=1),
    "vstack": lambda x: np.vstack([x, ROW]),
    "where": lambda x: np.where(np.array(VALUES) > 1, x, 0.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_tensors_that_require_grad(name: str) -> None:
    function = FUNCTIONS[name]
    x = MATRIX.clone().requires_grad_()
    made = function(x)
    plain = function(np.array(VALUES))
    assert made.requires_grad
    assert tuple(made.shape) == np.shape(plain)
    np.testing.assert_allclose(made.detach().numpy(), np.asarray(plain), atol=1e-14)
    single = function(x.detach().float().requires_grad_()).detach().numpy()
    assert single.dtype == function(np.array(VALUES, np.float32)).dtype
    assert dovetail.autograd.gradcheck(function, (x,))


def test_tensors_without_gradients_are_arrays_to_numpy() -> None:
    x = MATRIX.clone()
    assert not hasattr(x, "__array_function__")
    assert hasattr(x.requires_grad_(), "__array_function__")
    assert type(np.concatenate([MATRIX, MATRIX])) is np.ndarray
    assert type(np.linalg.norm(MATRIX)) is np.float64


def test_functions_without_an_operator_refuse_gradients() -> None:
    x = MATRIX.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="requires grad"):
        np.unwrap(x)
    with pytest.raises(TypeError):
        np.concatenate([x, x], out=np.empty((6, 3)))


@pytest.mark.parametrize("function", [np.dot, np.outer])
def test_an_array_by_keyword_is_an_operand(function: Any) -> None:
    x = dovetail.tensor([1.0, 2.0], requires_grad=True)
    made = function(x, b=np.array([3.0, 4.0], np.float32))
    made.sum().backward()
    assert made.tolist() == function(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    assert x.grad is not None
    assert x.grad.tolist() == ([3.0, 4.0] if function is np.dot else [7.0, 7.0])


INDICES: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: np.all(x > 0),
    "any": lambda x: np.any(x > 1, axis=0),
    "allclose": lambda x: np.allclose(x, np.array(VALUES)),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argsort": np.argsort,
    "array_equal": lambda x: np.array_equal(x, x),
    "count_nonzero": np.count_nonzero,
    "isclose": lambda x: np.isclose(x, 0.5),
    "iscomplexobj": np.iscomplexobj,
    "matrix_rank": np.linalg.matrix_rank,
    "nonzero": lambda x: np.nonzero(x)[1],
    "searchsorted": lambda x: np.searchsorted([0.0, 1.0, 2.0], x),
    "shape": np.shape,
    "full_like": lambda x: np.full_like(x, 2.5),
    "zeros_like": np.zeros_like,
}


@pytest.mark.parametrize("name", INDICES)
def test_functions_without_a_gradient_give_what_numpy_gives(name: str) -> None:
    function = INDICES[name]
    made = function(MATRIX.clone().requires_grad_())
    np.testing.assert_array_equal(np.asarray(made), np.asarray(function(np.array(VALUES))))


def test_functions_are_seen_by_transforms() -> None:
    def function(x: Any) -> Any:
        return np.std(np.pad(np.cumsum(x, axis=0), 1)) + np.linalg.norm(np.kron(x, x))

    expected = dovetail.tensor([function(each.numpy()) for each in (MATRIX, MATRIX.T)])
    both = dovetail.stack([MATRIX, MATRIX.T])
    dovetail.testing.assert_close(dovetail.vmap(function)(both), expected)
    x = MATRIX.clone().requires_grad_()
    (wanted,) = dovetail.autograd.grad(function(x), x)
    dovetail.testing.assert_close(dovetail.func.grad(function)(MATRIX), wanted)


def test_splits_that_do_not_divide_are_refused() -> None:
    x = MATRIX.clone().requires_grad_()
    with pytest.raises(ValueError, match="equal division"):
        np.split(x, 2)
    with pytest.raises(ValueError, match="squeeze"):
        np.squeeze(x, axis=0)
    with pytest.raises(TypeError, match="mode"):
        np.pad(x, 1, mode="mean")


def test_arrays_of_other_dtypes_promote_as_in_numpy() -> None:
    for other in (
        np.array([[1], [2], [3]]),
        np.ones((3, 1)),
        np.ones((3, 1), np.float16),
        [[1.0]] * 3,
    ):
        array = np.array(VALUES, np.float32)
        x = dovetail.tensor(array, requires_grad=True)
        for function in (np.dot, np.kron, lambda a, b: np.concatenate([a, b], axis=1)):
            assert function(x, other).detach().numpy().dtype == function(array, other).dtype
