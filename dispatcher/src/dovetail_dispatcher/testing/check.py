"""`Check`: one check that runs on every `OpInfo`."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from dovetail_kernel import Device

from .op_info import OpInfo, SampleInput

current_sample: Final[ContextVar[SampleInput | None]] = ContextVar(
    "dovetail_current_sample", default=None
)
"""The sample that a check is at, which it sets: errors name it."""

part_of_samples: Final[ContextVar[tuple[int, int] | None]] = ContextVar(
    "dovetail_part_of_samples", default=None
)
"""``(2, 5)`` where checks take the second of five parts of their samples, None for all of them."""


def samples_in_part(samples: Sequence[SampleInput], label: str) -> Sequence[SampleInput]:
    """Return the samples selected by `part_of_samples`, at least one.

    Each label, such as the names of the check and the operator, starts at another sample, so that
    different checks select different samples. All parts together are the samples.
    """
    chosen = part_of_samples.get()
    if chosen is None or not samples:
        return samples
    part, parts = chosen
    first = (part - 1 + zlib.crc32(label.encode())) % parts
    return samples[first::parts] or samples[first % len(samples) :][:1]


class CheckSkipped(Exception):
    """Raised if a check does not apply to an operator; the text is the reason."""


def _about_every_operator(info: OpInfo) -> str:
    return ""


@dataclass(frozen=True)
class Check:
    """A check of one operator on its samples.

    Attributes
    ----------
    name
        Its name, which `Skip` refers to.
    about
        Description of the check, in one sentence.
    function
        ``function(op_info, device)`` raises an AssertionError if the operator fails, and
        `CheckSkipped` if the check does not apply to that device.
    why_not
        ``why_not(op_info)`` returns the reason why the check does not apply to an operator, or "".
        Default: it applies to every operator.
    """

    name: str
    about: str
    function: Callable[[OpInfo, Device], None]
    why_not: Callable[[OpInfo], str] = _about_every_operator

    def run(self, info: OpInfo, device: Device) -> None:
        """Check an operator on a device.

        Raises
        ------
        AssertionError
            If the check fails.
        CheckSkipped
            If the `OpInfo` skips the check, or if it does not apply to this operator.
        """
        reason = self.why_not(info)
        if reason:
            raise CheckSkipped(reason)
        skip = info.skip_of(self.name, device)
        if skip is not None:
            raise CheckSkipped(skip.reason)
        token = current_sample.set(None)
        try:
            self.function(info, device)
        except CheckSkipped:
            raise
        except Exception as error:
            sample = current_sample.get()
            if sample is not None:
                error.add_note(f"The sample is {sample!r}.")
            raise
        finally:
            current_sample.reset(token)
