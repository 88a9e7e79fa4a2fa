"""Samples of operators that draw random numbers."""

from __future__ import annotations

from functools import partial

from dovetail_dispatcher.testing import SampleInput

from ..makers import FLOATING, INEXACT, REAL, REAL_NUMBERS, Samples, mask, op_info, refused, smooth
from .distribution_samples import OP_INFOS as DISTRIBUTIONS
from .distribution_samples import kept

info = partial(op_info, family="random", is_random=True)
drawn = partial(info, supports_autograd=False)


def made(*rows: tuple[object, ...], **options: object) -> Samples:
    """Return calls that make a tensor of the samples' dtype, on their device."""
    return lambda make: [
        SampleInput(*row, **options, dtype=make.dtype, device=make.device) for row in rows
    ]


SIZES = (((2, 3),), ((),), ((0, 3),))

OP_INFOS = [
    drawn("rand", made(*SIZES), None, INEXACT),
    drawn("randn", made(*SIZES), None, INEXACT),
    drawn("rand_like", smooth(), None, INEXACT),
    drawn("randn_like", smooth(), None, INEXACT),
    drawn(
        "randint",
        made((5, (2, 3)), (1, ())),
        None,
        REAL_NUMBERS,
        errors=refused(
            lambda make: SampleInput(0, (2,)),
            RuntimeError,
            "random_ expects 'from' to be less than 'to'",
        ),
    ),
    drawn("randint.low", made((1, 5, (2, 3)), (0, 1, ())), None, REAL_NUMBERS),
    drawn("randperm", made((4,), (0,)), None, REAL_NUMBERS),
    drawn("randperm.generator", made((4,), (0,), generator=None), None, REAL_NUMBERS),
    info("uniform_", kept((), (0.5, 2.0)), None, INEXACT),
    info(
        "normal_",
        kept((), (0.5, 2.0)),
        None,
        INEXACT,
        errors=refused(
            lambda make: SampleInput(make(2), 0.0, -1.0), RuntimeError, "normal expects std >= 0.0"
        ),
    ),
    info("bernoulli_.float", kept((), (0.25,)), None, REAL),
    info("bernoulli", smooth(), None, FLOATING, domain=(0, 0.7)),
    info("native_dropout", kept((0.5, True), (0.0, True), (0.5, False)), None, INEXACT),
    info("dropout", kept((0.5, True), (0.5, False)), None, FLOATING),
    op_info(
        "native_dropout_backward",
        lambda make: [SampleInput(make(2, 3), mask(make, 2, 3), 2.0)],
        lambda grad, mask, scale: grad * mask * scale,
        family="random",
    ),
    drawn(
        "multinomial",
        lambda make: [SampleInput(make(3), 2), SampleInput(make(2, 3), 4, True)],
        None,
        FLOATING,
        domain=(0.1, 1),
        errors=refused(
            lambda make: SampleInput(make(3), 4), RuntimeError, "cannot sample n_sample > prob_dist"
        ),
    ),
    *DISTRIBUTIONS,
]
