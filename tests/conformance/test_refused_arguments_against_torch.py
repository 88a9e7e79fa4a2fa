"""Arguments that PyTorch refuses are refused here with the same type of error and words, and leave
their operands as they were; autocast reaches composites where it does in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

REFUSED = (
    *["L.ops.aten.pad(L.ones(5), [], 'reflect')", "L.ops.aten.pad(L.ones(5), [1, 1], 'circular')"],
    *["L.ops.aten.pad(L.ones(2, 5), [1, 1, 1, 1], 'replicate')"],
    *[
        f"L.nn.functional.pad(L.ones({shape}), [1] * {2 * dims}, '{mode}')"
        for mode in ("reflect", "replicate")
        for dims, shape in ((1, (3, 0, 4)), (2, (0, 3, 4)), (2, (3, 0, 4, 5)), (3, (2, 0, 3, 4, 5)))
    ],
    *[f"L.linalg.vector_norm(x, {order})" for order in ("2 + 0j", "1j")],
    *[f"L.addr(L.ones(2, 2), x, x, {name}=1j)" for name in ("alpha", "beta")],
    "L.full((1,), -256, dtype=L.uint8)",
    "L.zeros(1, dtype=L.uint8).fill_(-256)",
    *[f"L.set_num_threads({count})" for count in ("True", "2**31", "-(2**40)", "-1")],
    "L.empty(2, memory_format=L.preserve_format)",
    "L.ops.aten.empty([2], memory_format=L.preserve_format, device='meta')",
    "L.ops.aten.linalg_vector_norm(L.ones(2, dtype=L.complex64), dtype=L.float32)",
    "L.ops.aten.linalg_vector_norm(L.ones(2), dtype=L.complex64)",
    "L.ops.aten.linalg_vector_norm(L.ones(2), dtype=L.int64)",
    "L.ops.aten.linalg_vector_norm(L.ones(2), dtype=L.float16)",
    "L.ops.aten.linalg_vector_norm(L.ones(2, dtype=L.int64), dtype=L.float32)",
    "L.isclose(L.ones(1), L.ones(1), float('nan'))",
    "L.isclose(L.ones(1), L.ones(1), 0.5, float('nan'))",
    "L.isclose(L.ones(1), L.ones(1), -1.0)",
    "L.allclose(L.ones(1), L.ones(1), 0.5, -1.0)",
    "L.cumprod(L.ones(2), 0, dtype=L.bool)",
    "L.cumsum(L.ones(2), 0, dtype=L.bool)",
    "L.ops.aten.binary_cross_entropy_with_logits(L.ones(2, 3), L.ones(4, 3))",
    "L.ops.aten.binary_cross_entropy_with_logits(L.ones(4, 3), L.ones(4, 3), L.ones(2, 3))",
    *[f"L.ops.aten.native_dropout(L.ones(2), {p}, True)" for p in ("-1.0", "2.0", "float('nan')")],
    "L.ops.aten.native_dropout(L.ones(2), 2.0, None)",
    *[f"L.ops.aten.smooth_l1_loss(x, x, 1, {beta})" for beta in ("-1.0", "float('nan')")],
    *[f"L.ops.aten.elu_backward(x, {slope}, 1, 1, True, x)" for slope in (-1, "float('nan')")],
    "L.ops.aten.leaky_relu_backward(x, x, float('nan'), True)",
    "L.ops.aten.slice_backward(L.ones(1, 2, 3), (4, 3), 0, 1, 3, 1)",
    "L.ops.aten.select_backward(L.ones(1, 1, 3), (4, 3), 0, 1)",
    "L.ops.aten.diagonal_backward(L.ones(1, 1, 3), (3, 3), 0, 0, 1)",
    "L.ones(1, 3).expand(2, 3).copy_(L.tensor(1.0))",
    "L.ops.aten.mse_loss_backward(x.to(L.complex64), x, x, 0)",
    "L.ops.aten.smooth_l1_loss_backward(x.to(L.complex64), x, x, 0, 1.0)",
    "L.stack([x, x.clone().requires_grad_()], out=L.empty(0))",
    "L.cat([x.clone().requires_grad_(), x], out=L.empty(0))",
    "L.rms_norm(x, [2, 2])",
    "L.rms_norm(L.tensor(1.0), [1])",
    "L.embedding_bag(L.tensor(3.0), L.tensor([0]), L.tensor([0]))",
    *[
        f"L.ops.aten.{name}(L.ones(1, 1, 2, 3), []{rest})"
        for name, rest in (
            ("upsample_nearest2d", ""),
            ("_upsample_nearest_exact2d", ""),
            ("upsample_bilinear2d", ", False"),
            ("upsample_bicubic2d", ", False"),
        )
    ],
    "x.bernoulli_(L.tensor(0.5 + 0j))",
    "x.bernoulli_(L.tensor(1))",
    "L.take_along_dim(x, L.tensor([-1]))",
    "L.set_flush_denormal('x')",
    "L.scatter(L.zeros(5), 0, L.tensor([0, 1]), L.tensor(0.5))",
    "L.zeros(5).scatter_add_(-1, L.tensor([0, 1]), L.tensor(0.5))",
    "L.autograd.set_detect_anomaly(True, 'x')",
)
EMPTY_NORMS = tuple(
    f"L.linalg.vector_norm(L.zeros({shape}), {order}, {dim})"
    for shape, dim in (((0,), None), ((3, 0), 1), ((0, 3), 0), ((0, 3), (0, 1)))
    for order in (-0.5, -1, -2, "float('inf')", "-float('inf')")
)
WIDER_BOUNDS = (
    "x.clamp_(L.tensor([1.5, 2.5]))",
    "x.clamp_(L.tensor([1.5, 2.5]), L.tensor([1, 2]))",
    "x.clamp_(max=L.tensor([1.5, 2.5]))",
    "x.clip_(L.tensor([1.5, 2.5]))",
    "x.clamp_min_(L.tensor([1.5, 2.5]))",
    "x.clamp_(1.5)",
    "L.ops.aten.clamp_.Tensor(x, None, L.tensor([1.5, 2.5]))",
)
AUTOCAST = (
    *["L.inner(v, v)", "L.inner(a, v)", "L.einsum('i,i->i', [v, v])", "L.einsum('i,i->', [v, v])"],
    *["L.einsum('i,j->ij', [v, v])", "L.einsum('ij,jk->ik', [a, a])", "L.einsum('ij->i', [a])"],
    *["L.ops.aten.nll_loss_nd(a, t)", "L.ops.aten.nll_loss(a, t)", "L.dot(v, v)"],
)
OUTER = ("i,j->ij", "i,j->ji", "ij,ij->ij", "ij,ik->ikj", "ij,jk->ijk", "i,jk->kij", "ab,a,b->ab")


def _error(expression: str, lib: Any, **names: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        eval(expression, {"L": lib, **names})
    return caught.type.__name__, str(caught.value).splitlines()[0][:34]


@pytest.mark.parametrize("expression", [*REFUSED, *EMPTY_NORMS])
def test_what_pytorch_refuses_is_refused_with_its_words(expression: str) -> None:
    ours, theirs = (_error(expression, lib, x=lib.ones(2)) for lib in (dovetail, torch))
    assert ours == theirs


SETTINGS: dict[str, Callable[[Any, Any], Any]] = {
    "autocast": lambda lib, value: lib.autocast("cpu", enabled=value).__enter__(),
    "autocast for a device": lambda lib, value: lib.set_autocast_enabled("cpu", value),
    "cache of autocast": lambda lib, value: lib.set_autocast_cache_enabled(value),
    "grad mode": lambda lib, value: lib.set_grad_enabled(value),
    "grad mode below": lambda lib, value: lib._C._set_grad_enabled(value),
    "threads of backward": lambda lib, value: lib.autograd.set_multithreading_enabled(value),
    "anomalies": lambda lib, value: lib.autograd.set_detect_anomaly(value),
    "NaN of anomalies": lambda lib, value: lib.autograd.set_detect_anomaly(False, value),
    "NaN of anomalies in a block": lambda lib, value: lib.autograd.detect_anomaly(
        value
    ).__enter__(),
    "determinism": lambda lib, value: lib.use_deterministic_algorithms(value),
    "training": lambda lib, value: lib.nn.Linear(1, 1).train(value),
}


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
@pytest.mark.parametrize("value", [None, "x", 2, 0.0])
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_take_bools_alone(setting: str, value: object) -> None:
    for lib in (torch, dovetail):
        before = (lib.is_grad_enabled(), lib.is_anomaly_enabled(), lib.is_inference_mode_enabled())
        with pytest.raises((TypeError, ValueError)):
            SETTINGS[setting](lib, value)
        assert before == (
            *(lib.is_grad_enabled(), lib.is_anomaly_enabled(), lib.is_inference_mode_enabled()),
        )


@pytest.mark.parametrize("size", ["ab", 3, [2, "a"], (2, 2.0), range(2), [2, 2]])
def test_unflatten_takes_a_tuple_of_ints(size: Any) -> None:
    outcomes = []
    for lib in (dovetail, torch):
        try:
            outcomes.append(tuple(lib.nn.Unflatten(1, size)(lib.ones(1, 4)).shape))
        except TypeError as error:
            outcomes.append(str(error)[:60])
        with pytest.raises(IndexError):
            lib.nn.Unflatten(5, (2, 2))(lib.ones(1, 4))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam"])
def test_an_optimizer_wants_two_decays(name: str) -> None:
    for lib in (dovetail, torch):
        with pytest.raises(IndexError):
            getattr(lib.optim, name)([lib.nn.Parameter(lib.ones(2))], betas=(0.5,))


@pytest.mark.parametrize("expression", WIDER_BOUNDS)
def test_integers_are_not_clamped_in_place_by_wider_bounds(expression: str) -> None:
    ours, theirs = dovetail.tensor([2, 5]), torch.tensor([2, 5])
    assert _error(expression, dovetail, x=ours) == _error(expression, torch, x=theirs)
    assert ours.tolist() == [2, 5] and ours._version == 0


@pytest.mark.cpu_only(reason="the autocast of the cpu")
@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("expression", AUTOCAST)
def test_autocast_gives_composites_the_dtype_of_pytorch(expression: str, source: str) -> None:
    dtypes = []
    for lib in (dovetail, torch):
        a = lib.ones(2, 2, dtype=getattr(lib, source))
        with lib.autocast("cpu", dtype=lib.bfloat16):
            result = eval(expression, {"L": lib, "a": a, "v": a[0], "t": lib.tensor([0, 1])})
        dtypes.append(str(result.dtype).rpartition(".")[2])
    assert dtypes[0] == dtypes[1]


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64"])
@pytest.mark.parametrize("equation", OUTER)
def test_products_that_sum_nothing_are_elementwise(equation: str, dtype: str) -> None:
    ours, theirs = (
        lib.einsum(
            equation,
            *[
                lib.arange(3 ** len(term)).reshape([3] * len(term)).to(getattr(lib, dtype))
                for term in equation.partition("->")[0].split(",")
            ],
        )
        for lib in (dovetail, torch)
    )
    assert ours.tolist() == theirs.tolist() and str(ours.dtype).endswith(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "bij,bjk->bik", "i,i->", "...i,i->...", "ij,ij->j"]
)
@pytest.mark.parametrize("broadcast", [(0,), (1,), (0, 1)])
def test_what_einsum_sums_of_one_operand_alone_has_the_dtype_of_a_sum(
    equation: str, dtype: str, broadcast: tuple[int, ...]
) -> None:
    terms = equation.partition("->")[0].split(",")
    summed = next(each for each in terms[0] if each.isalpha() and each not in equation[-2:])
    summed = {"ij,jk->ik": "j", "bij,bjk->bik": "j"}.get(equation, summed)
    found = []
    for lib in (dovetail, torch):
        operands = []
        for place, term in enumerate(terms):
            shape = [1 if place in broadcast and each == summed else 2 for each in term.strip(".")]
            operands.append(lib.ones(shape).to(getattr(lib, dtype)))
        made = lib.einsum(equation, *operands)
        found.append((made.tolist(), str(made.dtype).rpartition(".")[2]))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64"])
def test_a_sum_of_one_operand_alone_goes_with_the_other_operand(dtype: str) -> None:
    x = dovetail.ones(1, 2).to(getattr(dovetail, dtype))
    made = dovetail.einsum("ij,ij->", x, dovetail.ones(2, 2).to(getattr(dovetail, dtype)))
    assert made.item() == 4 and made.dtype is dovetail.int64


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("greatest", [3e4, 3e18, 3e38])
def test_deviations_are_finite_where_only_their_squares_are_not(
    dtype: str, greatest: float
) -> None:
    if dtype == "float16":
        greatest = 3e4
    found = []
    for lib in (dovetail, torch):
        x = lib.tensor([-greatest, greatest, 1.0]).to(getattr(lib, dtype))
        found.append([getattr(lib, name)(x).item() for name in ("std", "var")])
    if dtype == "complex64" and greatest == 3e38:
        assert found[0][0] == pytest.approx(3e38)  # PyTorch adds squares of complex64 in float32
        return
    assert found[0] == pytest.approx(found[1], rel=1e-2, nan_ok=True)


@pytest.mark.parametrize("base", [1 + 1j, -2 + 0.5j, 1 + 0j, 2j])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_powers_of_complex_numbers_to_real_exponents_have_finite_gradients(
    base: complex, dtype: str
) -> None:
    found = []
    for lib in (dovetail, torch):
        x = lib.tensor([-2.5, -0.1, 1.5, 2.0], dtype=getattr(lib, dtype), requires_grad=True)
        made = lib.pow(base, x)
        (made.real * 2 + made.imag * 3).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.parametrize("size", [[], [1], [2, 3]])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_sum_to_size_shares_memory_where_pytorch_does(
    shape: tuple[int, ...], size: list[int], dtype: str
) -> None:
    found = []
    for lib in (dovetail, torch):
        x = lib.ones(shape).to(getattr(lib, dtype))
        try:
            made = x.sum_to_size(size)
        except RuntimeError:
            found.append(("refused",))
        else:
            is_shared = made.data_ptr() == x.data_ptr()
            found.append((made.tolist(), str(made.dtype).rpartition(".")[2], is_shared))
    assert found[0] == found[1]
