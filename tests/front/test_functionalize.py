"""What `functionalize` refuses, and what it leaves alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import dovetail
from dovetail.func import functionalize


def test_a_write_to_a_tensor_from_outside_is_refused_and_not_done() -> None:
    outside = dovetail.zeros(2)

    def f(x: Any) -> Any:
        outside.add_(x)
        return x

    with pytest.raises(
        RuntimeError,
        match=r"aten\.add_\.Tensor writes to its argument self, which is neither an arg",
    ):
        functionalize(f)(dovetail.ones(2))
    assert outside.tolist() == [0.0, 0.0]


def test_a_write_to_one_of_two_arguments_that_share_memory_is_refused() -> None:
    x = dovetail.zeros(2, 2)

    def f(a: Any, b: Any) -> Any:
        a.add_(1)
        return b.sum()

    with pytest.raises(RuntimeError, match="shares memory with another argument"):
        functionalize(f)(x, x[0])
    assert x.sum().item() == 0


def test_one_tensor_given_twice_is_one_argument() -> None:
    x = dovetail.zeros(2)
    result = functionalize(lambda a, b: (a.add_(1), b * 1)[1])(x, x)
    assert result.tolist() == x.tolist() == [1.0, 1.0]


def test_a_write_that_changes_the_shape_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"
    ):
        functionalize(lambda x: x.add_(dovetail.ones(3, 2)))(dovetail.ones(2))


def test_a_tensor_that_outlives_the_function_says_so() -> None:
    kept = []
    functionalize(lambda x: (kept.append(x * 2), x)[1])(dovetail.ones(2))
    with pytest.raises(RuntimeError, match="from inside a function that functionalize"):
        kept[0] + 1


def test_a_failing_function_leaves_its_arguments_and_no_mode() -> None:
    x = dovetail.zeros(2)

    def f(x: Any) -> Any:
        x.add_(1)
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        functionalize(f)(x)
    assert x.tolist() == [0.0, 0.0]
    assert type(dovetail.ones(1) + 1) is dovetail.Tensor


def test_random_writes_draw_the_same_numbers() -> None:
    def f(x: Any) -> Any:
        return x.clone().uniform_(), x.clone().normal_(1.0, 2.0)

    dovetail.manual_seed(3)
    expected = f(dovetail.zeros(4))
    dovetail.manual_seed(3)
    found = functionalize(f)(dovetail.zeros(4))
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_a_function_made_functional_may_be_made_functional_again() -> None:
    inner = functionalize(lambda x: (x[0].add_(1), x * 1)[1])
    assert functionalize(lambda x: inner(x.clone()))(dovetail.zeros(2)).tolist() == [1.0, 0.0]


def test_an_immutable_backend_computes_what_writes_would_have_done() -> None:
    result = functionalize(lambda x: (x.view(-1)[0].fill_(2), x)[1])(
        dovetail.zeros(2, 2, device="meta")
    )
    assert result.shape == (2, 2)
    assert result.is_meta


def test_memory_that_others_show_does_not_grow() -> None:
    def grown(x: Any) -> Any:
        y = x * 1
        row = y[0]
        y.resize_(5, 5)
        return row

    with pytest.raises(RuntimeError, match="resize_ to more elements than there are"):
        functionalize(grown)(dovetail.ones(2, 2))


def test_an_argument_is_not_set_to_other_memory() -> None:
    with pytest.raises(RuntimeError, match="set_ of an argument cannot be followed"):
        functionalize(lambda x: x.set_(dovetail.ones(3)))(dovetail.ones(2))
    with pytest.raises(RuntimeError, match="set_ to a storage cannot be followed"):
        functionalize(lambda x: (x * 1).set_(dovetail.ones(3).untyped_storage()))(dovetail.ones(2))


def test_a_tensor_is_set_to_a_part_of_another() -> None:
    def written(x: Any) -> Any:
        y = dovetail.zeros(1)
        y.set_(x, 1, (2,), (3,))
        y.add_(1)
        return y

    x, same = dovetail.arange(6.0), dovetail.arange(6.0)
    assert functionalize(written)(x).tolist() == written(same).tolist() == [2.0, 5.0]
    assert x.tolist() == same.tolist()


def test_views_in_place_take_the_attributes_of_a_wrapper_along() -> None:
    class Doubled(dovetail.Tensor):
        inner: dovetail.Tensor

        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            made = dovetail.Tensor._make_wrapper_subclass(
                cls, tuple(inner.shape), tuple(inner.stride()), dtype=inner.dtype
            )
            made.inner = inner
            return made

        def __init__(self, *_args: Any) -> None:
            pass

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = [each.inner if isinstance(each, Doubled) else each for each in args]
            return Doubled(func(*given, **(kwargs or {})))

    x = dovetail.arange(6.0).view(2, 3)
    wrapper: Any = Doubled(x)
    wrapper.t_().unsqueeze_(0)
    assert tuple(wrapper.shape) == tuple(wrapper.inner.shape) == (1, 3, 2)
    assert (wrapper * 2).inner.tolist() == [(x.t() * 2).tolist()]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (b := dovetail.stack([x, x]), b[1].exp_(), b * b)[-1],
        lambda x: (b := x * 1, b[0].zero_(), b * b)[-1],
        lambda x: (b := x * 1, b[:2].copy_(x[1:] * 2), b * b)[-1],
        lambda x: (b := x * 1, b.copy_(x * x), b * b)[-1],
        lambda x: (x * 1).fill_(3.0) * x,
        lambda x: (b := dovetail.stack([x, x]), b.addr_(x[:2], x, beta=0), b * b)[-1],
    ],
    ids=["part", "zero", "copy to a part", "copy", "fill", "overwritten"],
)
def test_forward_mode_goes_through_what_was_functionalized(function: Any) -> None:
    x = dovetail.tensor([0.5, 1.5, 2.0], dtype=dovetail.float64)

    def twice(f: Any) -> Any:
        def once(u: Any) -> Any:
            return dovetail.func.jvp(f, (u,), (x.cos(),))[1]

        return once(x), dovetail.func.jvp(once, (x,), (x.sin(),))[1]

    for found, wanted in zip(twice(functionalize(function)), twice(function), strict=True):
        assert found.allclose(wanted)


def _writes(x: Any) -> Any:
    """Write to a tensor, to a part of it and to none of it, and read all of them."""
    base = x * 1
    nothing, part = base[1:1], base[2:]
    base.mul_(2)
    part.mul_(base.sum())
    return (base.sum() + nothing.sum() + part.sum()) * x.sum()


def _writes_nothing(x: Any) -> Any:
    twice = x * 2
    return (twice[:2].sum() + 2 * twice[2:].sum() * twice.sum()) * x.sum()


_LEVELS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: lambda x: dovetail.func.vmap(f)(dovetail.stack([x, x * 2])).sum(),
    "grad": lambda f: lambda x: dovetail.func.grad(lambda y: f(y).sum())(x).sum(),
    "jvp": lambda f: lambda x: dovetail.func.jvp(f, (x,), (dovetail.ones_like(x),))[1],
    "jacrev": lambda f: lambda x: dovetail.func.jacrev(f)(x).sum(),
    "jacfwd": lambda f: lambda x: dovetail.func.jacfwd(f)(x).sum(),
    "functionalize": functionalize,
}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_writes_to_views_have_the_same_derivatives_in_every_nesting(depth: int) -> None:
    x = dovetail.tensor([0.3, -0.7, 1.1], dtype=dovetail.float64)
    wrong = []
    for names in itertools.product(_LEVELS, repeat=depth):
        written, plain = _writes, _writes_nothing
        for name in reversed(names):
            written, plain = _LEVELS[name](written), _LEVELS[name](plain)
        if not dovetail.allclose(written(x), plain(x)):
            wrong.append(names)
    assert not wrong


def test_inside_functionalize_values_of_a_batch_are_copied_to_a_tensor_without_one() -> None:
    def f(x: Any) -> Any:
        made = dovetail.zeros(3)
        made[1:].copy_(x)
        return made

    x = dovetail.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = dovetail.func.vmap(functionalize(f))(x)
    assert found.tolist() == [[0.0, 1.0, 2.0], [0.0, 3.0, 4.0]]


def test_a_tensor_that_functionalize_captures_is_seen_by_it_before_the_levels_outside() -> None:
    def f(row: Any, x: Any) -> Any:
        made = x.clone()
        made.addr_(row, row)
        return made.sum()

    row, x = dovetail.tensor([1.0, 2.0]), dovetail.zeros(2, 2)

    def outer(row: Any) -> Any:
        return functionalize(lambda x: f(row, x))(x)

    assert dovetail.func.grad(outer)(row).tolist() == [6.0, 6.0]
    assert dovetail.func.jvp(outer, (row,), (dovetail.ones(2),))[1].item() == 12.0


_BASES: dict[str, Callable[[Any], Any]] = {
    "a copy": lambda x: x.clone(),
    "a view of a copy": lambda x: x.clone().unsqueeze(0),
    "an expanded copy": lambda x: x.clone().expand(1, 3),
    "a transposed stack": lambda x: dovetail.stack([x, x * 2]).t(),
}
_PARTS: dict[str, Callable[[Any], Any]] = {
    "all": lambda base: base,
    "the last": lambda base: base[-1],
    "a flat view": lambda base: base.reshape(-1),
    "some": lambda base: base[..., 1:],
}
_DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "grad": dovetail.func.grad,
    "jvp": lambda f: lambda x: dovetail.func.jvp(f, (x,), (dovetail.ones_like(x),))[1],
    "jvp of grad": lambda f: (
        lambda x: dovetail.func.jvp(dovetail.func.grad(f), (x,), (dovetail.ones_like(x),))[1]
    ),
    "vmap of grad": lambda f: (
        lambda x: dovetail.func.vmap(dovetail.func.grad(f), in_dims=1)(dovetail.stack([x, x], 1))
    ),
}


@pytest.mark.parametrize("part", _PARTS)
@pytest.mark.parametrize("base", _BASES)
def test_functionalize_around_derivatives_leaves_them_as_they_are(base: str, part: str) -> None:
    x = dovetail.tensor([0.3, -0.7, 1.1], dtype=dovetail.float64)
    for write in ("exp_", "zero_"):

        def f(x: Any, write: str = write) -> Any:
            whole = _BASES[base](x)
            written = _PARTS[part](whole)
            getattr(written, write)()
            return (whole * 1).sum() + (written * written).sum()

        for name, derivative in _DERIVATIVES.items():
            found, expected = functionalize(derivative(f))(x), derivative(f)(x)
            assert dovetail.allclose(found, expected), (write, name)
            around = functionalize(dovetail.func.vmap(derivative(f), in_dims=1))
            assert dovetail.allclose(around(dovetail.stack([x, x], 1))[0], expected), (write, name)


def test_views_of_tensors_that_functionalize_stands_for_count_their_writes_together() -> None:
    versions = []

    def f(x: Any) -> Any:
        base = x.clone()
        view = base.unsqueeze(0)[0]
        view.add_(1)
        versions.append((base._version, view._version))
        return base.sum()

    functionalize(f)(dovetail.ones(2))
    functionalize(dovetail.func.grad(f))(dovetail.ones(2))
    assert versions == [(1, 1), (1, 1)]


@pytest.mark.parametrize("in_dim", [0, 1, 2])
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_a_written_view_goes_back_into_its_base_however_samples_lie(
    in_dim: int, remove: str
) -> None:
    def body(x: Any) -> Any:
        base = x.reshape(-1).clone()
        base.view(3, 2).addmm_(x[:, :1], x[:1], beta=0)
        base.unsqueeze(0).view(2, 3)[1].mul_(x.sum())
        return base

    x = dovetail.arange(24.0).reshape(4, 3, 2).movedim(0, in_dim).contiguous()
    found = dovetail.func.vmap(dovetail.func.functionalize(body, remove=remove), in_dim)(x)
    assert found.equal(dovetail.stack([body(each) for each in x.unbind(in_dim)]))
