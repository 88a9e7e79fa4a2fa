"""What is given as ``out=`` gets the result as in PyTorch, whatever it is: a view, of another
shape or dtype, a leaf; and its memory, where it is a part of a larger one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_values import name_of
from torch_samples import as_torch, results_of

import dovetail
from dovetail.testing import OpInfo, op_infos
from dovetail_kernel import Device
from dovetail_testing.checks.samples import dtypes_of, samples_of
from dovetail_testing.checks.variant_checks import outs_of, variants

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

CPU = Device("cpu")
SAMPLES = 1
pytestmark = [
    pytest.mark.cpu_only(reason="PyTorch is on the cpu"),
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
]


def parts(lib: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Return a part of a larger tensor in that shape, and the tensor."""
    if not shape:
        base = lib.zeros(3, dtype=dtype)
        return base[1], base
    base = lib.zeros((*shape[:-1], shape[-1] + 2), dtype=dtype)
    return base.narrow(-1, 1, shape[-1]), base


def reversed_dims(lib: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    base = lib.zeros(tuple(reversed(shape)), dtype=dtype)
    return base.permute(list(reversed(range(len(shape))))), base


def as_many_elements(lib: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    base = lib.zeros((int(np.prod(shape)), 2), dtype=dtype)
    return base[:, 1], base


def more_elements(lib: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    base = lib.zeros(int(np.prod(shape)) + 9, dtype=dtype)
    return base[2:-2], base


def fewer_elements(lib: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    base = lib.zeros((max(int(np.prod(shape)) - 1, 1), 1, 1), dtype=dtype)
    return base, base


def nothing(lib: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    base = lib.zeros(0, dtype=dtype)
    return base, base


KINDS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "part": parts,
    "transposed": reversed_dims,
    "as many elements": as_many_elements,
    "more elements": more_elements,
    "fewer elements": fewer_elements,
    "nothing": nothing,
}
RESHAPED = ("as many elements", "more elements", "fewer elements", "nothing")
DIFFERENT = {
    "split_copy": "PyTorch refuses tensors of another shape, which unbind_copy takes",
    **dict.fromkeys(
        ["_standard_gamma_grad", "_dirichlet_grad"],
        "PyTorch's have four digits: `test_seeds_against_torch.py` compares them",
    ),
    "_thnn_fused_lstm_cell": "PyTorch has it on CUDA alone",
    "nonzero": "PyTorch fills an empty tensor column by column",
    **dict.fromkeys(
        ["binary_cross_entropy", "huber_loss", "soft_margin_loss"],
        "PyTorch writes the losses of all elements into out= on the way to their mean",
    ),
}
ONLY_CONTIGUOUS = {
    "adaptive_avg_pool2d": "it gets new strides",
    "adaptive_avg_pool3d": "it gets new strides",
    "max_unpool2d": "it gets new strides",
    "max_unpool3d": "it is refused",
    "_int_mm": "it is refused",
    "nll_loss2d_backward": "it is refused",
    "avg_pool3d": "its elements are written one behind the other, wherever they lie",
    "col2im": "its elements are written one behind the other, wherever they lie",
    "im2col": "its elements are written one behind the other, wherever they lie",
    "narrow_copy": "its elements are written one behind the other, wherever they lie",
    **dict.fromkeys(
        [
            *("_softmax", "_softmax_backward_data", "_log_softmax", "_log_softmax_backward_data"),
            *("adaptive_max_pool3d", "adaptive_max_pool3d_backward", "avg_pool3d_backward"),
            *("max_pool3d_with_indices", "max_pool3d_with_indices_backward"),
            *("fractional_max_pool2d", "fractional_max_pool2d_backward"),
            *("fractional_max_pool3d", "fractional_max_pool3d_backward"),
            *("log_sigmoid_forward", "upsample_bicubic2d_backward"),
            *[f"{name}_pad{dims}d" for name in ("reflection", "replication") for dims in (1, 2, 3)],
        ],
        "their elements are written one behind the other, wherever they lie",
    ),
}
"""What PyTorch does where `out` is of the right shape and not contiguous: here it gets the result
where its elements lie, as the page of the differences says.
"""


IN_ROWS = {
    *("cholesky", "cholesky_inverse", "cholesky_solve", "fft_ihfft2", "fft_ihfftn", "geqrf"),
    *("linalg_eig", "linalg_householder_product", "linalg_tensorinv", "orgqr", "ormqr", "rot90"),
}
"""Operators whose results PyTorch lays out row by row where an out= takes another shape, and
otherwise without one.
"""


def in_rows(found: Any) -> Any:
    """Return an outcome without where the elements of matrices lie."""
    return [each if np.ndim(each[1]) < 2 else (each[0][0], each[1]) for each in found]


def places(x: Any) -> Any:
    """Return where the elements lie that there are."""
    steps = [step for size, step in zip(x.shape, x.stride(), strict=True) if size > 1]
    return (tuple(x.shape), steps, x.storage_offset()) if x.numel() else tuple(x.shape)


def written(lib: Any, variant: Any, operator: Any, args: Any, kwargs: Any, targets: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            operator(*args, **kwargs, **outs_of(variant, [view for view, _ in targets]))
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            return type(error)
    return [(places(view), view.tolist(), base.tolist()) for view, base in targets]


def laid_out(make: Callable[..., tuple[Any, Any]], expected: Any) -> Any:
    """Return what `written` returns where each target has its own strides and the result."""
    made = [make(dovetail, tuple(each.shape), each.dtype) for each in expected]
    for (view, _), each in zip(made, expected, strict=True):
        view.resize_(each.shape).copy_(each)
    return [(places(view), view.tolist(), base.tolist()) for view, base in made]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, type) or isinstance(theirs, type):
        return ours is theirs
    return all(
        mine[0] == other[0]
        and all(
            np.allclose(np.array(a), np.array(b), 1e-6, 1e-6, equal_nan=True)
            for a, b in zip(mine[1:], other[1:], strict=True)
        )
        for mine, other in zip(ours, theirs, strict=True)
    )


INFOS = [info for info in op_infos("aten") if variants(info, out=True) and not info.is_random]


@pytest.mark.operators("info", INFOS)
def test_whatever_is_given_as_out_gets_the_result_as_in_pytorch(info: OpInfo) -> None:
    if info.operator.base_name in DIFFERENT:
        pytest.skip(DIFFERENT[info.operator.base_name])
    known = dtypes_of(info, "out", CPU)
    dtype = dovetail.float64 if dovetail.float64 in known else known[0]
    for variant in variants(info, out=True):
        packet = getattr(torch.ops.aten, variant.handle._opname)
        operator = getattr(packet, variant.handle._overloadname, None)
        if operator is None:
            continue
        for sample in list(samples_of(info, "out", CPU, dtype))[:SAMPLES]:
            plain = sample.transform(lambda x: x.detach())
            with np.errstate(all="ignore"):
                expected = results_of(dovetail, info.op(*plain.arguments, **plain.kwargs))
            args, kwargs = as_torch(torch, plain)
            for kind, make in KINDS.items():
                made = {
                    lib: [
                        make(lib, tuple(each.shape), getattr(lib, name_of(each.dtype)))
                        for each in expected
                    ]
                    for lib in (torch, dovetail)
                }
                theirs = written(torch, variant, operator, args, kwargs, made[torch])
                ours = written(
                    dovetail, variant, variant.handle, plain.arguments, plain.kwargs, made[dovetail]
                )
                if info.operator.base_name in IN_ROWS and kind in RESHAPED:
                    ours, theirs = (
                        each if isinstance(each, type) else in_rows(each) for each in (ours, theirs)
                    )
                told = f"{variant.name} into {kind}: {ours}, not {theirs}"
                fits = kind in ("part", "transposed")
                if info.operator.base_name in ONLY_CONTIGUOUS and (fits or theirs is RuntimeError):
                    theirs = laid_out(make, expected)
                assert same(ours, theirs), told


FACTORIES: dict[str, Callable[[Any, Any], Any]] = {
    "linspace": lambda lib, out: lib.linspace(0, 3, 4, out=out),
    "linspace of other length": lambda lib, out: lib.linspace(0, 3, 5, out=out),
    "arange": lambda lib, out: lib.arange(4, out=out),
    "arange of other length": lambda lib, out: lib.arange(5, out=out),
    "zeros": lambda lib, out: lib.zeros(4, out=out),
    "ones": lambda lib, out: lib.ones(4, out=out),
    "full": lambda lib, out: lib.full((4,), 7, out=out),
    "eye": lambda lib, out: lib.eye(2, out=out),
    "eye, not square": lambda lib, out: lib.eye(2, 3, out=out),
    "a dtype that is another": lambda lib, out: lib.zeros(4, out=out, dtype=lib.float64),
}
TARGETS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "part": (lambda lib: lib.zeros(2, 4), lambda base: base.narrow(1, 1, 2)),
    "of another length": (lambda lib: lib.zeros(3), lambda base: base),
    "nothing": (lambda lib: lib.zeros(0), lambda base: base),
    "integers": (lambda lib: lib.zeros(4, dtype=lib.int64), lambda base: base),
    "every other": (lambda lib: lib.zeros(4, 2), lambda base: base[:, 0]),
    "a leaf": (lambda lib: lib.zeros(4, requires_grad=True), lambda base: base),
    "larger": (lambda lib: lib.zeros(9), lambda base: base),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factory", FACTORIES)
def test_a_factory_writes_into_out_as_in_pytorch(factory: str, target: str) -> None:
    found = []
    for lib in (torch, dovetail):
        make, view = TARGETS[target]
        base = make(lib)
        out = view(base)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = FACTORIES[factory](lib, out)
                assert made is out
                error = None
            except RuntimeError as raised:
                error = type(raised)
        found.append((error, places(out), out.tolist(), base.tolist(), name_of(out.dtype)))
        assert all(each.category is UserWarning for each in caught)
    assert found[1] == found[0]


def test_a_view_that_is_written_through_is_the_view_that_was_given():
    base = dovetail.zeros(2, 3)
    part = base.narrow(1, 1, 2)
    assert dovetail.linspace(0, 3, 4, out=part) is part
    assert base.tolist() == [[0.0, 0.0, 1.0], [0.0, 2.0, 3.0]]


def test_a_view_that_has_no_room_for_the_result_is_refused_and_not_changed():
    base = dovetail.zeros(2, 3)
    row = base[1]
    with (
        pytest.warns(UserWarning, match="was resized"),
        pytest.raises(RuntimeError, match=r"storage that is not resizable: out= of shape \[3\]"),
    ):
        dovetail.add(dovetail.ones(4), 1, out=row)
    assert base.tolist() == [[0.0] * 3] * 2
    assert row.shape == (3,)


def test_a_result_of_another_device_is_not_written():
    with pytest.raises(RuntimeError, match="Expected out tensor to be on device meta"):
        dovetail.abs(dovetail.zeros(3, device="meta"), out=dovetail.zeros(3))


PUBLIC: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda lib, x: lib.matmul(x, x, out=lib.empty(0)),
    "outer": lambda lib, x: lib.outer(x[0], x[1], out=lib.empty(2, 2)),
    "inner": lambda lib, x: lib.inner(x, x, out=lib.empty(0)),
    "square": lambda lib, x: lib.square(x, out=lib.empty(0)),
    "softmax": lambda lib, x: lib.softmax(x, 1, out=lib.empty(0)),
    "var": lambda lib, x: lib.var(x, 1, out=lib.empty(0)),
    "std": lambda lib, x: lib.std(x, 1, out=lib.empty(0)),
    "max of two": lambda lib, x: lib.max(x, -x, out=lib.empty(0)),
    "an alias": lambda lib, x: lib.arccos(x / 9, out=lib.empty(0)),
    "clip": lambda lib, x: lib.clip(x, 2, out=lib.empty(0)),
    "divide": lambda lib, x: lib.divide(x, 2, rounding_mode="floor", out=lib.empty(0)),
    "subtract": lambda lib, x: lib.subtract(x, 2, out=lib.empty(0)),
    "multiply": lambda lib, x: lib.multiply(x, 2, out=lib.empty(0)),
    "true_divide": lambda lib, x: lib.true_divide(x, 2, out=lib.empty(0)),
    "greater": lambda lib, x: lib.greater(x, 2, out=lib.empty(0, dtype=lib.bool)),
    "linear": lambda lib, x: lib.nn.functional.linear(x, x, out=lib.empty(0)),
    "a mean loss": lambda lib, x: lib.ops.aten.mse_loss.out(x, -x, out=lib.empty(())),
    "maxima and their places": lambda lib, x: list(
        lib.ops.aten.max_pool2d_with_indices.out(
            x[None], [2, 2], out=lib.empty(0), indices=lib.empty(0, dtype=lib.int64)
        )
    ),
    "a backward": lambda lib, x: lib.ops.aten.tanh_backward.grad_input(
        x, x, grad_input=lib.empty(0)
    ),
    "a list": lambda lib, x: written_list(lib.unbind_copy, x, lib.empty(0), lib.empty(2)),
    "a list of parts": lambda lib, x: written_list(
        lambda x, out: lib.split_with_sizes_copy(x, [1, 1], out=out),
        *(x, lib.empty(1, 2), lib.empty(1, 2)),
    ),
}


def written_list(function: Callable[..., Any], x: Any, *out: Any) -> list[Any]:
    assert function(x, out=list(out)) is None
    return list(out)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_functions_take_out(name: str) -> None:
    def called(lib: Any) -> list[Any]:
        made = PUBLIC[name](lib, lib.tensor([[1.0, 2.0], [3.0, 5.0]]))
        return [each.tolist() for each in made] if isinstance(made, list) else made.tolist()

    assert np.allclose(called(dovetail), called(torch))


def test_a_list_for_out_has_as_many_tensors_as_there_are_results() -> None:
    with pytest.raises(RuntimeError, match=r"expected an out= list of 2 tensors.*got 1"):
        dovetail.unbind_copy(dovetail.ones(2, 2), out=[dovetail.empty(2)])
