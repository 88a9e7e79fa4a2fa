"""`devices`: every device type that can be used here, or could be, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail_kernel import PluginError, all_backends, plugin_manager
from dovetail_kernel.plugins import BACKENDS


@dataclass(frozen=True, slots=True)
class DeviceType:
    """One line of `devices`.

    Attributes
    ----------
    name
        The device type, ``'cuda'``.
    count
        How many devices there are; 0 if it is unavailable.
    unavailable_because
        Why it cannot be used, and what to do about it; None if it can.
    loaded
        Whether its kernels are registered already; they are when it is first used.
    distribution
        Where it comes from; None for one that the running program registered.
    """

    name: str
    count: int
    unavailable_because: str | None
    loaded: bool
    distribution: str | None

    @property
    def is_available(self) -> bool:
        """Whether tensors can be made there."""
        return self.unavailable_because is None


def devices() -> list[DeviceType]:
    """Return the device types that are installed or registered, those that are loaded first.

    Plugins are imported and asked whether they can be used; none is loaded for that.
    """
    # A name with an underscore is no device type: an inner affair of the core.
    loaded = {
        each.name: each for each in all_backends() if each.is_attached and each.name[0] != "_"
    }
    distributions = {
        each.name: each.distribution
        for each in plugin_manager.list_plugins()
        if each.group == BACKENDS
    }
    found = [
        DeviceType(name, each.arrays.device_count(), None, True, distributions.get(name))
        for name, each in loaded.items()
    ]
    return found + [
        _not_loaded(name, distributions[name]) for name in distributions if name not in loaded
    ]


def _not_loaded(name: str, distribution: str) -> DeviceType:
    try:
        spec = plugin_manager.describe_backend(name)
        reason = spec.is_available()
        count = 0 if reason else spec.device_count()
    except PluginError as error:
        reason, count = str(error), 0
    except Exception as error:  # whatever a foreign plugin raises is why it cannot be used
        reason, count = f"its plugin failed: {type(error).__name__}: {error}", 0
    return DeviceType(name, count, reason, False, distribution)
