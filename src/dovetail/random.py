"""The default random number generators, as ``torch.random``."""

import typing as _typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dovetail_aten import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from dovetail_aten.front_end import default_generator as _generator_of
from dovetail_kernel import Device, backend

from .names.missing import names_of as _names_of

__all__ = [
    "fork_rng",
    "generator_of",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def generator_of(device_type: str) -> Generator:
    """Return the default generator of a device type."""
    return _generator_of(backend(device_type, create=True))


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Context manager, also a decorator: restores the states of the default generators at the end.

    Parameters
    ----------
    devices
        Devices besides cpu whose generators are restored; default: those of `device_type`, if in
        use. A device type has one default generator, so indices make no difference.
    enabled
        False: do nothing. Default: True.
    device_type
        Type of the devices in `devices`. Default: ``"cuda"``.

    Raises
    ------
    RuntimeError
        If `device_type` is unknown.
    """
    kind = Device(device_type).type
    if not enabled:
        yield
        return
    if devices is None:
        names = {kind} if kind != "meta" and backend(kind, create=True).is_attached else set()
    else:
        names = {kind if isinstance(each, int) else Device(each).type for each in devices}
    generators = [generator_of(name) for name in {"cpu", *names}]
    states = [generator.get_state() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    _absent = _names_of(__name__)

    def __getattr__(name: str) -> Any:
        # The generator of the cpu, which needs its backend.
        return _generator_of() if name == "default_generator" else _absent(name)
