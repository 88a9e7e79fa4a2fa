"""`devices`: every device type that can be used here, or could be, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail_kernel import PluginError, all_backends, plugin_manager
from dovetail_kernel.plugins import BACKENDS


@dataclass(frozen=True, slots=True)
class DeviceType:
    """An entry of `devices`.

    Attributes
    ----------
    name
        The device type, ``'cuda'``.
    count
        Number of devices; 0 if unavailable.
    unavailable_because
        The reason why it is unavailable, with a remedy; None if it is available.
    loaded
        Whether its kernels are registered, which happens on first use.
    distribution
        Distribution that provides it; None if the program registered it.
    """

    name: str
    count: int
    unavailable_because: str | None
    loaded: bool
    distribution: str | None

    @property
    def is_available(self) -> bool:
        """Whether tensors can be created on it."""
        return self.unavailable_because is None


def devices() -> list[DeviceType]:
    """Return the installed or registered device types, loaded ones first.

    Plugins are imported to check their availability, but not loaded.
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
