"""The error for what would need a compiler."""

from __future__ import annotations

from typing import NoReturn


def no_graph(name: str) -> NoReturn:
    """Refuse what would need a compiler.

    Raises
    ------
    NotImplementedError
        Naming `name`, and what to do.
    """
    raise NotImplementedError(
        f"dovetail.jit.{name}: Dovetail runs programs as they stand and compiles none. "
        "Save the state_dict with dovetail.save, and build the module from its code."
    )
