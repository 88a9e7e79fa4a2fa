"""Loads the compiled core, dovetail-native, if it is installed.

``DOVETAIL_NATIVE=0`` keeps it out; ``=1`` requires it, so that one that is missing, stale or not
loadable is an error. By default a core that cannot be loaded is one warning.
"""

from __future__ import annotations

import os
from typing import Final

from dovetail_kernel import PluginError, plugin_manager, warn_user
from dovetail_kernel.plugins import TRANSFORMS

from .sockets import COMPILED_KERNEL, uncompiled

VARIABLE: Final = "DOVETAIL_NATIVE"
PLUGIN: Final = "native"

_is_settled = False


def load_compiled_code() -> None:
    """Load the core once for the process; later calls do nothing. Raises ValueError if
    ``DOVETAIL_NATIVE`` is neither 0 nor 1, and PluginError or ImportError if it is 1 and the core
    cannot be loaded, or is not installed.
    """
    global _is_settled
    if _is_settled:
        return
    if os.environ.get(VARIABLE, "") not in ("", "0", "1"):
        raise ValueError(
            f"{VARIABLE}={os.environ[VARIABLE]!r:.100} is not understood. Set it to 0 to switch "
            "compiled code off, to 1 to require it, or unset it."
        )
    if not is_switched_off():
        _load()
    _is_settled = True


def _load() -> None:
    if not plugin_manager.provides(TRANSFORMS, PLUGIN):
        if is_required():
            raise ImportError(
                f"{VARIABLE}=1 requires dovetail-native, which is not installed or is kept out by "
                "DOVETAIL_BLOCK. Install it, or unset the variable."
            )
        return
    try:
        plugin_manager.load_transform(PLUGIN)
    except PluginError as error:
        if is_required():
            raise
        warn_user(
            f"Dovetail runs without compiled code: {error.__cause__ or error} "
            f"{VARIABLE}=0 silences this warning."
        )


def is_required() -> bool:
    """Return whether the user demands compiled code."""
    return os.environ.get(VARIABLE) == "1"


def is_switched_off() -> bool:
    """Return whether the user keeps compiled code out."""
    return os.environ.get(VARIABLE) == "0"


def is_in_force() -> bool:
    """Return whether routes are made with compiled code."""
    return COMPILED_KERNEL.plug is not uncompiled
