"""Composites that are recorded as one call: they compute and show what two calls would."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from small_library import close, tensor

import dovetail_autograd as autograd
from dovetail_autograd import Node
from dovetail_dispatcher import ops

pytestmark = pytest.mark.skipif(
    not hasattr(ops.aten, "linear"), reason="the small library has no composites"
)

RANDOM = np.random.default_rng(0)
X, WEIGHT, BIAS = (RANDOM.standard_normal(size) for size in ((4, 3), (2, 3), (2,)))
SEED = RANDOM.standard_normal((4, 2))


def real(values: Any, requires_grad: bool = True) -> Any:
    return tensor(values, requires_grad, np.float64)


def is_fused(result: Any) -> bool:
    """Look at the node without having it presented."""
    node = result._grad_fn
    return node._fusion is not None and not isinstance(node.inner, Node)


def linear(needs: tuple[bool, bool, bool] = (True, True, True)) -> tuple[Any, list[Any]]:
    given = [real(v, n) for v, n in zip((X, WEIGHT, BIAS), needs, strict=True)]
    return ops.aten.linear(*given), given


EXPECTED = (SEED @ WEIGHT, SEED.T @ X, SEED.sum(0))


@pytest.mark.parametrize(
    "needs", [(True, True, True), (False, True, True), (True, True, False), (False, True, False)]
)
@pytest.mark.parametrize("split", [False, True])
def test_a_layer_has_its_gradients_fused_and_split(needs: Any, split: bool) -> None:
    result, given = linear(needs)
    close(result, X @ WEIGHT.T + BIAS)
    assert is_fused(result)
    if split:
        assert result.grad_fn is not None
        assert not is_fused(result)
    result.backward(real(SEED, False))
    for each, expected, needed in zip(given, EXPECTED, needs, strict=True):
        if needed:
            close(each.grad, expected)
        else:
            assert each.grad is None


def test_a_layer_whose_weight_needs_no_gradient_is_two_calls() -> None:
    result, (x, _, bias) = linear((True, False, True))
    assert not is_fused(result)
    result.backward(real(SEED, False))
    close(x.grad, EXPECTED[0])
    close(bias.grad, EXPECTED[2])


def test_who_looks_sees_two_nodes() -> None:
    result, (x, weight, bias) = linear()
    node = result.grad_fn
    assert node.name() == "AddmmBackward0"
    names = [each and each.name() for each, _ in node.next_functions]
    assert names == [
        "dovetail::autograd::AccumulateGrad",
        "dovetail::autograd::AccumulateGrad",
        "TBackward0",
    ]
    inner = node.next_functions[2][0]
    assert inner.next_functions[0][0] is autograd.gradient_edge(weight)[0]
    assert inner._input_metadata[0].shape == (3, 2)
    assert inner._sequence_nr() < node._sequence_nr()
    close(node._saved_mat2, WEIGHT.T)
    assert node._saved_mat2.grad_fn is inner
    assert node._saved_mat2._is_view()
    close(node._saved_mat1, X)
    saved = {each.name: each.state for each in autograd.saved_values(node)}
    assert saved["mat1"] == saved["mat2"] == "kept"
    result.backward(real(SEED, False))
    for each, expected in zip((x, weight, bias), EXPECTED, strict=True):
        close(each.grad, expected)
    freed = {each.name: each.state for each in autograd.saved_values(node)}
    assert freed["mat1"] == freed["mat2"] == "freed"


def test_a_graph_that_ran_shows_that_it_is_freed() -> None:
    result, _ = linear()
    result.backward(real(SEED, False))
    node = result.grad_fn
    assert {each.state for each in autograd.saved_values(node)} >= {"freed"}
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        result.backward(real(SEED, False))


def test_a_hook_on_the_node_runs() -> None:
    result, (x, _, _) = linear()
    seen = []
    result._grad_fn.register_hook(lambda inputs, outputs: seen.append([g.shape for g in inputs]))
    assert not is_fused(result)
    result.backward(real(SEED, False))
    assert [[tuple(shape) for shape in shapes] for shapes in seen] == [[(2,), (4, 3), (3, 2)]]
    close(x.grad, EXPECTED[0])


def test_the_gradient_of_one_input_is_captured() -> None:
    result, (x, weight, bias) = linear()
    found = autograd.grad(result, (weight, bias), real(SEED, False), retain_graph=True)
    close(found[0], EXPECTED[1])
    close(found[1], EXPECTED[2])
    (found,) = autograd.grad(result, x, real(SEED, False))
    close(found, EXPECTED[0])


def test_second_derivatives_go_through_both() -> None:
    result, (x, weight, _) = linear()
    seed = real(SEED)
    of_x, of_weight = autograd.grad(result, (x, weight), seed, create_graph=True)
    close(of_x, EXPECTED[0])
    ops.aten.sum(of_x).backward()
    close(weight.grad, np.tile(SEED.sum(0)[:, None], (1, 3)))
    assert of_weight.requires_grad


@pytest.mark.parametrize("part", [0, 1])
def test_a_write_to_what_was_saved_is_found(part: int) -> None:
    given = [ops.aten.clone(real(v)) for v in (X, WEIGHT, BIAS)]
    result = ops.aten.linear(*given)
    assert is_fused(result)
    ops.aten.add_.Tensor(given[part], real(1.0, False))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.backward(real(SEED, False))


def test_what_is_observed_is_recorded_as_two() -> None:
    packed = []
    with autograd.saved_tensors_hooks(lambda t: (packed.append(tuple(t.shape)), t)[1], lambda t: t):
        result, (x, _, _) = linear()
    assert not is_fused(result)
    assert sorted(packed) == [(3, 2), (4, 3)]
    result.backward(real(SEED, False))
    close(x.grad, EXPECTED[0])


def test_calls_of_another_form_are_two() -> None:
    x, weight, bias = real(X[0]), real(WEIGHT), real(BIAS)
    result = ops.aten.linear(x, weight, bias)
    close(result, X[0] @ WEIGHT.T + BIAS)
    assert not is_fused(result)
    result = ops.aten.linear(real(X), weight)
    assert not is_fused(result)
    with autograd.no_grad():
        result = ops.aten.linear(real(X), weight, bias)
    assert result._grad_fn is None
    close(result, X @ WEIGHT.T + BIAS)


def test_two_threads_split_a_node_once() -> None:
    for _ in range(20):
        result, _ = linear()
        barrier = Barrier(2)
        seen = []

        def look(barrier: Any = barrier, seen: Any = seen, result: Any = result) -> None:
            barrier.wait()
            seen.append(result.grad_fn.next_functions[2][0])

        threads = [Thread(target=look) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert seen[0] is seen[1]
