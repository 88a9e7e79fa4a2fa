"""Composite operators give what PyTorch's give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail


def ours(value: Any) -> Any:
    """Return the same argument for Dovetail: tensors, dtypes and memory formats become its own."""
    if isinstance(value, torch.Tensor):
        return dovetail.from_numpy(value.cpu().numpy())
    if isinstance(value, torch.dtype | torch.memory_format):
        return getattr(dovetail, str(value).removeprefix("torch."))
    if isinstance(value, list | tuple):
        return type(value)([ours(item) for item in value])
    return value


def theirs(value: Any) -> Any:
    """Return a result of Dovetail as PyTorch's."""
    if isinstance(value, dovetail.Tensor):
        return torch.from_numpy(value.cpu().numpy().copy())
    if isinstance(value, list | tuple):
        return [theirs(item) for item in value]
    return value


def check(
    operator: str, *args: Any, reference: Callable[..., Any] | None = None, **kwargs: Any
) -> None:
    base, _, overload = operator.partition(".")
    expected = (reference or getattr(getattr(torch.ops.aten, base), overload or "default"))(
        *args, **kwargs
    )
    if isinstance(expected, tuple):
        expected = list(expected)
    result = getattr(getattr(dovetail.ops.aten, base), overload or "default")(
        *ours(args), **{k: ours(v) for k, v in kwargs.items()}
    )
    torch.testing.assert_close(theirs(result), expected, equal_nan=True)


def rand(*sizes: int) -> Any:
    return torch.randn(*sizes, dtype=torch.float64)


SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)),
    ((0, 2, 3), (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul_of_any_dimensions(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check("matmul", rand(*left), rand(*right))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(shape: tuple[int, ...], bias: bool) -> None:
    check("linear", rand(*shape), rand(5, 4), rand(5) if bias else None)


def test_outer_and_inner() -> None:
    check("outer", rand(3), rand(4))
    check("inner", rand(2, 3), rand(5, 4, 3))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
        ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]), ("ij,ij->i", [(2, 3), (2, 3)]),
        ("i,i->", [(3,), (3,)]),
        ("...i->i...", [(2, 3, 4)]), ("ij,j", [(2, 3), (3,)]), ("ab,bc->c", [(2, 3), (3, 4)]),
        ("ij,ij->ij", [(1, 3), (2, 3)]),
        ("B,B->B", [(3,), (3,)]),
    ],
)  # fmt: skip
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    check("einsum", equation, [rand(*shape) for shape in shapes])


@pytest.mark.parametrize(
    "equation",
    ["ij,jk", "i", "ij->k", "ij->ii", "ijk", "ij - > i", ". ..", ". . .", ".. .i", "i..j"],
)
def test_einsum_refuses_what_torch_refuses(equation: str) -> None:
    for lib in (torch, dovetail):
        with pytest.raises(RuntimeError, match=r"einsum\(\)"):
            lib.einsum(equation, [lib.ones(2, 3)])


@pytest.mark.parametrize("shape", [(12,), (3, -1), (2, 2, 3), (-1,), (1, 3, 4, 1)])
@pytest.mark.parametrize("transposed", [True, False])
def test_reshape_is_a_view_exactly_where_torchs_is(
    shape: tuple[int, ...], transposed: bool
) -> None:
    x = rand(3, 4).t() if transposed else rand(3, 4)
    check("reshape", x, shape)
    mine = ours(x)
    shares = mine.reshape(shape).data_ptr() == mine.data_ptr()
    assert shares == (x.reshape(shape).data_ptr() == x.data_ptr())


def test_views_of_every_kind() -> None:
    x = rand(2, 3, 4)
    check("flatten.using_ints", x)
    check("flatten.using_ints", x, 1, 2)
    check("unflatten.int", rand(6, 2), 0, [2, -1])
    check("narrow", x, 1, -2, 2)
    check("movedim.int", x, 0, -1)
    check("movedim.intlist", x, [0, 1], [2, 0])
    check("sum_to_size", x, [3, 1])
    check("numpy_T", x)
    check("mT", x)
    for chunks in (1, 2, 5):
        check("chunk", x, chunks, 1)


