"""What holds for the tests of all packages."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

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


@pytest.fixture(autouse=True)
def same_classes() -> Iterator[None]:
    """Check that a test puts back what it replaces in the classes of the core: what it leaves there
    is found by tests that run after it in its process.
    """
    before = _core_attributes()
    yield
    after = _core_attributes()
    left = [
        f"{cls.__name__}.{name}"
        for cls, name in before
        if after.get((cls, name)) is not before[cls, name]
    ]
    assert left == [], "the test replaced attributes of classes and did not put them back"


def _core_attributes() -> dict[tuple[type, str], Any]:
    """Return the attributes of the core's classes but where they say that they are from, which the
    first import of the front end changes; none before compiled code has taken some over, which it
    does when plugins are loaded.
    """
    kernel: Any = sys.modules.get("dovetail_kernel")
    sockets: Any = sys.modules.get("dovetail_kernel.sockets")
    if sockets is None or not sockets.COMPILED_ACCESSOR.is_filled:
        return {}
    tensor = getattr(sys.modules.get("dovetail_aten"), "Tensor", kernel.TensorBase)
    classes = [*tensor.__mro__[:-1], kernel.Size, kernel.keys.StateGuard]
    return {
        (cls, name): value
        for cls in classes
        for name, value in vars(cls).items()
        if name != "__module__"
    }
