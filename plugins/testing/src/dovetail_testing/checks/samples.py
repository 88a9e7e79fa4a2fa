"""What the checks have in common: samples of an `OpInfo`, and comparisons of results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dovetail.testing import assert_close
from dovetail.testing.comparison import tolerance_of
from dovetail_aten import Tensor
from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import (
    CheckSkipped,
    OpInfo,
    SampleInput,
    current_sample,
    part_of_samples,
    samples_in_part,
)
from dovetail_kernel import Device, complex128, float32, float64, plugin_manager
from dovetail_kernel import dtype as DType

__all__ = [
    "DifferentiableCall",
    "assert_same",
    "copied",
    "differentiable_calls",
    "dtypes_of",
    "is_inexact",
    "known_on",
    "quiet",
    "representative_dtypes",
    "results_of",
    "samples_of",
]


def is_inexact(value: Tensor | Scalar) -> bool:
    """Say whether a value is a floating point or complex tensor."""
    return isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


def known_on(device: Device, dtypes: Iterable[DType]) -> list[DType]:
    """Return those of the dtypes that arrays of a device can have."""
    known = plugin_manager.attached_backend(device.type).arrays.native_dtypes
    return [each for each in dtypes if each in known]


def dtypes_of(
    info: OpInfo, check: str, device: Device, among: Iterable[DType] | None = None
) -> list[DType]:
    """Return the dtypes of an operator that a check is about, in a fixed order.

    Raises
    ------
    CheckSkipped
        If there are none.
    """
    wanted = known_on(device, info.dtypes if among is None else info.dtypes & set(among))
    skips = {each: info.skip_of(check, device, each) for each in wanted}
    left_out = next((skip for skip in skips.values() if skip is not None), None)
    found = sorted([each for each in wanted if skips[each] is None], key=str)
    if not found:
        raise CheckSkipped(
            left_out.reason if left_out else "it takes no dtype that the check is about"
        )
    return found


def representative_dtypes(info: OpInfo, check: str, device: Device) -> list[DType]:
    """Return the dtypes of a check for which one of each kind is enough: float32, or any two."""
    dtypes = dtypes_of(info, check, device)
    chosen = [each for each in dtypes if each in (float32, complex128)]
    return chosen or dtypes[:2]


def samples_of(
    info: OpInfo, check: str, device: Device, dtype: DType, requires_grad: bool = False
) -> Iterator[SampleInput]:
    """Yield the samples of a check, or of `part_of_samples`; its errors name the one that it is at.

    Raises
    ------
    AssertionError
        If there are none.
    """
    samples = info.sample_inputs(device, dtype, requires_grad)
    assert samples, f"{info.name} has no samples of {dtype}"
    for sample in samples_in_part(samples, f"{check} {info.name} {dtype}"):
        if info.skip_of(check, device, dtype, sample.name) is None:
            current_sample.set(sample)
            yield sample


@contextmanager
def quiet() -> Iterator[None]:
    """Run references and special values without warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def copied(sample: SampleInput) -> SampleInput:
    """Return a sample whose tensors are copies in the same order in memory, and no leaves."""
    return sample.transform(lambda tensor: tensor.detach().clone())


def results_of(result: Tensor | Sequence[Tensor]) -> list[Any]:
    """Return the results of a call in a list."""
    return list(result) if isinstance(result, list | tuple) else [result]


def assert_same(
    found: Tensor | Sequence[Tensor], expected: Any, info: OpInfo, *, loose: float = 1.0
) -> None:
    """Check that results agree: shapes and dtypes, and values unless they are random."""
    for mine, other in zip(results_of(found), results_of(expected), strict=True):
        if not (isinstance(mine, Tensor) and isinstance(other, Tensor)):
            if not info.is_random:
                assert_close(mine, other, rtol=1e-6, atol=1e-6, equal_nan=True)
            continue
        assert mine.shape == other.shape, (
            f"shape {tuple(mine.shape)} instead of {tuple(other.shape)}"
        )
        assert mine.dtype is other.dtype, f"dtype {mine.dtype} instead of {other.dtype}"
        if not info.is_random:
            rtol, atol = info.tolerances.get(other.dtype, tolerance_of(other.dtype))
            rtol, atol = rtol * loose, atol * loose
            assert_close(mine, other, rtol=rtol, atol=atol, equal_nan=True, check_device=False)


# -- derivatives -----------------------------------------------------------------------------------


class DifferentiableCall:
    """A sample as a function of its tensors that require grad, giving the results that do.

    Attributes
    ----------
    leaves
        The tensors.
    """

    def __init__(self, info: OpInfo, sample: SampleInput) -> None:
        self._op = info.op
        self._sample = sample
        self._writes = info.operator.schema.is_mutable
        self.leaves: list[Any] = [each for each in sample.tensors() if each.requires_grad]
        results = self._results(self.leaves, None)
        self._places = [i for i, each in enumerate(results) if _requires_grad(each)]

    @property
    def is_differentiable(self) -> bool:
        """Whether any result requires grad."""
        return bool(self._places)

    def __call__(self, *leaves: Any, device: Device | None = None) -> tuple[Any, ...]:
        """Return the differentiable results; with `device`, the other tensors are moved there."""
        results = self._results(leaves, device)
        return tuple([results[place] for place in self._places])

    def fresh_leaves(self) -> list[Any]:
        """Return new leaves with the same values."""
        return [leaf.detach().clone().requires_grad_() for leaf in self.leaves]

    def _results(self, leaves: Iterable[Any], device: Device | None) -> list[Any]:
        given = iter(leaves)

        def put(tensor: Any) -> Any:
            if tensor.requires_grad:
                leaf = next(given)
                return leaf.clone() if self._writes else leaf
            return tensor if device is None else tensor.to(device)

        made = self._sample.transform(put)
        return results_of(self._op(*made.arguments, **made.kwargs))


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def differentiable_calls(info: OpInfo, check: str, device: Device) -> Iterator[DifferentiableCall]:
    """Yield the samples of double precision that have a derivative.

    Raises
    ------
    CheckSkipped
        If it takes no double precision.
    AssertionError
        If no result of any sample requires grad.
    """
    found = False
    for dtype in dtypes_of(info, check, device, (float64, complex128)):
        for sample in samples_of(info, check, device, dtype, requires_grad=True):
            with quiet():
                call = DifferentiableCall(info, sample)
                if call.is_differentiable:
                    found = True
                    yield call
    if not found and part_of_samples.get() is not None:
        raise CheckSkipped("no result of this part of the samples requires grad")
    assert found, (
        "no result requires grad: give the operator a derivative, or supports_autograd=False"
    )
