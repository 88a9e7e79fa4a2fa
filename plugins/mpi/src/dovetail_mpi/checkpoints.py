"""Checkpoints of a program in several processes: rank 0 writes and reads one file."""

from __future__ import annotations

import os
from typing import Any

import dovetail

from .collectives.objects import broadcast_object_list
from .groups import member
from .process_group import ProcessGroup


def save_checkpoint(
    state: object, path: str | os.PathLike[str], group: ProcessGroup | None = None
) -> None:
    """Save the `state` of rank 0 with `dovetail.save`; return on all ranks after the file is
    written.

    The file is replaced atomically: it contains this state or the previous one, even if the program
    is killed.

    Parameters
    ----------
    state : object
        A state that is equal on all ranks, such as state dicts and the number of samples seen. The
        state of other ranks is ignored.
    path : path
    group : ProcessGroup, optional

    Raises
    ------
    RuntimeError
        On all ranks, if rank 0 cannot write the file; on rank 0, the cause is the original error.
    """
    chosen = member(group)
    error: Exception | None = None
    if chosen.rank() == 0:
        try:
            dovetail.save(state, path)
        except Exception as raised:
            error = raised
    _agree(chosen, "save", path, error)


def load_checkpoint(
    path: str | os.PathLike[str],
    map_location: Any = "cpu",
    group: ProcessGroup | None = None,
    *,
    weights_only: bool | None = None,
) -> Any:
    """Load a checkpoint of `save_checkpoint`. Rank 0 reads it, and sends it to all ranks; their
    number may have changed.

    Parameters
    ----------
    path : path
        A path on the machine of rank 0.
    map_location, weights_only : optional
        As for `dovetail.load`.
    group : ProcessGroup, optional

    Returns
    -------
    object
        The state, or None if the file does not exist.

    Raises
    ------
    RuntimeError
        On all ranks, if rank 0 cannot read the file.
    """
    chosen = member(group)
    found: list[Any] = [None]
    error: Exception | None = None
    if chosen.rank() == 0 and os.path.exists(path):
        try:
            found[0] = dovetail.load(path, map_location, weights_only=weights_only)
        except Exception as raised:
            error = raised
    _agree(chosen, "load", path, error)
    broadcast_object_list(found, group=chosen, group_src=0)
    return found[0]


def _agree(
    group: ProcessGroup, what: str, path: str | os.PathLike[str], error: Exception | None
) -> None:
    """Raise on all ranks if rank 0 has an error."""
    said = [None if error is None else f"{type(error).__name__}: {error}"]
    broadcast_object_list(said, group=group, group_src=0)
    if said[0] is not None:
        raise RuntimeError(
            f"rank 0 cannot {what} the checkpoint {os.fspath(path)}: {said[0]}. Give a path that "
            "rank 0 reaches."
        ) from error
