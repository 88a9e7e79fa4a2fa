"""The included and excluded keys of the running task, under PyTorch's names
(``_dispatch_tls_...``).
"""

from __future__ import annotations

from dovetail_kernel import (
    DispatchKey,
    DispatchKeySet,
    DispatchState,
    dispatch_state,
    set_state,
    state,
)
from dovetail_kernel.keys import intern_state
from dovetail_kernel.signature import NO_GRAD

Keys = DispatchKey | DispatchKeySet | str


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """Return the keys that are added to those of every call."""
    return dispatch_state().included


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """Return the keys that are taken from those of every call."""
    return dispatch_state().excluded


def _dispatch_tls_is_dispatch_key_included(dispatch_key: Keys) -> bool:
    """Return whether all of these keys are included."""
    wanted = _keyset(dispatch_key)
    return wanted & dispatch_state().included == wanted


def _dispatch_tls_is_dispatch_key_excluded(dispatch_key: Keys) -> bool:
    """Return whether all of these keys are excluded."""
    wanted = _keyset(dispatch_key)
    return wanted & dispatch_state().excluded == wanted


def _dispatch_tls_set_dispatch_key_included(dispatch_key: Keys, included: bool) -> None:
    """Include a key in every call of this task, or stop doing so; lasts until it is undone."""
    now, keys = dispatch_state(), _keyset(dispatch_key)
    _put_in_force(now._replace(included=_changed(now.included, keys, included)))


def _dispatch_tls_set_dispatch_key_excluded(dispatch_key: Keys, excluded: bool) -> None:
    """Exclude a key from every call of this task, or stop doing so; lasts until it is undone."""
    now, keys = dispatch_state(), _keyset(dispatch_key)
    _put_in_force(now._replace(excluded=_changed(now.excluded, keys, excluded)))


def _changed(present: DispatchKeySet, keys: DispatchKeySet, added: bool) -> DispatchKeySet:
    """Return `present` with `keys`, or without them and without the backend that only they had:
    a difference of sets keeps it, and it would lead every call there.
    """
    return present | keys if added else DispatchKeySet.of(*(present - keys))


def _put_in_force(wanted: DispatchState) -> None:
    set_state(intern_state(wanted) | state() & NO_GRAD)


def _keyset(keys: Keys) -> DispatchKeySet:
    return keys if isinstance(keys, DispatchKeySet) else DispatchKeySet(keys)
