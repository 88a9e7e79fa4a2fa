"""`vmap`: what it does beyond PyTorch's own cases: any nesting and dimensions, gradients through
it, its levels.
"""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
import dovetail.func


def array(*shape: int, seed: int = 0) -> Any:
    return dt.tensor(np.random.default_rng(seed).standard_normal(shape))


def assert_equal(found: Any, wanted: Any) -> None:
    assert tuple(found.shape) == tuple(wanted.shape)
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), wanted.detach().cpu().numpy(), rtol=1e-9
    )


FUNCTIONS = [
    lambda x, y: x * 2 + y,
    lambda x, y: (x * y).sum(),
    lambda x, y: dt.stack([x.exp(), x + y]),
    lambda x, y: x.reshape(-1).cumsum(0) * y.mean(),
    lambda x, y: dt.zeros_like(x + y).add_(y).mul_(x),
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_in_dims_and_out_dims_give_what_a_loop_gives(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(FUNCTIONS))
    size = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    tensors, dims = [], []
    for seed in range(2):
        dim = data.draw(st.one_of(st.none(), st.integers(-len(shape) - 1, len(shape))))
        if seed and dims == [None] and dim is None:
            dim = 0
        at = None if dim is None else dim % (len(shape) + 1)
        full = shape if at is None else (*shape[:at], size, *shape[at:])
        tensors.append(array(*full, seed=seed))
        dims.append(dim)
    rows = [
        function(*[t if d is None else t.select(d, i) for t, d in zip(tensors, dims, strict=True)])
        for i in range(size)
    ]
    out = data.draw(st.integers(-rows[0].ndim - 1, rows[0].ndim))
    chunk = data.draw(st.sampled_from([None, 1, 2]))
    found = dt.vmap(function, in_dims=tuple(dims), out_dims=out, chunk_size=chunk)(*tensors)
    assert_equal(found, dt.stack(rows, out))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_nested_maps_give_what_nested_loops_give(data: st.DataObject) -> None:
    function = data.draw(st.sampled_from(FUNCTIONS))
    outer, inner = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    sizes = [data.draw(st.integers(1, 3)) for _ in range(3)]
    x, y = array(*sizes), array(*sizes, seed=1)
    found = dt.vmap(dt.vmap(function, in_dims=inner), in_dims=outer)(x, y)
    wanted = dt.stack(
        [
            dt.stack(
                [
                    function(
                        x.select(outer, i).select(inner, j), y.select(outer, i).select(inner, j)
                    )
                    for j in range(x.select(outer, i).shape[inner])
                ]
            )
            for i in range(x.shape[outer])
        ]
    )
    assert_equal(found, wanted)


def test_the_outer_sample_is_seen_by_the_inner_function() -> None:
    x, y = array(3), array(4, seed=1)
    found = dt.vmap(lambda a: dt.vmap(lambda b: a * b)(y))(x)
    assert_equal(found, x[:, None] * y)


def test_gradients_flow_through_a_map_to_what_is_outside() -> None:
    x, w = array(3, 4).requires_grad_(), array(4, seed=1).requires_grad_()
    assert dt.autograd.gradcheck(lambda x, w: dt.vmap(lambda a: (a * w).tanh().sum())(x), (x, w))
    assert dt.autograd.gradgradcheck(
        lambda x, w: dt.vmap(lambda a: (a * w).tanh().sum())(x), (x, w)
    )


def test_writes_inside_of_a_map_reach_the_tensor_outside_and_its_graph() -> None:
    x = array(3, 4).requires_grad_()
    batch = x * 1
    dt.vmap(lambda a: a[1:].mul_(3))(batch)
    batch.sum().backward()
    assert_equal(x.grad, dt.tensor([1.0, 3, 3, 3], dtype=dt.float64).expand(3, 4))
    assert batch._version == 1


def test_a_view_of_a_sample_sees_writes_to_it() -> None:
    def function(a: Any) -> Any:
        a = a.clone()
        view = a[1:]
        a.mul_(2)
        return view + a._version

    x = array(3, 4)
    assert_equal(dt.vmap(function)(x), x[:, 1:] * 2 + 1)


def test_assignment_by_a_mask_of_each_sample_fills_one_number() -> None:
    def function(a: Any) -> Any:
        a = a.clone()
        a[a > 0] = -1.0
        return a

    x = array(3, 4)
    assert_equal(dt.vmap(function)(x), dt.where(x > 0, -1.0, x))


def test_batched_tensors_print_with_level_and_values() -> None:
    texts = []
    dt.vmap(lambda a: texts.append(repr(a)) or a)(dt.ones(2, 3))
    assert "BatchedTensor(lvl=1, bdim=0" in texts[0]
    assert "[1., 1., 1.]" in texts[0]


def test_a_tensor_kept_from_a_map_is_refused_afterwards() -> None:
    kept = []
    dt.vmap(lambda a: kept.append(a) or a)(dt.ones(2, 3))
    with pytest.raises(RuntimeError, match="vmap that was left already"):
        kept[0] + 1


def test_an_error_inside_of_a_map_leaves_it() -> None:
    def fail(a: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dt.vmap(fail)(dt.ones(2))
    assert dt.randn(2).shape == (2,)  # no randomness mode is in force


def test_inner_different_randomness_is_refused_by_an_outer_map_that_refuses_it() -> None:
    inner = dt.vmap(lambda a: a + dt.randn(3), randomness="different")
    with pytest.raises(RuntimeError, match="randomness error mode"):
        dt.vmap(inner)(dt.ones(2, 2, 3))
    assert dt.vmap(inner, randomness="different")(dt.ones(2, 2, 3)).shape == (2, 2, 3)


def test_seeded_random_numbers_are_the_same_again() -> None:
    def draw() -> Any:
        dt.manual_seed(3)
        return dt.vmap(lambda a: a + dt.rand(5), randomness="different")(dt.zeros(4, 5))

    assert_equal(draw(), draw())


def test_maps_run_in_several_threads_at_once() -> None:
    x = array(3, 4)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda k: dt.vmap(dt.func.grad(lambda a: (a * k).square().sum()))(x), range(1, 9)
            )
        )
    for k, each in enumerate(found, 1):
        assert_equal(each, x * (2 * k * k))


