"""Treatment of Parameter objects when a module is moved or cast."""

from __future__ import annotations

_overwrites = False
_swaps = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether conversions of modules create new Parameter objects instead of changing the data
    of the old ones. Default: False.
    """
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return the value set by `set_overwrite_module_params_on_conversion`."""
    return _overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether Parameter objects are kept even if a module moves to or from the meta device. All
    other conversions keep them unless `set_overwrite_module_params_on_conversion` is set. Default:
    False.
    """
    global _swaps
    _swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """Return the value set by `set_swap_module_params_on_conversion`."""
    return _swaps
