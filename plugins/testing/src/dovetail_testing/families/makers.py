"""What the samples of all families are made with: kinds of dtypes, shapes, operands, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, nan
from typing import Any, Final

from dovetail_aten.typing import Scalar
from dovetail_dispatcher.testing import (
    ErrorInput,
    OpInfo,
    SampleInput,
    Skip,
    TensorMaker,
    all_types_and,
    all_types_and_complex_and,
    complex_types,
    floating_and_complex_types_and,
    floating_types_and,
    integral_types_and,
)
from dovetail_kernel import Device, bfloat16, dtype, float16, float32, int64
from dovetail_kernel import bool as bool_

ALL: Final = all_types_and_complex_and(bool_, float16, bfloat16)
NUMBERS: Final = all_types_and_complex_and(float16, bfloat16)
REAL: Final = all_types_and(bool_, float16, bfloat16)
REAL_NUMBERS: Final = all_types_and(float16, bfloat16)
INEXACT: Final = floating_and_complex_types_and(float16, bfloat16)
FLOATING: Final = floating_types_and(float16, bfloat16)
INTEGRAL: Final = integral_types_and(bool_)
COMPLEX: Final = complex_types()
BOOL: Final = frozenset({bool_})
"""Kinds of dtypes, for `OpInfo.dtypes`."""

SHAPES: Final = ((2, 3), (3,), (), (0, 3), (2, 1, 3))
BROADCAST: Final = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((), ()),
    ((0, 3), (3,)),
)
"""Shapes of two operands that broadcast."""

BY_VALUES: Final = tuple(
    [Skip(check, "what it gives depends on values") for check in ("meta", "meta_strides")]
)
"""Composites of operators that have no kernel on the meta device."""

NO_SHAPE: Final = Skip(
    "vmap", "the shapes of the results depend on values, which differ in a batch"
)

Samples = Callable[[TensorMaker], Iterable[SampleInput]]
Errors = Callable[[TensorMaker], Iterable[ErrorInput]]


def rows(*each: tuple[Any, ...], **kwargs: Any) -> Samples:
    """Return samples by rows: a shape, and the arguments behind it."""
    return lambda make: [SampleInput(make(shape), *args, **kwargs) for shape, *args in each]


def op_info(
    name: str,
    samples: Samples,
    ref: Callable[..., Any] | None = None,
    dtypes: frozenset[dtype] = ALL,
    *,
    family: str,
    domain: tuple[float, float] | None = None,
    errors: Errors | None = None,
    **expected: Any,
) -> OpInfo:
    """Return the `OpInfo` of an operator of the base library.

    Parameters
    ----------
    name
        Without its namespace.
    samples
        Makes sample inputs with a `TensorMaker`.
    ref, dtypes, family
        As in `OpInfo`.
    domain
        Where floating point values lie. Default: as `TensorMaker` has them.
    errors
        Makes error inputs of float32. Default: none.
    **expected
        What else an `OpInfo` has.
    """
    low, high = domain or (None, None)

    def sample_inputs(
        info: OpInfo, device: Device, dtype: dtype, requires_grad: bool
    ) -> Iterable[SampleInput]:
        limits = {"low": low, "high": high} if dtype.is_floating_point or dtype.is_complex else {}
        maker = TensorMaker(device=device, dtype=dtype, requires_grad=requires_grad, **limits)
        return samples(maker)

    def error_inputs(info: OpInfo, device: Device) -> Iterable[ErrorInput]:
        return () if errors is None else errors(TensorMaker(device=device, dtype=float32))

    return OpInfo(
        name=f"aten::{name}",
        dtypes=dtypes,
        sample_inputs_func=sample_inputs,
        error_inputs_func=None if errors is None else error_inputs,
        ref=ref,
        family=family,
        **expected,
    )


# -- samples ---------------------------------------------------------------------------------------


def is_real(make: TensorMaker) -> bool:
    """Say whether the samples are real floating point numbers."""
    return make.dtype.is_floating_point


def is_inexact(make: TensorMaker) -> bool:
    """Say whether the samples are floating point or complex numbers."""
    return make.dtype.is_floating_point or make.dtype.is_complex


def specials(make: TensorMaker) -> Iterator[Any]:
    """Yield a tensor of values at which functions are special, unless it is differentiated."""
    if is_real(make) and not make.requires_grad:
        yield make.values([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5])


def smooth(*args: Any, **kwargs: Any) -> Samples:
    """Return samples of one tensor without special values, and the other arguments as they are."""
    return lambda make: [SampleInput(make(shape), *args, **kwargs) for shape in SHAPES]


def unary(*args: Any, **kwargs: Any) -> Samples:
    """Return samples of one tensor, and the other arguments as they are."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        yield from smooth(*args, **kwargs)(make)
        for tensor in specials(make):
            yield SampleInput(tensor, *args, **kwargs).with_metadata(name="special values")

    return samples


