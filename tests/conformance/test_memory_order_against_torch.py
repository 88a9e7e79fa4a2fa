"""Where results of permuted and expanded operands lie in memory: `view` works where it does in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dovetail

SHAPE = (2, 3, 4)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "reversed": lambda x: x.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    "rotated": lambda x: x.permute(1, 2, 0).contiguous().permute(2, 0, 1),
    "swapped": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "expanded": lambda x: x[:1].expand(SHAPE),
    "with gaps": lambda x: x[..., ::2],
}

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda lib, x, name=name: [
            getattr(x, name)(*dim, keepdim=keepdim)
            for dim in ((0,), (1,), (-1,))
            for keepdim in (False, True)
        ]
        for name in (
            *("sum", "mean", "prod", "amax", "amin", "max", "min"),
            *("argmax", "argmin", "all", "any", "var", "std", "logsumexp"),
        )
    },
    "sum of integers": lambda lib, x: [
        x.long().sum(1),
        x.half().sum(1),
        x.sum(1, dtype=lib.float64),
    ],
    "prod of halves": lambda lib, x: [x.half().prod(1), x.half().mean(1), x.half().var(1)],
    "any of bytes": lambda lib, x: x.to(lib.uint8).any(1),
    "extrema of halves": lambda lib, x: [x.half().amax(1), *x.half().max(1)],
    "norm": lambda lib, x: [x.norm(dim=1), x.norm(1, dim=1), x.to(lib.complex64).norm(dim=1)],
    "count_nonzero": lambda lib, x: x.count_nonzero(1),
    "cumsum": lambda lib, x: [x.cumsum(1), x.long().cumsum(0), x.half().cumsum(1)],
    "cumprod": lambda lib, x: x.cumprod(1),
    "softmax": lambda lib, x: [x.softmax(1), x.softmax(-1), x.half().softmax(1), x[0].softmax(1)],
    "log_softmax": lambda lib, x: [
        x.log_softmax(1),
        x.log_softmax(-1),
        x.half().log_softmax(1),
        x[0].log_softmax(1),
    ],
    "roll": lambda lib, x: [x.roll(1, 1), x.roll((1, 1), (0, 2)), x.roll(0, 1), x.roll(1)],
    "stack": lambda lib, x: [lib.stack([x, x], dim) for dim in (0, 1, -1)],
    "cat": lambda lib, x: [lib.cat([x, x], dim) for dim in (0, 1, -1)],
    "masked_fill": lambda lib, x: [
        x.masked_fill(x > 0, 1.0),
        x.masked_fill(x > 0, lib.tensor(2.0)),
    ],
    "power of a number": lambda lib, x: 2**x,
    "layer_norm": lambda lib, x: [
        lib.nn.functional.layer_norm(x, x.shape[-1:]),
        lib.nn.functional.layer_norm(x, x.shape[1:]),
    ],
    "conversion": lambda lib, x: [x.double(), x.long(), x.half()],
    "erf": lambda lib, x: [x.erf(), x.erfc(), x.double().erf(), x.repeat(20, 1, 1).erf()],
    "sigmoid": lambda lib, x: [
        x.sigmoid(),
        lib.nn.functional.silu(x),
        lib.nn.functional.gelu(x),
        lib.nn.functional.gelu(x.double()),
    ],
    "elementary": lambda lib, x: [
        lib.log1p(x.repeat(20, 1, 1)),
        lib.expm1(x.expand(3, *x.shape)),
        lib.expm1(x.expand(20, *x.shape)),
    ],
    "zeros_like": lambda lib, x: [lib.zeros_like(x), lib.ones_like(x), lib.empty_like(x)],
}


def strides(results: Any) -> list[list[int]]:
    """Return the strides of results, of dimensions with several elements: the others are of no
    account.
    """
    tensors = results if isinstance(results, (tuple, list)) else [results]
    flat = [
        each for tensor in tensors for each in (tensor if isinstance(tensor, tuple) else [tensor])
    ]
    return [
        [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]
        for tensor in flat
    ]


def operand(lib: Any, layout: str) -> Any:
    return LAYOUTS[layout]((lib.arange(24) / 24 - 0.25).reshape(SHAPE))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_results_lie_in_memory_in_the_order_of_torch(name: str, layout: str) -> None:
    ours, theirs = (strides(CALLS[name](lib, operand(lib, layout))) for lib in (dovetail, torch))
    assert ours == theirs


def test_what_is_reduced_of_a_permuted_tensor_can_be_viewed() -> None:
    x = operand(dovetail, "reversed")
    for result in (
        x.sum(1),
        x.amax(1),
        x.max(1)[0],
        x.cumsum(1),
        x.softmax(1),
        x.masked_fill(x > 0, 0.0),
    ):
        assert result.view(-1).tolist() == result.reshape(-1).tolist()


@pytest.mark.parametrize("bias", [True, False])
def test_gradients_of_a_linear_layer_lie_in_memory_like_its_parameters(bias: bool) -> None:
    for library in (dovetail, torch):
        layer = library.nn.Linear(6, 4, bias=bias)
        layer(library.ones(3, 6)).sum().backward()
        assert layer.weight.grad.stride() == (6, 1)


@pytest.mark.parametrize("transposed", [False, True])
def test_the_gradient_of_a_matrix_factor_lies_in_memory_like_the_factor(transposed: bool) -> None:
    for library in (dovetail, torch):
        factor = library.ones(5, 5)
        factor = (factor.t() if transposed else factor).requires_grad_()
        library.mm(library.ones(5, 5), factor).sum().backward()
        assert factor.grad.stride() == factor.stride()


@pytest.mark.parametrize("name", ["contiguous_format", "channels_last", "channels_last_3d"])
def test_what_lies_in_a_format_is_returned_as_it_is(name: str) -> None:
    def program(lib: Any) -> Any:
        memory_format = getattr(lib, name)
        shape = (2, 3, 4, 5, 6) if name == "channels_last_3d" else (2, 3, 4, 5)
        x = lib.zeros(shape).contiguous(memory_format=memory_format)
        return x.contiguous(memory_format=memory_format) is x, x.stride()

    assert program(dovetail) == program(torch)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_gradients_of_several_uses_meet_in_the_order_of_the_first(
    count: int, is_reversed: bool
) -> None:
    def found(lib: Any) -> Any:
        x = lib.arange(24.0).reshape(2, 3, 4).requires_grad_()
        v = x * 1
        uses = [
            v.permute(2, 0, 1).contiguous().sin(),
            v.cos(),
            v.permute(1, 2, 0).contiguous().exp(),
        ]
        given = uses[::-1][:count] if is_reversed else uses[:count]
        terms = [use.mul(0.5).sum() for use in given]
        return lib.autograd.grad(sum(terms), v)[0].stride()

    assert found(dovetail) == found(torch)
