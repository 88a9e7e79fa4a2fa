"""Samples of dropouts."""

from __future__ import annotations

from functools import partial

from dovetail_dispatcher.testing import SampleInput

from ..makers import FLOATING, Samples, joined, op_info, refusals
from ..random.distribution_samples import kept

info = partial(op_info, family="dropouts", is_random=True)


def elements(*rows: tuple[object, ...]) -> Samples:
    return lambda make: [SampleInput(make(shape), *row) for shape in ((2, 3), ()) for row in rows]


KEPT = elements((0.5, True), (1.0, True))


def channels(*rows: tuple[object, ...]) -> Samples:
    return lambda make: [
        SampleInput(make(shape), *row) for shape in ((2, 3), (2, 3, 4)) for row in rows
    ]


CHANNELS = channels((0.5, True), (1.0, True))
IDLE = (0.5, False)  # what writes returns its argument, untouched
no_chance = (
    lambda make: SampleInput(make(2, 3), 1.5, True),
    RuntimeError,
    "dropout probability has to be between 0 and 1, but got 1.5",
)
no_channels = (
    lambda make: SampleInput(make(2), 0.5, True),
    RuntimeError,
    "Feature dropout requires at least 2 dimensions in the input",
)
ALPHA = refusals(no_chance)
FEATURES = refusals(no_chance, no_channels)

OP_INFOS = [
    info("dropout_", KEPT, None, FLOATING, errors=ALPHA),
    info("alpha_dropout", joined(KEPT, kept(IDLE)), None, FLOATING, errors=ALPHA),
    info("alpha_dropout_", KEPT, None, FLOATING, errors=ALPHA),
    info("feature_dropout", joined(CHANNELS, channels(IDLE)), None, FLOATING, errors=FEATURES),
    info("feature_dropout_", CHANNELS, None, FLOATING, errors=FEATURES),
    info(
        "feature_alpha_dropout", joined(CHANNELS, channels(IDLE)), None, FLOATING, errors=FEATURES
    ),
    info("feature_alpha_dropout_", CHANNELS, None, FLOATING, errors=FEATURES),
]
