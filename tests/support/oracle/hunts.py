"""The hunts of the test suite."""

from __future__ import annotations

import dovetail

from . import op_info_trials, program_trials, write_trials
from .driver import Hunt
from .trials import Plan
from .ways import Differences, Looped, Transforms

__all__ = ["HUNTS"]

TRANSFORMS = Plan(Transforms(dovetail), Transforms(dovetail))
LOOP = Plan(Looped(dovetail), Looped(dovetail))
DIFFERENCES = Plan(Differences(dovetail), Transforms(dovetail))
"""Differences replace the outermost level. A trial of one level less is the proof of the others."""
TWO_POINTS = Plan(Differences(dovetail, points=1), Transforms(dovetail))

HUNTS = {
    hunt.name: hunt
    for hunt in (
        Hunt(
            "batched",
            op_info_trials.names,
            op_info_trials.batched_trial,
            references=(LOOP,),
            plan=TRANSFORMS,
            share=300,
        ),
        Hunt(
            "nested",
            op_info_trials.names,
            op_info_trials.nested_trial,
            references=(TWO_POINTS, DIFFERENCES),
            plan=TRANSFORMS,
            share=60,
        ),
        Hunt(
            "programs",
            program_trials.subjects,
            program_trials.program_trial,
            references=(TWO_POINTS, DIFFERENCES),
            plan=TRANSFORMS,
            share=60,
        ),
        Hunt(
            "writes",
            write_trials.names,
            write_trials.writing_trial,
            references=(LOOP,),
            plan=TRANSFORMS,
            share=300,
        ),
    )
}