def test_results_in_inference_mode_are_inference_tensors() -> None:
    with dt.inference_mode():
        found = dt.vmap(lambda a: (a * 2)[1:])(array(3, 4))
    assert found.is_inference()


def test_the_name_and_text_of_the_function_are_kept() -> None:
    def scale(x: Any) -> Any:
        """Double."""
        return x * 2

    assert dt.vmap(scale).__name__ == "scale"
    assert dt.vmap(scale).__doc__ == "Double."


def test_keyword_tensors_are_shared() -> None:
    x, b = array(3, 4), array(5, 4)
    found = dt.vmap(lambda a, *, b, factor: a * b * factor)(x, b=b, factor=2)
    assert_equal(found, x.unsqueeze(1) * b * 2)
    with pytest.raises(ValueError, match="got no inputs"):
        dt.vmap(lambda *, b: b)(b=b)


def test_batched_gradients_of_differing_sizes_are_refused() -> None:
    x = array(3).requires_grad_()
    y, z = x * 2, x * 3
    with pytest.raises(RuntimeError, match="agree in size"):
        dt.autograd.grad((y, z), x, (dt.ones(2, 3), dt.ones(4, 3)), is_grads_batched=True)


def test_a_hook_of_a_batched_backward_may_make_leaves() -> None:
    x = array(3).requires_grad_()
    y = x * 2
    y.register_hook(lambda grad: grad * dt.ones(3, dtype=dt.float64).requires_grad_().detach())
    (found,) = dt.autograd.grad(y, x, dt.eye(3, dtype=dt.float64), is_grads_batched=True)
    assert_equal(found, dt.eye(3, dtype=dt.float64) * 2)


