"""Samples of linear algebra."""

from __future__ import annotations

from typing import Final

from dovetail_dispatcher.testing import OpInfo

from . import factorization_samples, product_samples, spectrum_samples, system_samples

OP_INFOS: Final[list[OpInfo]] = [
    *factorization_samples.OP_INFOS,
    *system_samples.OP_INFOS,
    *spectrum_samples.OP_INFOS,
    *product_samples.OP_INFOS,
]
