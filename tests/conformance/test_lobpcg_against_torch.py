"""`lobpcg`: a few eigenvalues, beside PyTorch's and beside all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

BOTH = pytest.mark.parametrize("t", [torch, dovetail], ids=["torch", "dovetail"])


def matrix(t: Any, rows: int, seed: int, least: float = 1.0) -> Any:
    half = t.tensor(np.random.default_rng(seed).standard_normal((rows, rows)))
    return half @ half.mT + least * t.eye(rows, dtype=t.float64)


CASES: dict[str, Any] = {
    "the greatest": lambda t: {"k": 2},
    "the least": lambda t: {"k": 3, "largest": False},
    "the basic method": lambda t: {"k": 2, "method": "basic"},
    "a metric": lambda t: {"k": 2, "B": matrix(t, 9, 5, 9.0)},
    "the least of a metric": lambda t: {"k": 2, "B": matrix(t, 9, 5, 9.0), "largest": False},
    "vectors to begin with": lambda t: {"X": t.eye(9, 2, dtype=t.float64) + 0.1},
    "a preconditioner": lambda t: {"k": 2, "iK": t.linalg.inv(matrix(t, 9, 3)), "largest": False},
    "a greater block": lambda t: {"k": 1, "n": 2},
    "nothing said": lambda t: {},
}


@pytest.mark.parametrize("name", CASES)
def test_eigenvalues_and_vectors_are_pytorchs(name: str) -> None:
    found = []
    for t in (torch, dovetail):
        t.manual_seed(1)
        options = CASES[name](t)
        A = matrix(t, 9, 3)
        metric = options.get("B", t.eye(9, dtype=t.float64))
        values, vectors = t.lobpcg(A, **options)
        t.testing.assert_close(A @ vectors, metric @ vectors * values, rtol=1e-5, atol=1e-5)
        gram = vectors.mT @ metric @ vectors
        t.testing.assert_close(gram, t.eye(len(gram), dtype=t.float64))
        found.append((values.cpu().numpy(), np.abs(vectors.cpu().numpy())))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@BOTH
def test_a_batch_is_solved_matrix_by_matrix(t: Any) -> None:
    A = t.stack([matrix(t, 8, 1), 2 * matrix(t, 8, 2)])
    values, vectors = t.lobpcg(A, k=2)
    assert (tuple(values.shape), tuple(vectors.shape)) == ((2, 2), (2, 8, 2))
    np.testing.assert_allclose(
        values.cpu().numpy(), t.linalg.eigvalsh(A).cpu().numpy()[:, :-3:-1], rtol=1e-6
    )


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("with_metric", [False, True])
def test_first_derivatives_are_those_of_all_eigenpairs(largest: bool, with_metric: bool) -> None:
    A, B = matrix(dovetail, 9, 3), matrix(dovetail, 9, 5, 9.0)

    def some(A: Any, B: Any) -> Any:
        A, B = (A + A.mT) / 2, (B + B.mT) / 2
        dovetail.manual_seed(0)
        metric = B if with_metric else None
        return dovetail.lobpcg(A, 2, metric, tol=1e-13, largest=largest)

    def every(A: Any, B: Any) -> Any:
        A, B = (A + A.mT) / 2, (B + B.mT) / 2
        root = dovetail.linalg.inv(dovetail.linalg.cholesky(B)) if with_metric else B * 0
        root = root if with_metric else root + dovetail.eye(9, dtype=A.dtype)
        values, vectors = dovetail.linalg.eigh(root @ A @ root.mT)
        chosen = [-1, -2] if largest else [0, 1]
        return values[chosen], (root.mT @ vectors)[:, chosen]

    def gradients(solve: Any) -> list[np.ndarray[Any, Any]]:
        given = [each.clone().requires_grad_() for each in (A, B)]
        values, vectors = solve(*given)
        weights = dovetail.arange(18.0, dtype=A.dtype).reshape(9, 2)
        ((values * weights[0]).sum() + (weights * vectors**4).sum()).backward()
        return [each.grad.cpu().numpy() for each in given if each.grad is not None]

    for ours, expected in zip(gradients(some), gradients(every), strict=False):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-8)


def test_second_derivatives_are_those_of_all_eigenpairs() -> None:
    def second(solve: Any) -> np.ndarray[Any, Any]:
        A = matrix(dovetail, 6, 3).requires_grad_()
        values, vectors = solve((A + A.mT) / 2)
        loss = (values**2).sum() + (vectors**4).sum()
        (first,) = dovetail.autograd.grad(loss, A, create_graph=True)
        (first * dovetail.arange(36.0, dtype=A.dtype).reshape(6, 6)).sum().backward()
        return A.grad.cpu().numpy()

    def every(A: Any) -> Any:
        values, vectors = dovetail.linalg.eigh(A)
        return values[[5, 4]], vectors[:, [5, 4]]

    ours = second(lambda A: dovetail.lobpcg(A, 2, tol=1e-13))
    np.testing.assert_allclose(ours, second(every), rtol=1e-5, atol=1e-6)


@BOTH
def test_what_cannot_be_solved_is_refused(t: Any) -> None:
    A = matrix(t, 6, 3)
    with pytest.raises(ValueError, match="not applicable when the number of A rows"):
        t.lobpcg(A, k=3)
    with pytest.raises(AssertionError, match="A must be square"):
        t.lobpcg(A[:, :3], k=1)
    with pytest.raises(AssertionError, match="A and B must have same shape"):
        t.lobpcg(A, k=1, B=t.eye(3))
    with pytest.raises(RuntimeError, match="dtype"):
        t.lobpcg(t.eye(6, dtype=t.int64), k=1)


def test_what_pytorch_takes_without_meaning_is_refused() -> None:
    A = matrix(dovetail, 6, 3)
    with pytest.raises(ValueError, match="1 or more"):
        dovetail.lobpcg(A, k=0)
    with pytest.raises(ValueError, match="method='power'"):
        dovetail.lobpcg(A, k=1, method="power")
    with pytest.raises(NotImplementedError, match="tracker"):
        dovetail.lobpcg(A, k=1, tracker=print)
