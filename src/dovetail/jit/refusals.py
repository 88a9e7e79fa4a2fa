"""The error for functions that need a compiler."""

from __future__ import annotations

from typing import NoReturn


def no_graph(name: str) -> NoReturn:
    """Raise the error for functions that need a compiler.

    Raises
    ------
    NotImplementedError
        With `name` and a remedy.
    """
    raise NotImplementedError(
        f"dovetail.jit.{name}: Dovetail runs programs as they stand and compiles none. "
        "Save the state_dict with dovetail.save, and build the module from its code."
    )
