"""The generators of the CUDA devices: one for each."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail_aten import Generator, Tensor
from dovetail_aten.front_end import default_generator
from dovetail_kernel import DeviceLike, backend

from .devices import current_device, device_count
from .plugin import index_of, is_available


def generator_of(device: DeviceLike | None = "cuda") -> Generator:
    """Return the generator of a device, by default the current one."""
    index = index_of(device)
    if index is None:
        index = current_device() if is_available() else 0
    return default_generator(backend("cuda"), index)


def manual_seed(seed: int) -> None:
    """Restart the generator of the current device from `seed`, which is stored if CUDA is not
    initialized.
    """
    generator_of().manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Restart the generators of all devices from `seed`."""
    for index in range(max(device_count(), 1)):
        generator_of(index).manual_seed(seed)


def seed() -> None:
    """Restart the generator of the current device from an unpredictable seed."""
    generator_of().seed()


def seed_all() -> None:
    """Restart the generators of all devices from one unpredictable seed."""
    manual_seed_all(generator_of(0).seed())


def initial_seed() -> int:
    """Return the seed from which the generator of the current device last started."""
    return generator_of().initial_seed()


def get_rng_state(device: DeviceLike | None = "cuda") -> Tensor:
    """Return the state of the generator of a device: 16 bytes, a seed and an offset."""
    state: Tensor = generator_of(device).get_state()
    return state


def get_rng_state_all() -> list[Tensor]:
    """Return the states of the generators of all devices."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: Tensor, device: DeviceLike | None = "cuda") -> None:
    """Restore the state of the generator of a device from `get_rng_state`. Raises the errors of
    `Generator.set_state`.
    """
    generator_of(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Restore the states of the generators of all devices from `get_rng_state_all`."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
