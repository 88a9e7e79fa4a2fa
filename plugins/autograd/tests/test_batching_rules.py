"""Operators of users under `vmap`: their rules, what rules return, and the loop without a rule."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from small_library import close, real

from dovetail_autograd.transforms import vmap
from dovetail_dispatcher import Library, ops, register_vmap
from dovetail_kernel import TensorBase

mul, add = ops.aten.mul.Tensor, ops.aten.add.Tensor
total, clone, select = ops.aten.sum.default, ops.aten.clone.default, ops.aten.select.int
add_ = ops.aten.add_.Tensor

ROWS = np.random.default_rng(0).standard_normal((3, 4))


@pytest.fixture
def lib() -> Iterator[Library]:
    made = Library("batching_rules", "FRAGMENT")
    yield made
    made._destroy()


def defined(lib: Library, schema: str, kernel: Any) -> Any:
    lib.define(schema)
    name = schema.partition("(")[0]
    lib.impl(name, kernel, "CPU")
    return getattr(ops.batching_rules, name).default


def scale_in(lib: Library) -> Any:
    """Define an operator without a rule, which multiplies by two numbers."""
    return defined(
        lib,
        "scale(Tensor x, int n=2, *, float k=1.0) -> Tensor",
        lambda x, n=2, *, k=1.0: mul(x, real(n * k)),
    )


def rule(lib: Library, function: Any) -> None:
    register_vmap("batching_rules::scale", function, lib=lib)


# -- the loop --------------------------------------------------------------------------------------


def test_an_operator_without_rule_runs_per_sample_and_warns_once(lib: Library) -> None:
    calls = []

    def kernel(x: Any) -> Any:
        calls.append(tuple(x.shape))
        return mul(x, x)

    square = defined(lib, "square(Tensor x) -> Tensor", kernel)
    text = "There is a performance drop because we have not yet implemented the batching rule for "
    with pytest.warns(UserWarning, match=re.escape(text + "batching_rules::square")):
        close(vmap(square, in_dims=1)(real(ROWS)), (ROWS**2).T)
    assert calls == [(3,)] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(vmap(square)(real(ROWS)), ROWS**2)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
class TestLoop:
    def test_it_hands_on_numbers_and_keywords(self, lib: Library) -> None:
        scale = scale_in(lib)
        close(vmap(lambda x: scale(x, 3, k=0.5))(real(ROWS)), ROWS * 1.5)

    def test_it_writes_into_the_batch(self, lib: Library) -> None:
        grow_ = defined(lib, "grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)", add_)
        batch = real(ROWS)
        close(vmap(lambda x: grow_(x, clone(x)))(batch), ROWS * 2)
        close(batch, ROWS * 2)

    def test_it_takes_and_returns_lists(self, lib: Library) -> None:
        both = defined(
            lib, "both(Tensor[] x) -> Tensor[]", lambda x: [add(each, each) for each in x]
        )
        doubled, shared = vmap(lambda x: tuple(both([x, real([1.0])])))(real(ROWS))
        close(doubled, ROWS * 2)
        close(shared, np.full((3, 1), 2.0))

    def test_it_returns_several_results(self, lib: Library) -> None:
        parts = defined(lib, "parts(Tensor x) -> (Tensor, Tensor)", lambda x: (add(x, x), total(x)))
        doubled, sums = vmap(parts)(real(ROWS))
        close(doubled, ROWS * 2)
        close(sums, ROWS.sum(1))

    def test_it_runs_at_each_level(self, lib: Library) -> None:
        scale = scale_in(lib)
        batch = real(ROWS.reshape(3, 2, 2))
        close(vmap(vmap(scale))(batch), ROWS.reshape(3, 2, 2) * 2)

    def test_a_sample_is_not_written_into_what_is_shared(self, lib: Library) -> None:
        grow_ = defined(lib, "grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)", add_)
        message = r"vmap: batching_rules::grow_\(self, \*extra_args\) is not possible"
        with pytest.raises(RuntimeError, match=message):
            vmap(lambda x: grow_(real(np.ones(4)), x))(real(ROWS))

    def test_it_needs_a_sample(self, lib: Library) -> None:
        with pytest.raises(RuntimeError, match="does not support vmap over dims of size 0"):
            vmap(scale_in(lib))(real(ROWS[:0]))


@pytest.mark.parametrize(
    ("schema", "kernel", "text"),
    [
        (
            "op(Tensor(a) x) -> Tensor(a)",
            lambda x: select(x, 0, 0),
            "the fallback path doesn't work on out= or view ops. Register one",
        ),
        (
            "op(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            lambda x, *, out: out,
            "the fallback path doesn't work on out= or view ops. Use the operator without out=",
        ),
        (
            "op(Tensor x) -> ()",
            lambda x: None,
            "The fallback path does not support operations with no returns",
        ),
        ("op(Tensor x) -> float", lambda x: 1.0, "We could not generate a fallback"),
    ],
)
def test_what_cannot_be_looped_over_is_refused(
    lib: Library, schema: str, kernel: Any, text: str
) -> None:
    op = defined(lib, schema, kernel)
    named = {"out": real(np.ones(4))} if "out" in schema.partition("->")[0] else {}
    message = f"Batching rule not implemented for batching_rules::op.*{re.escape(text)}"
    with pytest.raises(RuntimeError, match=message):
        vmap(lambda x: op(x, **named))(real(ROWS))


# -- rules -----------------------------------------------------------------------------------------


def test_a_rule_gets_the_batch_and_where_it_lies(lib: Library) -> None:
    scale = scale_in(lib)
    seen = []

    def of_batch(info: Any, in_dims: Any, x: Any, n: int = 2, *, k: float = 1.0) -> Any:
        seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), n, k))
        return scale(x, n, k=k), in_dims[0]

    rule(lib, of_batch)
    close(vmap(scale, in_dims=1, randomness="same")(real(ROWS)), (ROWS * 2).T)
    close(vmap(lambda x: scale(x, 3, k=0.5))(real(ROWS)), ROWS * 1.5)
    assert seen == [(4, "same", (0,), (4, 3), 2, 1.0), (3, "error", (0, None), (3, 4), 3, 0.5)]


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_a_rule_says_where_the_batch_of_its_result_lies(lib: Library, dim: int) -> None:
    scale = scale_in(lib)
    rule(lib, lambda info, in_dims, x: (real(np.moveaxis(2 * x.array, 0, dim)), dim))
    close(vmap(scale)(real(ROWS)), 2 * ROWS)


def test_a_rule_may_return_what_all_samples_share(lib: Library) -> None:
    scale = scale_in(lib)
    rule(lib, lambda info, in_dims, x: (real([1.0, 2.0]), None))
    close(vmap(scale)(real(ROWS)), np.tile([1.0, 2.0], (3, 1)))
    close(vmap(scale, out_dims=None)(real(ROWS)), [1.0, 2.0])


def test_a_rule_is_not_asked_about_what_all_samples_share(lib: Library) -> None:
    scale = scale_in(lib)
    rule(lib, lambda info, in_dims, x: pytest.fail("asked"))
    fixed = real([1.0, 2.0])
    close(vmap(lambda x: scale(fixed), out_dims=None)(real(ROWS)), [2.0, 4.0])


def test_a_rule_gets_a_dimension_per_tensor_of_a_list(lib: Library) -> None:
    join = defined(lib, "join(Tensor[] x, Tensor y) -> Tensor[]", lambda x, y: list(x))
    seen = []

    def of_batch(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        seen.append(in_dims)
        return [mul(each, each) for each in x], [0, None]

    register_vmap("batching_rules::join", of_batch, lib=lib)
    first, second = vmap(lambda x: tuple(join([x, real([3.0])], real(1.0))), out_dims=(0, None))(
        real(ROWS)
    )
    assert seen == [([0, None], None)]
    close(first, ROWS**2)
    close(second, [9.0])


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (lambda x: x, RuntimeError, "Expected the vmap staticmethod to have two returns"),
        (lambda x: (x, 0, 0), RuntimeError, "Got 3 returns instead"),
        (lambda x: (x, (0, 0)), RuntimeError, "out_dims has structure (*, *) but output has"),
        (lambda x: (x, "0"), TypeError, "a batch dimension is an int or None, but got '0'"),
        (lambda x: (x, True), TypeError, "a batch dimension is an int or None, but got True"),
        (lambda x: (x, 2), IndexError, "in range of [-2, 1], but got 2"),
        (lambda x: (x, -3), IndexError, "in range of [-2, 1], but got -3"),
        (lambda x: (x, 1), RuntimeError, "of shape [3, 4] with batch dimension 1"),
        (lambda x: (3, None), (RuntimeError, TypeError), "scale"),
    ],
)
def test_what_a_rule_returns_is_checked(lib: Library, returned: Any, error: Any, text: str) -> None:
    scale = scale_in(lib)
    rule(lib, lambda info, in_dims, x: returned(x))
    with pytest.raises(error, match=re.escape(text)):
        vmap(scale)(real(ROWS))


def test_a_rule_for_a_write_writes_into_the_batch(lib: Library) -> None:
    grow_ = defined(lib, "grow_(Tensor(a!) x, Tensor y) -> Tensor(a!)", add_)
    register_vmap("batching_rules::grow_", lambda info, dims, x, y: (add_(x, y), 0), lib=lib)
    batch = real(ROWS)
    returned = []

    def function(x: Any) -> Any:
        returned.append(grow_(x, clone(x)) is x)
        return x

    close(vmap(function)(batch), 2 * ROWS)
    assert returned == [True]
    assert batch._version == 1


def test_a_rule_under_an_outer_map_gets_batches_of_it(lib: Library) -> None:
    scale = scale_in(lib)
    depths = []

    def of_batch(info: Any, in_dims: Any, x: Any) -> Any:
        depths.append((info.batch_size, x.dim()))
        return scale(x), 0

    rule(lib, of_batch)
    batch = ROWS.reshape(3, 2, 2)
    close(vmap(vmap(scale))(real(batch)), 2 * batch)
    assert depths == [(2, 2), (3, 3)]


def test_an_operator_that_decomposes_needs_no_rule(lib: Library) -> None:
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: add(x, x), "CompositeImplicitAutograd")
    close(vmap(ops.batching_rules.twice)(real(ROWS)), ROWS * 2)


def test_results_are_plain_tensors_outside(lib: Library) -> None:
    found = vmap(lambda x: mul(x, x))(real(ROWS))
    assert isinstance(found, TensorBase)
    assert type(found.array) is np.ndarray
