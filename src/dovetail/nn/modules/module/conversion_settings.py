"""What becomes of Parameter objects when a module is moved or cast."""

from __future__ import annotations

_overwrites = False
_swaps = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Say whether conversions of modules put new Parameter objects in place of the old, instead
    of giving these new data. Default: False.
    """
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Return the value set by `set_overwrite_module_params_on_conversion`."""
    return _overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Say whether Parameter objects are kept also where a module moves to or from the meta device.
    Elsewhere they are, whatever is said, unless they are to be overwritten. Default: False.
    """
    global _swaps
    _swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """Return the value set by `set_swap_module_params_on_conversion`."""
    return _swaps
