"""`dovetail.utils.explain_grad`: why a gradient is None, zero, nan or infinite."""

from __future__ import annotations

import warnings

import pytest

import dovetail
from dovetail import Tensor
from dovetail.utils import explain_grad


def leaf(*values: float) -> Tensor:
    return dovetail.tensor(list(values), dtype=dovetail.float32, requires_grad=True)


def told(tensor: Tensor, output: Tensor | None = None, **options: object) -> tuple[str, str]:
    """Return what the gradient is, and the sentences on one line."""
    explanation = explain_grad(tensor, output, **options)  # type: ignore[arg-type]
    return explanation.gradient, " ".join(str(explanation).split())


def test_integers_have_no_gradient() -> None:
    assert told(dovetail.arange(3)) == (
        "none",
        "tensor int64[3]: its gradient is None. • Its dtype is dovetail.int64: only floating "
        "point and complex tensors "
        "have gradients. → Convert it before it is used: x = x.float().requires_grad_().",
    )


def test_a_constant_does_not_require_grad() -> None:
    assert "It does not require grad" in told(dovetail.ones(2))[1]


def test_inference_tensors_are_named_as_such() -> None:
    with dovetail.inference_mode():
        x = dovetail.ones(2)
    assert "made in inference mode" in told(x)[1]


def test_a_non_leaf_needs_retain_grad() -> None:
    y = leaf(1, 2) * 2
    loss = y.sum()
    loss.backward(retain_graph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind, text = told(y, loss)
    assert kind == "none"
    assert "It is not a leaf: MulBackward0 made it" in text
    assert "Call tensor.retain_grad() before backward()" in text
    assert "no backward has run" not in text


def test_without_an_output_it_asks_for_one() -> None:
    assert "Call explain_grad(tensor, output)" in told(leaf(1))[1]


def test_a_path_that_was_not_run_says_call_backward() -> None:
    x = leaf(1, 2)
    assert "Call output.backward()" in told(x, x.exp().sum())[1]


def test_a_freed_graph_says_that_the_gradient_was_not_kept() -> None:
    x = leaf(1, 2)
    loss = x.exp().sum()
    dovetail.autograd.grad(loss, x)
    assert "which freed it, but its gradient was not kept" in told(x, loss)[1]


def test_no_path_names_the_leaves_that_are_reached() -> None:
    x, y = leaf(1), leaf(2)
    _, text = told(x, (y * 2).sum(), params={"y": y})
    assert "No path leads from the output to it. The graph of 3 nodes reaches y." in text


def test_a_detached_output_is_found_in_a_trace_with_its_line() -> None:
    x = leaf(1, 2)
    with dovetail.tracing() as t:
        loss = x.exp().detach().sum()
    text = told(x, loss, trace=t)[1]
    assert "The output does not require grad, so it has no graph" in text
    assert "aten::detach at " in text
    assert "test_explain_grad.py:" in text
    assert "no gradient passes through that call" in text


def test_a_dead_relu_is_named() -> None:
    x = leaf(-1, -2)
    loss = (x * 3).relu().sum()
    loss.backward(retain_graph=True)
    kind, text = told(x, loss)
    assert kind == "zero"
    assert "ReluBackward0 got a gradient that is not zero and returned zeros" in text
    assert "Every input was negative or zero" in text
    assert "MulBackward0" not in text


def test_only_the_way_to_the_tensor_counts() -> None:
    x, zero = leaf(1, 2), dovetail.zeros(2, requires_grad=True)
    loss = (x * zero).sum()
    loss.backward(retain_graph=True)
    assert "MulBackward0 got a gradient that is not zero and returned zeros" in told(x, loss)[1]
    assert explain_grad(zero, loss).gradient == "ordinary"


def test_contributions_that_cancel_are_said_to() -> None:
    x = leaf(1, 2)
    loss = (x.exp() - x.exp()).sum()
    loss.backward(retain_graph=True)
    assert "contributions along several paths cancel" in told(x, loss)[1]


def test_a_gradient_that_was_zeroed_is_told_from_one_that_is_zero() -> None:
    x = leaf(1, 2)
    loss = x.exp().sum()
    loss.backward(retain_graph=True)
    assert x.grad is not None
    x.grad.zero_()
    assert "zero_grad(set_to_none=False) came after backward" in told(x, loss)[1]


def test_the_node_that_made_the_first_nan_is_named_with_its_remedy() -> None:
    x = leaf(0, 1)
    loss = (x.sqrt() * 0).sum()
    loss.backward(retain_graph=True)
    kind, text = told(x, loss)
    assert kind == "nan"
    assert "In backward, SqrtBackward0 got finite gradients and returned nan ones" in text
    assert "add a small number under the root" in text


def test_the_line_of_the_forward_call_is_known_in_anomaly_mode() -> None:
    x = leaf(0, 1)
    with dovetail.autograd.set_detect_anomaly(True, check_nan=False):
        loss = x.log().sum()
        loss.backward(retain_graph=True)
    kind, text = told(x, loss)
    assert kind == "infinite"
    assert "LogBackward0 (recorded at " in text
    assert "test_explain_grad.py:" in text


def test_a_forward_run_that_is_not_finite_already_is_named() -> None:
    x = leaf(-1, 1)
    loss = x.log().exp().sum()
    loss.backward(retain_graph=True)
    text = told(x, loss)[1]
    assert "The output itself is nan already" in text
    assert (
        "In forward, ExpBackward0 is the first to have saved something not finite: result" in text
    )


def test_a_freed_graph_cannot_be_replayed() -> None:
    x = leaf(-1)
    loss = (x * x).relu().sum() * 0
    loss.backward()
    assert "cannot be replayed" in told(x, loss)[1]


def test_an_ordinary_gradient_needs_no_reason() -> None:
    x = leaf(1)
    x.exp().sum().backward()
    assert explain_grad(x).gradient == "ordinary"
    assert explain_grad(x).reasons == ()


def test_asking_changes_no_gradient() -> None:
    x = leaf(-1, -2)
    loss = x.relu().sum()
    loss.backward(retain_graph=True)
    explain_grad(x, loss)
    loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0]


def test_a_long_chain_is_no_problem() -> None:
    y = x = leaf(1)
    for _ in range(100_000):
        y = y * 1.0
    assert "Call output.backward()" in told(x, y)[1]


def test_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="was given a int"):
        explain_grad(3)  # type: ignore[arg-type]


def test_sentences_fit_a_hundred_columns() -> None:
    x = leaf(1)
    assert all(len(line) <= 100 for line in str(explain_grad(x, leaf(2) * 2)).splitlines())
