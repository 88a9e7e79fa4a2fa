"""What holds for the tests of all packages."""

from __future__ import annotations

import random
import sys
from importlib.util import find_spec

import pytest

if find_spec("hypothesis") is not None:
    from hypothesis import HealthCheck, settings

    # A machine that does other things is slow by chance.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")

SEEDING = {"numpy.random": "seed", "torch": "manual_seed", "dovetail_aten": "manual_seed"}
"""The function that seeds the default generator of a module."""


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Seed every default generator, so that a test which passes once passes again, whichever
    tests ran before it in its process.
    """
    random.seed(0)
    for name, function in SEEDING.items():
        if name in sys.modules:
            getattr(sys.modules[name], function)(0)
