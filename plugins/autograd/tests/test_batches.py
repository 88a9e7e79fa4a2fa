"""`vmap`: dimensions, structures, randomness, chunks, levels, and what it refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_library import close, needs_base, real

import dovetail_autograd as autograd
from dovetail_autograd.transforms import active_levels, grad, vmap
from dovetail_dispatcher import ops

mul, add, exp = ops.aten.mul.Tensor, ops.aten.add.Tensor, ops.aten.exp.default
total, clone, stack = ops.aten.sum.default, ops.aten.clone.default, ops.aten.stack.default
select, unsqueeze = ops.aten.select.int, ops.aten.unsqueeze.default
add_, mul_, copy_ = ops.aten.add_.Tensor, ops.aten.mul_.Tensor, ops.aten.copy_.default

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((3, 4))
OTHERS = RANDOM.standard_normal((3, 4))
SHARED = RANDOM.standard_normal(4)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "product": (mul, np.multiply),
    "sum of a product": (lambda x, y: total(mul(x, y)), lambda x, y: (x * y).sum()),
    "stack": (lambda x, y: stack([exp(x), y], 0), lambda x, y: np.stack([np.exp(x), y])),
    "views": (
        lambda x, y: mul(unsqueeze(x, 1), unsqueeze(y, 0)),
        lambda x, y: x[:, None] * y[None],
    ),
    "an element": (lambda x, y: mul(select(x, 0, 1), y), lambda x, y: x[1] * y),
    "a write": (lambda x, y: mul_(add_(mul(x, y), y), y), lambda x, y: (x * y + y) * y),
}
DIMS = [(0, 0), (1, 0), (-1, -1), (0, None), (None, 1), (-2, 1)]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dims", DIMS)
def test_each_sample_is_computed_as_it_would_be_alone(name: str, dims: Any) -> None:
    function, formula = FUNCTIONS[name]
    sample = [RANDOM.standard_normal((3, 4)) for _ in dims]  # rows of both arguments
    given = [
        rows[0] if dim is None else np.moveaxis(rows, 0, dim)
        for rows, dim in zip(sample, dims, strict=True)
    ]
    expected = np.stack(
        [
            formula(
                *[rows[0 if dim is None else i] for rows, dim in zip(sample, dims, strict=True)]
            )
            for i in range(3)
        ]
    )
    close(vmap(function, in_dims=dims)(*map(real, given)), expected)


@pytest.mark.parametrize("out_dim", [0, 1, -1, 2, -3])
def test_the_batch_lies_where_out_dims_says(out_dim: int) -> None:
    found = vmap(lambda x: mul(unsqueeze(x, 0), x), out_dims=out_dim)(real(ROWS))
    close(found, np.moveaxis((ROWS * ROWS)[:, None], 0, out_dim))


def test_dimensions_are_given_in_containers() -> None:
    def function(pair: Any, named: Any) -> Any:
        x, (y,) = pair
        return {"product": mul(x, y), "both": [add(x, named["z"]), total(y)]}

    mapped = vmap(
        function, in_dims=((0, (None,)), {"z": 1}), out_dims={"product": 1, "both": [0, None]}
    )
    found = mapped((real(ROWS), (real(SHARED),)), {"z": real(OTHERS.T)})
    close(found["product"], (ROWS * SHARED).T)
    close(found["both"][0], ROWS + OTHERS)
    close(found["both"][1], SHARED.sum())


def test_one_result_may_be_written_as_a_tuple_of_one() -> None:
    close(vmap(exp, out_dims=(1,))(real(ROWS)), np.exp(ROWS).T)


def test_a_result_that_all_samples_share_is_repeated() -> None:
    found = vmap(lambda x: real(SHARED))(real(ROWS))
    close(found, np.stack([SHARED] * 3))
    found = vmap(lambda x, y: add(y, y), in_dims=(0, None), out_dims=1)(real(ROWS), real(SHARED))
    close(found, np.stack([2 * SHARED] * 3, 1))


def test_keywords_are_shared() -> None:
    close(vmap(lambda x, *, y: mul(x, y))(real(ROWS), y=real(SHARED)), ROWS * SHARED)


def test_what_is_no_tensor_is_passed_on_and_back() -> None:
    found = vmap(lambda x, n: (mul(x, x), n), in_dims=(0, None), out_dims=(0, None))(
        real(ROWS), "note"
    )
    close(found[0], ROWS**2)
    assert found[1] == "note"


def test_the_wrapper_is_named_as_the_function() -> None:
    def cube(x: Any) -> Any:
        """Say so."""
        return x

    assert vmap(cube).__name__ == "cube"
    assert vmap(cube).__doc__ == "Say so."


def test_maps_nest() -> None:
    found = vmap(vmap(mul, in_dims=(None, 0)), in_dims=(0, None))(real(ROWS), real(OTHERS))
    close(found, ROWS[:, None] * OTHERS[None])
    found = vmap(lambda x: vmap(lambda y: add(mul(x, y), x))(real(OTHERS)))(real(ROWS))
    close(found, ROWS[:, None] * OTHERS[None] + ROWS[:, None])


def test_a_captured_tensor_is_shared() -> None:
    captured = real(SHARED)
    close(vmap(lambda x: mul(x, captured))(real(ROWS)), ROWS * SHARED)


# -- chunks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4])
@pytest.mark.parametrize(("dim", "out_dim"), [(0, 0), (1, 1)])
def test_chunks_are_joined(chunk_size: int, dim: int, out_dim: int) -> None:
    sizes = []

    def function(x: Any, y: Any) -> Any:
        sizes.append(active_levels()[-1].info.batch_size)
        return mul(x, y), y

    given = real(np.moveaxis(ROWS, 0, dim))
    mapped = vmap(function, (dim, None), (out_dim, None), chunk_size=chunk_size)
    found, shared = mapped(given, real(SHARED))
    close(found, np.moveaxis(ROWS * SHARED, 0, out_dim))
    close(shared, SHARED)
    assert sizes == {1: [1, 1, 1], 2: [2, 1], 3: [3], 4: [3]}[chunk_size]


def test_a_result_without_batch_is_that_of_the_first_chunk() -> None:
    sizes: list[int] = []

    def function(x: Any) -> Any:
        sizes.append(active_levels()[-1].info.batch_size)
        return x, real(np.full(2, float(len(sizes))))

    _, shared = vmap(function, out_dims=(0, None), chunk_size=2)(real(ROWS))
    close(shared, np.ones(2))
    assert sizes == [2, 1]


@pytest.mark.parametrize("chunk_size", [0, -2])
def test_a_chunk_has_at_least_one_sample(chunk_size: int) -> None:
    with pytest.raises(ValueError, match=rf"greater than 0. \(got {chunk_size}\)"):
        vmap(mul, chunk_size=chunk_size)


# -- levels ----------------------------------------------------------------------------------------


def test_the_level_lasts_as_long_as_the_call() -> None:
    seen = []

    def function(x: Any) -> Any:
        seen.append([level.info for level in active_levels()])
        return x

    vmap(vmap(function), randomness="same")(real(ROWS))
    ((outer, inner),) = seen
    assert (outer.batch_size, outer.randomness) == (3, "same")
    assert (inner.batch_size, inner.randomness) == (4, "error")
    assert active_levels() == ()


def test_a_failed_function_leaves_no_level() -> None:
    def function(x: Any) -> Any:
        raise KeyError("no")

    with pytest.raises(KeyError):
        vmap(function)(real(ROWS))
    assert active_levels() == ()
    close(mul(real(SHARED), real(SHARED)), SHARED**2)


def test_a_tensor_that_outlives_its_map_says_so() -> None:
    kept = []
    vmap(lambda x: (kept.append(x), x)[1])(real(ROWS))
    with pytest.raises(RuntimeError, match=r"aten::mul.* on a tensor of a vmap that was left"):
        mul(kept[0], kept[0])


def test_a_level_belongs_to_its_thread() -> None:
    seen = []

    def function(x: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append(active_levels()))
        thread.start()
        thread.join()
        return x

    vmap(function)(real(ROWS))
    assert seen == [()]


def test_a_sample_has_its_own_shape_and_no_elements_to_look_at() -> None:
    def function(x: Any) -> Any:
        assert tuple(x.shape) == (4,)
        assert (x.dim(), x.numel(), x.dtype) == (1, 4, real(ROWS).dtype)
        assert x.stride() == (1,)
        assert x.nbytes == 32
        with pytest.raises(RuntimeError, match="elements of a batched tensor cannot be looked at"):
            x._backend.arrays.to_host(x.array)
        return x

    vmap(function)(real(ROWS))
    vmap(lambda x: (list(x.stride()) == [4] or pytest.fail("stride"), x)[1], in_dims=1)(real(ROWS))


@pytest.mark.parametrize(("in_dim", "shown"), [(0, 0), (1, 1)])
def test_the_text_of_a_sample_is_that_of_the_batch(in_dim: int, shown: int) -> None:
    texts = []
    vmap(lambda x: (texts.append(repr(x.array)), x)[1], in_dims=in_dim)(real(ROWS))
    (text,) = texts
    assert text.startswith(f"BatchedTensor(lvl=1, bdim={shown}, value=\n    ")
    assert repr(real(ROWS)).splitlines()[0] in text


# -- gradients -------------------------------------------------------------------------------------


def test_gradients_flow_to_batched_shared_and_captured_tensors() -> None:
    x, y, z = real(ROWS, True), real(SHARED, True), real(OTHERS[0], True)
    found = vmap(lambda x, y: mul(mul(x, y), z), in_dims=(0, None))(x, y)
    total(mul(found, found)).backward()
    close(x.grad, 2 * ROWS * (SHARED * OTHERS[0]) ** 2)
    close(y.grad, (2 * SHARED * (ROWS * OTHERS[0]) ** 2).sum(0))
    close(z.grad, (2 * OTHERS[0] * (ROWS * SHARED) ** 2).sum(0))


def test_gradients_per_sample() -> None:
    slope = grad(lambda w, x: total(mul(mul(w, w), x)))
    close(vmap(slope, in_dims=(None, 0))(real(SHARED), real(ROWS)), 2 * SHARED * ROWS)


def test_backward_inside_of_a_map_reaches_a_leaf_made_inside() -> None:
    def function(x: Any) -> Any:
        leaf = ops.aten.detach(clone(x))
        leaf.requires_grad = True
        (found,) = autograd.grad(total(mul(leaf, leaf)), leaf)
        return found

    close(vmap(function)(real(ROWS)), 2 * ROWS)


@pytest.mark.parametrize("create_graph", [False, True])
def test_batched_gradients_of_outputs_run_one_backward(create_graph: bool) -> None:
    x = real(SHARED, True)
    y = mul(mul(x, x), x)
    runs = []
    y.grad_fn.register_hook(lambda *_: runs.append(1))
    seeds = real(ROWS)
    (found,) = autograd.grad(y, x, seeds, is_grads_batched=True, create_graph=create_graph)
    close(found, ROWS * 3 * SHARED**2)
    assert runs == [1]
    assert found.requires_grad is create_graph
    if create_graph:
        total(found).backward()
        close(x.grad, (ROWS * 6 * SHARED).sum(0))


def test_batched_gradients_may_be_missing_where_that_is_allowed() -> None:
    x, y = real(SHARED, True), real(SHARED, True)
    found = autograd.grad(mul(x, x), (x, y), real(ROWS), is_grads_batched=True, allow_unused=True)
    close(found[0], ROWS * 2 * SHARED)
    assert found[1] is None


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ([None, ROWS], "needs one batched gradient per output"),
        ([ROWS], "needs one batched gradient per output"),
        ([ROWS, ROWS[:2]], r"agree in size .* shapes are \(3, 4\), \(2, 4\)"),
        ([ROWS, 1.0], r"agree in size .* shapes are \(3, 4\), \(\)"),
        ([1.0, 1.0], r"agree in size .* shapes are \(\), \(\)"),
    ],
)
def test_batches_of_gradients_agree(seeds: Any, message: str) -> None:
    x = real(SHARED, True)
    outputs = (mul(x, x), exp(x))
    given = [None if each is None else real(each) for each in seeds]
    with pytest.raises(RuntimeError, match=message):
        autograd.grad(outputs, x, given, is_grads_batched=True)


# -- writes ----------------------------------------------------------------------------------------


def test_a_write_to_a_batched_argument_is_a_write_to_the_batch() -> None:
    x, y = real(ROWS), real(OTHERS.T)
    found = vmap(mul_, in_dims=(0, 1))(x, y)
    close(found, ROWS * OTHERS)
    close(x, ROWS * OTHERS)
    assert x._version == 1


def test_a_view_of_a_sample_is_written_with_it() -> None:
    x = real(ROWS)

    def function(x: Any) -> Any:
        view = select(x, 0, 1)
        add_(view, real(10.0))
        return mul(x, x), view

    square, view = vmap(function)(x)
    expected = ROWS.copy()
    expected[:, 1] += 10
    close(square, expected**2)
    close(view, expected[:, 1])


def test_a_sample_is_not_written_into_what_all_share() -> None:
    shared = real(SHARED)
    message = r"vmap: mul_\(self, \*extra_args\) is not possible because there exists a Tensor"
    with pytest.raises(RuntimeError, match=message):
        vmap(lambda x: mul_(shared, x))(real(ROWS))
    close(shared, SHARED)


def test_what_all_share_may_be_written_with_what_all_share() -> None:
    shared = real(SHARED)
    found = vmap(lambda x: mul(x, add_(shared, real(1.0))))(real(ROWS))
    close(found, ROWS * (SHARED + 1))
    close(shared, SHARED + 1)


def test_a_write_counts_for_what_the_graph_saved() -> None:
    x = real(ROWS, True)

    def function(x: Any) -> Any:
        y = exp(x)
        square = mul(y, y)
        add_(y, real(1.0))
        return square

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total(vmap(function)(x)).backward()


# -- refused arguments -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_dims", "message"),
    [
        (
            "0",
            r"expected `in_dims` to be int or a \(potentially nested\) tuple .* got: <class 'str'>",
        ),
        (True, r"expected `in_dims` to be int"),
        ([0, 0], r"expected `in_dims` to be int"),
        ((0,), r"in_dims has structure \(\*,\) but inputs has structure \(\*, \*\)"),
        ((0, (0,)), r"in_dims is not compatible with the structure of `inputs`"),
        ((0, "0"), r"Got in_dim=0 for an input but in_dim must be either an integer"),
        ((0, True), r"Got in_dim=True for an input but in_dim must be either an integer"),
        ((0, 2), r"Got in_dim=2 for some input, but that input is a Tensor of dimensionality 2"),
        ((-3, 0), r"Got in_dim=-3 for some input.*-2 <= in_dim < 2"),
        ((None, None), r"Expected at least one Tensor to vmap over"),
        ((0, 1), r"to have the same size in the mapped dimension, got sizes \[3, 4\]"),
    ],
)
def test_unfit_in_dims_are_refused(in_dims: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vmap(mul, in_dims=in_dims)(real(ROWS), real(OTHERS))


def test_only_tensors_are_mapped_over() -> None:
    with pytest.raises(
        ValueError, match=r"the input is of type <class 'int'>. We cannot vmap over"
    ):
        vmap(mul)(real(ROWS), 3)
    with pytest.raises(ValueError, match=r"vmap\(nothing\)\(<inputs>\): got no inputs"):

        def nothing() -> None: ...

        vmap(nothing)()


def test_a_number_is_no_batch() -> None:
    with pytest.raises(ValueError, match=r"dimensionality 0 so expected in_dim to satisfy"):
        vmap(exp)(real(1.0))


@pytest.mark.parametrize(
    ("out_dims", "error", "message"),
    [
        ("0", ValueError, "`out_dims` must be an int, None or a python collection of ints"),
        (True, ValueError, "`out_dims` must be an int"),
        ((0, 0.5), ValueError, "`out_dims` must be an int"),
        ((0, 0, 0), ValueError, r"out_dims has structure \(\*, \*, \*\) but outputs has structure"),
        ((0, None), ValueError, "can not return a BatchedTensor when out_dim is None"),
        ((0, 2), IndexError, r"range of \[-2, 1\], but got 2"),
        ((-3, 0), IndexError, r"range of \[-2, 1\], but got -3"),
    ],
)
def test_unfit_out_dims_are_refused(out_dims: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        vmap(lambda x: (x, mul(x, x)), out_dims=out_dims)(real(ROWS))
    assert active_levels() == ()


def test_only_tensors_are_returned() -> None:
    def answer(x: Any) -> Any:
        return x, 3

    message = r"vmap\(answer, ...\): `answer` must only return Tensors, got type <class 'int'>"
    with pytest.raises(ValueError, match=message):
        vmap(answer)(real(ROWS))


def test_a_function_without_name_is_shown_by_its_repr() -> None:
    class Callable_:
        def __call__(self, x: Any) -> Any:
            return 3

        def __repr__(self) -> str:
            return "the callable"

    with pytest.raises(ValueError, match="the callable"):
        vmap(Callable_())(real(ROWS))


# -- random operators ------------------------------------------------------------------------------


def test_randomness_has_three_names() -> None:
    with pytest.raises(RuntimeError, match=r"Only allowed values for randomness .* Got sometimes"):
        vmap(mul, randomness="sometimes")


random_like = getattr(ops.aten, "rand_like", None)


@needs_base
@pytest.mark.parametrize("is_shared", [False, True])
def test_random_operators_are_refused_unless_told_how(is_shared: bool) -> None:
    shared = real(SHARED)
    with pytest.raises(RuntimeError, match="random"):
        vmap(lambda x: random_like(shared if is_shared else x))(real(ROWS))


@needs_base
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_samples_draw_the_same_or_differently(is_shared: bool, chunk_size: int | None) -> None:
    shared = real(SHARED)

    def function(x: Any) -> Any:
        return add(mul(x, real(0.0)), random_like(shared if is_shared else x))

    same = vmap(function, randomness="same", chunk_size=chunk_size)(real(ROWS)).array
    assert (same == same[0]).all()
    assert len(np.unique(same[0])) == 4
    different = vmap(function, randomness="different", chunk_size=chunk_size)(real(ROWS)).array
    assert len(np.unique(different)) == 12


@needs_base
@pytest.mark.parametrize(("randomness", "count"), [("same", 1), ("different", 3)])
def test_dropout_draws_as_the_map_says(randomness: str, count: int) -> None:
    ones = real(np.ones(64))
    dropped = vmap(
        lambda x: add(mul(x, real(0.0)), ops.aten.dropout(ones, 0.5, True)), randomness=randomness
    )(real(np.ones((3, 64)))).array
    assert set(np.unique(dropped)) == {0.0, 2.0}
    assert len({row.tobytes() for row in dropped}) == count


@needs_base
@pytest.mark.parametrize("is_shared", [False, True])
def test_dropout_that_is_off_draws_nothing(is_shared: bool) -> None:
    ones = real(np.ones(8))
    dropped = vmap(
        lambda x: ops.aten.dropout(ones if is_shared else x, 0.5, False), randomness="different"
    )(real(np.ones((3, 8))))
    close(dropped, np.ones((3, 8)))


@needs_base
def test_writes_of_random_numbers_follow_the_batch() -> None:
    different = vmap(lambda x: ops.aten.normal_(clone(x)), randomness="different")(real(ROWS)).array
    assert len(np.unique(different)) == 12
    same = vmap(lambda x: ops.aten.normal_(clone(x)), randomness="same")(real(ROWS)).array
    assert (same == same[0]).all()
