"""NumPy's functions take tensors and give what they give of PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from same_programs import tried

import dovetail

# NumPy 2 warns of PyTorch's `__array_wrap__` and `__array__`, which are of NumPy 1.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.cpu_only(reason="NumPy reads memory of the host"),
]

A = np.array([1.0, 2.0, 3.0])
PICK = np.array([True, False, True])

CASES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "sin": lambda t, m, i, z: np.sin(t),
    "exp of integers": lambda t, m, i, z: np.exp(i),
    "sqrt into an array": lambda t, m, i, z: np.sqrt(t, out=np.empty(3, np.float32)),
    "add": lambda t, m, i, z: np.add(t, A),
    "add, other way": lambda t, m, i, z: np.add(A, t),
    "tensor + array": lambda t, m, i, z: t + A,
    "number + tensor": lambda t, m, i, z: np.float64(2) + t,
    "tensor + number": lambda t, m, i, z: t + np.float64(2),
    "small integer * tensor": lambda t, m, i, z: np.int8(3) * i,
    "array == tensor": lambda t, m, i, z: t == A,
    "matrix @ array": lambda t, m, i, z: m @ np.ones((3, 2), np.float32),
    "divmod": lambda t, m, i, z: np.divmod(A, t),
    "concatenate": lambda t, m, i, z: np.concatenate([t, t]),
    "stack": lambda t, m, i, z: np.stack([t, A]),
    "vstack": lambda t, m, i, z: np.vstack([t, t]),
    "asarray": lambda t, m, i, z: np.asarray(t),
    "asarray of a dtype": lambda t, m, i, z: np.asarray(t, dtype=np.float64),
    "array": lambda t, m, i, z: np.array(t),
    "array of tensors": lambda t, m, i, z: np.array([t, t]),
    "array of scalars": lambda t, m, i, z: np.array([z, z]),
    "array of a tensor that requires grad": lambda t, m, i, z: np.asarray(t.requires_grad_()),
    "sin of a tensor that requires grad": lambda t, m, i, z: np.sin(t.requires_grad_()),
    "argmax": lambda t, m, i, z: np.argmax(t),
    "clip": lambda t, m, i, z: np.clip(t, 2, 5),
    "where": lambda t, m, i, z: np.where(i > 1, t, A),
    "array[tensor]": lambda t, m, i, z: A[i - 1],
    "array[mask]": lambda t, m, i, z: A[i > 1],
    "tensor[array]": lambda t, m, i, z: t[np.array([0, 2])],
    "tensor[number]": lambda t, m, i, z: t[np.int64(1)],
    "tensor[mask of NumPy]": lambda t, m, i, z: t[PICK],
    "dot": lambda t, m, i, z: np.dot(t, t),
    "matmul": lambda t, m, i, z: np.matmul(m, m.mT),
    "reshape": lambda t, m, i, z: np.reshape(m, (3, 2)),
    "shape": lambda t, m, i, z: np.shape(m),
    "ndim": lambda t, m, i, z: np.ndim(m),
    "transpose": lambda t, m, i, z: np.transpose(m),
    "allclose": lambda t, m, i, z: np.allclose(t, t),
    "array_equal": lambda t, m, i, z: np.array_equal(t, t),
    "linspace": lambda t, m, i, z: np.linspace(z, 5, 3),
    "arange": lambda t, m, i, z: np.arange(i[1]),
    "zeros": lambda t, m, i, z: np.zeros(i[1]),
    "zeros of a size": lambda t, m, i, z: np.zeros(m.shape),
    "full": lambda t, m, i, z: np.full((2,), z),
    "zeros_like": lambda t, m, i, z: np.zeros_like(i),
    "unique": lambda t, m, i, z: np.unique(i),
    "sort": lambda t, m, i, z: np.sort(t),
    "cumsum": lambda t, m, i, z: np.cumsum(t),
    "searchsorted": lambda t, m, i, z: np.searchsorted(t, 2.0),
    "interp": lambda t, m, i, z: np.interp(z, A, t),
    "histogram": lambda t, m, i, z: np.histogram(t, 2),
    "norm": lambda t, m, i, z: np.linalg.norm(t),
    "multiply where": lambda t, m, i, z: np.multiply(t, 2, where=PICK, out=np.zeros(3)),
    "add.reduce": lambda t, m, i, z: np.add.reduce(t),
    "add.outer": lambda t, m, i, z: np.add.outer(t, t),
    "float64": lambda t, m, i, z: np.float64(z),
    "modf": lambda t, m, i, z: np.modf(t),
    "frexp": lambda t, m, i, z: np.frexp(t),
    "round": lambda t, m, i, z: np.round(t),
    "negative": lambda t, m, i, z: np.negative(t),
    "result_type": lambda t, m, i, z: str(np.result_type(t, A)),
    "broadcast_to": lambda t, m, i, z: np.broadcast_to(t, (2, 3)),
    "choice": lambda t, m, i, z: np.random.default_rng(0).choice(i),
    "priority": lambda t, m, i, z: t.__array_priority__,
    "protocol": lambda t, m, i, z: hasattr(t, "__array_function__"),
    "bfloat16": lambda t, m, i, z: np.asarray(t.bfloat16()),
    "meta": lambda t, m, i, z: np.asarray(t.to("meta")),
}


def described(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [described(each) for each in value]
    kind = type(value).__name__
    return kind, str(getattr(value, "dtype", "")).replace("dovetail.", "torch."), np.array(value)


@pytest.mark.parametrize("case", CASES)
def test_functions_of_numpy_give_what_they_give_of_pytorch(case: str) -> None:
    def run(library: Any) -> Any:
        tensors = (
            library.tensor([1.0, 4.0, 9.0]),
            library.ones(2, 3),
            library.tensor([1, 2, 3]),
            library.tensor(2.0),
        )

        def text() -> str:
            return repr(described(CASES[case](*tensors)))

        return tried(text, words=30)

    assert run(dovetail) == run(torch)


def test_booleans_stay_booleans() -> None:
    # PyTorch makes bytes of them, since NumPy's booleans had no dtype there once.
    assert np.isnan(torch.ones(1)).dtype is torch.uint8
    found = np.isnan(dovetail.ones(1))
    assert found.dtype is dovetail.bool  # type: ignore[comparison-overlap]
