"""Checks of the forms of an operator: out, in-place, meta, layouts, autocast, schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dovetail_aten as aten
from dovetail.testing import assert_close
from dovetail_aten import Tensor
from dovetail_aten.autocast import autocast, get_autocast_dtype, is_autocast_available
from dovetail_autograd import no_grad
from dovetail_dispatcher import Operator, opcheck
from dovetail_dispatcher.testing import CheckSkipped, OpInfo, SampleInput
from dovetail_kernel import Device, can_cast, float32, float64, int64, restoring

from .samples import (
    assert_same,
    copied,
    dtypes_of,
    quiet,
    representative_dtypes,
    results_of,
    samples_of,
)

__all__ = [
    "check_autocast",
    "check_inplace",
    "check_layouts",
    "check_meta",
    "check_meta_strides",
    "check_out",
    "opcheck_of",
]


def called(info: OpInfo, sample: SampleInput) -> list[Any]:
    """Return the results for copies of the arguments."""
    given = copied(sample)
    with quiet():
        return results_of(info.op(*given.arguments, **given.kwargs))


def variants(info: OpInfo, *, out: bool) -> list[Operator]:
    """Return the derived variants that write to ``out=``, or in place."""
    return [
        each
        for each in info.operator.variants
        if any(a.is_write and a.is_out is out for a in each.schema.arguments)
    ]


def outs_of(variant: Operator, targets: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments of an out variant that write into `targets`: one for each of them, or a
    list of all.
    """
    names = [a.name for a in variant.schema.arguments if a.is_out]
    if not variant.schema.returns:
        return {names[0]: list(targets)}
    return dict(zip(names, targets, strict=True))


# -- out and in-place ------------------------------------------------------------------------------


def check_out(info: OpInfo, device: Device) -> None:
    """Check that ``out=`` gets the results, empty or of their size, and no integers."""
    for variant in variants(info, out=True):
        for dtype in dtypes_of(info, "out", device):
            for sample in samples_of(info, "out", device, dtype):
                _check_out(info, variant, sample, called(info, sample))


def _check_out(info: OpInfo, variant: Operator, sample: SampleInput, expected: list[Any]) -> None:
    given = copied(sample)
    empty = [aten.empty(0, dtype=each.dtype, device=each.device) for each in expected]
    for targets in (empty, [aten.zeros_like(each) for each in expected]):
        with quiet():
            result = variant.handle(*given.arguments, **given.kwargs, **outs_of(variant, targets))
        if variant.schema.returns:
            pairs = zip(results_of(result), targets, strict=True)
            assert all(mine is target for mine, target in pairs), (
                "what is returned is not the tensor of out="
            )
        assert_same(targets, expected, info)
    truncates = "any_out" in variant.refuses
    if len(expected) == 1 and expected[0].dtype.is_floating_point and not truncates:
        wrong = aten.empty(0, dtype=int64, device=expected[0].device)
        outs = outs_of(variant, [wrong])
        _assert_refused(
            lambda: variant.handle(*given.arguments, **given.kwargs, **outs),
            f"a result of {expected[0].dtype} is put into out= of {wrong.dtype}",
        )


def _assert_refused(call: Callable[[], Any], text: str) -> None:
    try:
        with quiet():
            call()
    except (RuntimeError, TypeError):  # which of them is PyTorch's, by operator
        return
    raise AssertionError(text)


def check_inplace(info: OpInfo, device: Device) -> None:
    """Check that in-place variants write the result, return `self`, and count its version."""
    for variant in variants(info, out=False):
        for dtype in dtypes_of(info, "inplace", device):
            for sample in samples_of(info, "inplace", device, dtype):
                if isinstance(sample.input, Tensor):
                    _check_inplace(info, variant, sample)


def _check_inplace(info: OpInfo, variant: Operator, sample: SampleInput) -> None:
    expected = called(info, sample)[0]
    given = copied(sample)
    target = given.input
    before, version = target.clone(), target._version

    def call() -> Any:
        with quiet():
            return variant.handle(*given.arguments, **given.kwargs)

    if expected.shape != target.shape or not can_cast(expected.dtype, target.dtype):
        _assert_refused(
            call,
            f"{variant.name} puts {expected.dtype}{list(expected.shape)} into "
            f"{target.dtype}{list(target.shape)}",
        )
        assert_same(target, before, info)
        return
    assert call() is target, f"{variant.name} does not return self"
    assert target._version > version, f"{variant.name} does not count the version"
    assert_same(target, expected.to(target.dtype), info)


# -- meta ------------------------------------------------------------------------------------------