def test_batched_gradients_reach_unused_inputs_as_none() -> None:
    x, unused = array(3).requires_grad_(), array(3).requires_grad_()
    found = dt.autograd.grad(
        x * 2, (x, unused), dt.eye(3, dtype=dt.float64), is_grads_batched=True, allow_unused=True
    )
    assert_equal(found[0], dt.eye(3, dtype=dt.float64) * 2)
    assert found[1] is None


def test_counts_are_mapped_where_a_least_length_makes_them_alike() -> None:
    rows, weights = dt.tensor([[0, 1], [1, 3], [2, 2]]), array(3, 2)
    found = dt.vmap(lambda x, w: dt.bincount(x, w, minlength=4))(rows, weights)
    assert_equal(
        found,
        dt.stack([dt.bincount(x, w, minlength=4) for x, w in zip(rows, weights, strict=True)]),
    )
    with pytest.raises(RuntimeError, match="equal size"):
        dt.vmap(dt.bincount)(rows)


def random_indices(r: random.Random, shape: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """Return indices of every kind for a tensor, and which of them have a batch of two."""
    left, indices, batched = list(shape), [], []
    while left and (not indices or r.random() < 0.9):
        kind = r.choice(["none", "scalar mask", "mask", "numbers", "a number", "batch"])
        size = left[0]
        if kind != "scalar mask":
            left.pop(0)
        indices.append(
            {
                "none": None,
                "scalar mask": dt.tensor(r.random() < 0.6),
                "mask": dt.arange(size) == r.randrange(size),
                "numbers": dt.tensor([r.randrange(size)]),
                "a number": dt.tensor(r.randrange(size)),
                "batch": dt.tensor([[r.randrange(size)], [r.randrange(size)]]),
            }[kind]
        )
        batched.append(0 if kind == "batch" else None)
    return indices, batched


@pytest.mark.parametrize("seed", range(150))
def test_indices_of_every_kind_pick_in_each_sample_what_they_pick_alone(seed: int) -> None:
    r = random.Random(seed)
    shape = tuple([r.choice((1, 2, 3)) for _ in range(r.randrange(1, 4))])
    indices, dims = random_indices(r, shape)
    x, own = (array(*shape), None) if 0 in dims and r.random() < 0.3 else (array(2, *shape), 0)
    if not any([each is not None for each in indices]):
        return

    def picked(x: Any, indices: Any) -> Any:
        return dt.ops.aten.index(x, list(indices))

    def written(x: Any, indices: Any) -> Any:
        return dt.ops.aten.index_put(x, list(indices), dt.tensor(7.0, dtype=dt.float64))

    for function in (picked, written):
        rows = [
            function(
                x if own is None else x[row],
                [each if d is None else each[row] for each, d in zip(indices, dims, strict=True)],
            )
            for row in range(2)
        ]
        assert_equal(dt.vmap(function, (own, tuple(dims)))(x, tuple(indices)), dt.stack(rows))


def test_the_first_map_of_a_process_repeats_random_numbers_in_every_chunk() -> None:
    code = """
import dovetail
add = dovetail.vmap(lambda x: x + dovetail.rand(()), randomness="same", chunk_size=1)
same = add(dovetail.zeros(3))
assert same[0] == same[1] == same[2], same
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parts_of_an_unsafe_split_share_memory_and_count_their_own_writes() -> None:
    def function(x: Any) -> Any:
        first, second = x.unsafe_split(2)
        assert dt._C._is_alias_of(first, x) and dt._C._is_alias_of(second, x)
        first.add_(1)
        assert (first._version, second._version, x._version) == (1, 0, 0)
        return x

    found = dt.vmap(function)(dt.zeros(3, 4))
    assert_equal(found, dt.tensor([1.0, 1.0, 0.0, 0.0]).expand(3, 4))