def with_each(*rows: Any) -> Samples:
    """Return samples of one tensor and each of some arguments: a number, or a tuple of several."""
    arguments = [row if isinstance(row, tuple) else (row,) for row in rows]

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        for count, row in enumerate(arguments):
            for shape in SHAPES if count == 0 else SHAPES[:3]:
                yield SampleInput(make(shape), *row)
            for tensor in specials(make):
                yield SampleInput(tensor, *row).with_metadata(name="special values")

    return samples


def binary(*options: dict[str, Any], least: float | None = None, special: bool = True) -> Samples:
    """Return samples of two tensors that broadcast, and each of some keyword arguments.

    The second lies above `least` if that is given, for divisors. Every two of the special values
    meet, if `special`.
    """

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        limits: dict[str, Any] = {} if least is None else {"low": least, "high": least + 3}
        for count, keywords in enumerate(options or ({},)):
            for left, right in BROADCAST if count == 0 else BROADCAST[:2]:
                yield SampleInput(make(left), make(right, **limits), **keywords)
            for tensor in specials(make) if special else ():
                sample = SampleInput(tensor, tensor.reshape(-1, 1), **keywords)
                yield sample.with_metadata(name="special values")

    return samples


def ternary(*options: dict[str, Any]) -> Samples:
    """Return samples of three tensors that broadcast, and each of some keyword arguments."""

    def samples(make: TensorMaker) -> Iterator[SampleInput]:
        shapes = (((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((), (2, 3), ()), ((), (), ()))
        for keywords in options or ({},):
            for row in (*shapes, ((0, 3), (3,), (1, 3))):
                yield SampleInput(*[make(shape) for shape in row], **keywords)

    return samples


def gradients_of(samples: Samples) -> Samples:
    """Return the samples of an operator of one tensor with a gradient of its shape before each."""

    def made(make: TensorMaker) -> Iterator[SampleInput]:
        for sample in samples(make):
            yield SampleInput(make(sample.input.shape), *sample.arguments, **sample.kwargs)

    return made


def each(*rows: Callable[[TensorMaker], SampleInput]) -> Samples:
    """Return samples made one by one."""
    return lambda make: [row(make) for row in rows]


def joined(*parts: Samples) -> Samples:
    """Return the samples of several."""
    return lambda make: [sample for part in parts for sample in part(make)]


def indices(make: TensorMaker, values: Scalar | Sequence[object]) -> Any:
    """Return a tensor of indices."""
    return make.values(values, int64)


def mask(make: TensorMaker, *shape: int) -> Any:
    """Return a tensor of bools."""
    return make(shape, dtype=bool_)


# -- errors ----------------------------------------------------------------------------------------


def mismatch(**kwargs: Any) -> Errors:
    """Return two tensors that do not broadcast."""

    def errors(make: TensorMaker) -> Iterator[ErrorInput]:
        yield ErrorInput(
            SampleInput(make(2), make(3), **kwargs),
            RuntimeError,
            r"The size of tensor a \(2\) must match the size of tensor b \(3\)",
        )

    return errors


def refused(
    row: Callable[[TensorMaker], SampleInput], error: type[Exception], regex: str
) -> Errors:
    """Return one refused call."""
    return lambda make: [ErrorInput(row(make), error, regex)]


def refusals(*rows: tuple[Callable[[TensorMaker], SampleInput], type[Exception], str]) -> Errors:
    """Return several refused calls."""
    return lambda make: [ErrorInput(row(make), error, regex) for row, error, regex in rows]


def dim_out_of_range(*args: Any, **kwargs: Any) -> Errors:
    """Return a matrix, with arguments among which 5 stands for a dimension that it has not."""
    return refused(
        lambda make: SampleInput(make(2, 3), *args, **kwargs),
        IndexError,
        r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)",
    )