def test_reductions() -> None:
    x = rand(2, 3)
    for name in ("var", "std"):
        check(name, x)
        check(name, x, False)
        check(f"{name}.dim", x, (1,), False, True)
    check("argsort", x, 0, True)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode: str) -> None:
    x = rand(1, 2, 4, 5)
    check("pad", x, (1, 2, 2, 0), mode)


def test_joining() -> None:
    check("hstack", [rand(2), rand(3)])
    check("hstack", [rand(2, 2), rand(2, 3)])
    check("vstack", [rand(3), rand(3)])
    check("tile", rand(2, 3), (2,))
    check("tile", rand(3), (2, 2))
    check("diag", rand(3), 1)
    check("diag", rand(3, 4), -1)


def test_activations_and_layers() -> None:
    x = rand(2, 3)
    check("softmax.int", x, 1)
    check("log_softmax.int", x, 0)
    check("log_sigmoid", x)
    check("prelu", x, rand(3))
    check("prelu", x, rand(1))
    check("layer_norm", x, (3,), rand(3), rand(3))
    check("embedding", rand(5, 3), torch.randint(0, 5, (2, 4)))
    check("dropout", x, 0.5, False)
    check("dropout", x, 1.0, True)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [True, False])
def test_cross_entropy(reduction: int, smoothing: float, weighted: bool) -> None:
    weight = torch.rand(3, dtype=torch.float64) if weighted else None
    logits, target = rand(4, 3), torch.tensor([0, 2, 1, 1])
    check("cross_entropy_loss", logits, target, weight, reduction, 1, smoothing)
    check("cross_entropy_loss", logits, rand(4, 3).softmax(1), weight, reduction, -100, smoothing)
    check("cross_entropy_loss", rand(3), torch.tensor(1), weight, reduction, -100, smoothing)
    check(
        "cross_entropy_loss",
        rand(2, 3, 4),
        torch.randint(0, 3, (2, 4)),
        weight,
        reduction,
        -100,
        smoothing,
    )


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_other_losses(reduction: int) -> None:
    x, target = rand(2, 3), torch.rand(2, 3, dtype=torch.float64)
    check("l1_loss", x, target, reduction)
    check(
        "binary_cross_entropy_with_logits",
        x,
        target,
        rand(2, 3),
        torch.rand(3, dtype=torch.float64),
        reduction,
    )
    check("binary_cross_entropy_with_logits", x, target, None, None, reduction)
    check("smooth_l1_loss_backward", rand(2, 3), x, target, reduction, 0.7)


def test_backward_functions_of_views() -> None:
    check("select_backward", rand(2, 4), (2, 3, 4), 1, 2)
    check("slice_backward", rand(2, 4), (5, 4), 0, 1, 4, 2)
    check("diagonal_backward", rand(3), (3, 4), 0, 0, 1)


@pytest.mark.parametrize("dx", [1, 0.5])
def test_trapezoids_with_infinite_ends_are_nan(dx: float) -> None:
    for y in ([torch.inf, 1.0, 2.0], [1.0, torch.inf, 2.0], [1.0, 2.0, 5.0]):
        check("trapezoid.dx", torch.tensor(y), dx=dx)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_digamma_of_negative_numbers_and_poles(dtype: torch.dtype) -> None:
    numbers = [0.0, -0.0, -1.0, -2.0, -0.5, -3.25, -100.75, 1.5, -torch.inf, torch.inf, torch.nan]
    check("digamma", torch.tensor(numbers, dtype=dtype))


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_of_both_formats_add_their_bias(channels_last: bool, groups: int) -> None:
    random = torch.Generator().manual_seed(0)
    images = torch.randn(40, 4, 9, 7, generator=random)
    weight, bias = [torch.randn(*size, generator=random) for size in ((6, 4 // groups, 3, 3), (6,))]
    x = dovetail.from_numpy(images.numpy())
    if channels_last:
        images = images.to(memory_format=torch.channels_last)
        x = x.to(memory_format=dovetail.channels_last)
    expected = torch.nn.functional.conv2d(images, weight, bias, padding=1, groups=groups)
    own = [dovetail.from_numpy(each.numpy()).to(x.device) for each in (weight, bias)]
    made = dovetail.nn.functional.conv2d(x, *own, padding=1, groups=groups)
    assert made.stride() == expected.stride()
    torch.testing.assert_close(torch.from_numpy(made.cpu().numpy()), expected)