def on_meta(tensor: Tensor) -> Tensor:
    """Return a meta tensor with the strides of `tensor`, in a memory as large."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    memory = aten.empty(size, dtype=tensor.dtype, device="meta")
    return memory.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


def _on_meta(info: OpInfo, sample: SampleInput) -> list[Any]:
    made = sample.transform(lambda tensor: on_meta(tensor.detach()))
    meta = Device("meta")
    args = [meta if isinstance(value, Device) else value for value in made.arguments]
    kwargs = {n: meta if isinstance(value, Device) else value for n, value in made.kwargs.items()}
    return results_of(info.op(*args, **kwargs))


def _compare_on_meta(info: OpInfo, device: Device, check: str, compare: Any) -> None:
    compared, unknown = False, ""
    for dtype in dtypes_of(info, check, device):
        for sample in samples_of(info, check, device, dtype):
            expected = called(info, sample)
            try:
                found = _on_meta(info, sample)
            except NotImplementedError as error:
                if not depends_on_values(info):
                    raise
                unknown = str(error).partition("\n")[0]
                continue
            compared = True
            for mine, other in zip(found, expected, strict=True):
                assert (mine is None) == (other is None), f"{mine!r} instead of {other!r}"
                if isinstance(other, Tensor):
                    assert mine.is_meta, f"a result is on {mine.device} instead of meta"
                    compare(mine, other)
    if not compared:
        raise CheckSkipped(unknown)


def depends_on_values(info: OpInfo) -> bool:
    """Say whether the operator declares that its result cannot be told from shapes."""
    return any(
        getattr(tag, "value", tag) in ("data_dependent_output", "dynamic_output_shape")
        for tag in info.operator.tags
    )


def check_meta(info: OpInfo, device: Device) -> None:
    """Check that results on the meta device have the shapes and dtypes of real ones."""

    def compare(found: Tensor, expected: Tensor) -> None:
        assert found.shape == expected.shape, f"{tuple(found.shape)}, not {tuple(expected.shape)}"
        assert found.dtype is expected.dtype, f"{found.dtype} instead of {expected.dtype}"

    _compare_on_meta(info, device, "meta", compare)


def check_meta_strides(info: OpInfo, device: Device) -> None:
    """Check that results on the meta device have the strides of those of the cpu."""
    if device.type != "cpu":
        raise CheckSkipped("the strides are those of the cpu's kernels")

    def compare(found: Tensor, expected: Tensor) -> None:
        mine, other = _strides(found), _strides(expected)
        assert mine == other, f"strides {mine} instead of {other}"

    _compare_on_meta(info, device, "meta_strides", compare)


def _strides(tensor: Tensor) -> list[int]:
    """Return the strides of dimensions with several elements: the others are of no account."""
    if 0 in tensor.shape:
        return []
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


# -- layouts of memory -----------------------------------------------------------------------------


def transposed(x: Tensor) -> Tensor:
    dims = tuple(range(x.ndim))[::-1]
    return x.permute(dims).clone().contiguous().permute(dims)


def strided(x: Tensor) -> Tensor:
    return (
        aten.stack([x, x], -1).reshape((*x.shape[:-1], 2 * x.shape[-1]))[..., ::2] if x.ndim else x
    )


def offset(x: Tensor) -> Tensor:
    return aten.cat([x, x], 0)[x.shape[0] :] if x.ndim else x


def expanded(x: Tensor) -> Tensor:
    return x[:1].expand(x.shape) if x.ndim and x.shape[0] else x


@no_grad()
def check_layouts(info: OpInfo, device: Device) -> None:
    """Check that results do not depend on how arguments lie in memory."""
    for dtype in representative_dtypes(info, "layouts", device):
        for sample in samples_of(info, "layouts", device, dtype):
            for layout in (transposed, strided, offset, expanded):
                _check_layout(info, sample.transform(layout))


def _check_layout(info: OpInfo, arranged: SampleInput) -> None:
    plain = arranged.transform(lambda tensor: tensor.contiguous().clone())
    expected = called(info, plain)
    with quiet():
        # In-place operators refuse to write to elements that share memory.
        given = copied(arranged) if info.operator.schema.is_mutable else arranged
        found = results_of(info.op(*given.arguments, **given.kwargs))
    assert_same(found, expected, info)


# -- autocast --------------------------------------------------------------------------------------

LOWER_PRECISION = 5e-2
"""How far results of half precision may lie from those of float32, of small samples."""


@restoring(*autocast.variables)
def check_autocast(info: OpInfo, device: Device) -> None:
    """Check that under autocast results are near those outside, and of a dtype that it chooses."""
    if not is_autocast_available(device.type):
        raise CheckSkipped(f"there is no autocast on {device.type}")
    lower = get_autocast_dtype(device.type)
    for sample in samples_of(info, "autocast", device, float32):
        expected = called(info, sample)
        with autocast(device.type):
            found = called(info, sample)
        assert len(found) == len(expected), f"{len(found)} results instead of {len(expected)}"
        for mine, other in zip(found, expected, strict=True):
            if not isinstance(other, Tensor):
                continue
            assert mine.shape == other.shape, f"{tuple(mine.shape)}, not {tuple(other.shape)}"
            chosen = (lower, float32) if other.dtype is float32 else (other.dtype,)
            assert mine.dtype in chosen, f"{mine.dtype} instead of {' or '.join(map(str, chosen))}"
            if not info.is_random:
                near: dict[str, Any] = {
                    "rtol": LOWER_PRECISION,
                    "atol": LOWER_PRECISION,
                    "check_dtype": False,
                }
                assert_close(mine, other, equal_nan=True, **near)


# -- opcheck ---------------------------------------------------------------------------------------


def opcheck_of(name: str, utility: str) -> Callable[[OpInfo, Device], None]:
    """Return the check `name`: one of `opcheck`, for the samples of an `OpInfo`."""

    def check(info: OpInfo, device: Device) -> None:
        dtypes = dtypes_of(info, name, device)
        dtype = float64 if float64 in dtypes else dtypes[0]
        # A leaf that requires grad is not written to.
        requires_grad = info.supports_autograd and not info.operator.schema.is_mutable
        for sample in samples_of(info, name, device, dtype, requires_grad):
            with quiet():
                opcheck(info.op, sample.arguments, sample.kwargs, test_utils=utility)  # type: ignore[arg-type]

    return check
