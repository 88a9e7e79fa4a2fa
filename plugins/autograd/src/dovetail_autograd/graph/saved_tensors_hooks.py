"""Saved-tensor hooks: what forward keeps for backward can be packed away, moved, or refused."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from dovetail_kernel import DecoratingGuard, Guard, TensorBase, share_version

from . import engine_ops
from .saved_extras import (
    EXTRAS,
    Entry,
    Extras,
    Pack,
    Unpack,
    change_extras,
    recording_extras,
    reduced,
)


class saved_tensors_hooks(Guard):
    """Context manager: `pack_hook` packs every tensor saved inside, and `unpack_hook` unpacks it
    for backward.

    Parameters
    ----------
    pack_hook
        Called once per saved tensor, outside of any graph; may return anything, and may not write
        to its argument.
    unpack_hook
        Gets what `pack_hook` returned; has to return an equal tensor.

    Raises
    ------
    RuntimeError
        On entering, inside `disable_saved_tensors_hooks`.
    """

    variables = (EXTRAS,)
    _not_entered = (), None  # an unpack hook may have left the block

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def save(self) -> Any:
        """Return a list for `restore`, which puts in it what follows the block."""
        return []

    def change(self) -> None:
        """Enable the hooks."""
        add_hooks((self.pack_hook, self.unpack_hook))

    def restore(self, saved: Any) -> None:
        """Remove the hooks from the stack, be they the last ones or not."""
        if not saved:
            saved += (_without((self.pack_hook, self.unpack_hook)),)
        EXTRAS.set(saved[0])


def _without(entry: Entry) -> Extras | None:
    """Return the extras of this task without the last of these hooks."""
    extras = recording_extras()
    if extras is None or entry not in extras.hooks:
        return extras
    place = len(extras.hooks) - 1 - extras.hooks[::-1].index(entry)
    return reduced(extras, hooks=extras.hooks[:place] + extras.hooks[place + 1 :])


def add_hooks(entry: Entry) -> None:
    """Put hooks in force in this task.

    Raises
    ------
    RuntimeError
        Inside `disable_saved_tensors_hooks`.
    """
    extras = recording_extras() or Extras()
    if extras.disabled is not None:
        raise RuntimeError(extras.disabled)
    change_extras(hooks=(*extras.hooks, entry))


class save_on_cpu(saved_tensors_hooks):
    """Context manager: saved tensors are stored in host memory, and moved back when backward needs
    them.

    Parameters
    ----------
    pin_memory
        Accepted for compatibility; host memory is whatever the cpu backend allocates. Default:
        False.
    device_type
        Accepted for compatibility; tensors of every device are moved. Default: ``"cuda"``.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: TensorBase) -> tuple[Any, TensorBase]:
            device = tensor.device
            return device, engine_ops.clone(tensor) if device.type == "cpu" else engine_ops.move(
                tensor, "cpu"
            )

        def unpack(packed: tuple[Any, TensorBase]) -> TensorBase:
            device, tensor = packed
            return tensor if device.type == "cpu" else engine_ops.move(tensor, device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(DecoratingGuard):
    """Context manager and decorator: saved-tensor hooks are refused inside.

    Parameters
    ----------
    error_message
        Message of the RuntimeError.

    Raises
    ------
    RuntimeError
        On entering, if hooks are in force already.
    """

    variables = (EXTRAS,)

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def change(self) -> None:
        """Refuse hooks."""
        extras = recording_extras()
        if extras is not None and extras.hooks:
            raise RuntimeError(self._message)
        change_extras(disabled=self._message)


_allowing: ContextVar[AllowMutationOnSavedContext | None] = ContextVar(
    "dovetail_allowing_mutation", default=None
)


class _Handle:
    """Stands in graphs for a saved tensor; holds it as it was when it was saved."""

    __slots__ = ("__weakref__", "copy", "version")

    def __init__(self, copy: TensorBase, version: int) -> None:
        self.copy: TensorBase | None = copy
        self.version = version


class AllowMutationOnSavedContext:
    """Holds the copies that `allow_mutation_on_saved_tensors` makes while graphs need them.

    A handle stands for each saved tensor in the graphs; its entries go when the graphs have.
    """

    def __init__(self) -> None:
        self._saved: WeakKeyDictionary[_Handle, TensorBase] = WeakKeyDictionary()
        self._by_identity: WeakValueDictionary[tuple[int, int], _Handle] = WeakValueDictionary()

    @property
    def original(self) -> dict[_Handle, TensorBase]:
        """The saved tensors that have not been written since, by handle."""
        return {h: t for h, t in self._saved.items() if t._version == h.version}

    @property
    def cloned(self) -> dict[_Handle, TensorBase]:
        """The copies of those that have been, by handle."""
        return {
            h: h.copy
            for h, t in self._saved.items()
            if t._version != h.version and h.copy is not None
        }

    @property
    def tid_to_weakhandle(self) -> dict[tuple[int, int], _Handle]:
        """The handles by identity and version of the tensor that they stand for."""
        return dict(self._by_identity)

    @property
    def sid_to_tid(self) -> dict[tuple[int, int], set[tuple[int, int]]]:
        """The keys of `tid_to_weakhandle` by the identity of the counter of versions, which
        tensors that share memory share, and its count.
        """
        found: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for tid, handle in self._by_identity.items():
            counter = share_version(self._saved[handle])
            found.setdefault((id(counter), handle.version), set()).add(tid)
        return found

    def clear(self) -> None:
        """Free the copies; graphs recorded so far cannot run backward any more."""
        for handle in self._saved:
            handle.copy = None
        self._saved.clear()
        self._by_identity.clear()

    def _pack(self, tensor: TensorBase) -> _Handle:
        key = id(tensor), tensor._version
        handle = self._by_identity.get(key)
        if handle is None:
            handle = _Handle(engine_ops.clone(tensor), tensor._version)
            self._by_identity[key] = handle
            self._saved[handle] = tensor  # keeps its identity from being given to another
        return handle

    def _unpack(self, handle: _Handle) -> TensorBase:
        if handle.copy is None or _allowing.get() is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was "
                "originally recorded. Call backward() inside, and before clear()."
            )
        return handle.copy


class allow_mutation_on_saved_tensors(Guard):
    """Context manager: allows in-place writes to tensors saved by a graph; backward uses the values
    before the write.

    Every saved tensor is copied. Backward must run inside.

    Raises
    ------
    RuntimeError
        On entering it inside another one.
    """

    variables = (EXTRAS, _allowing)

    def __init__(self) -> None:
        self._context = AllowMutationOnSavedContext()

    def change(self) -> AllowMutationOnSavedContext:
        """Have what is saved copied."""
        if _allowing.get() is not None:
            raise RuntimeError(
                "allow_mutation_on_saved_tensors contexts cannot be nested. Use the outer one."
            )
        add_hooks((self._context._pack, self._context._unpack))
        _allowing.set(self._context)
        return self._context

    def restore(self, saved: object) -> None:
        """Forget the copies as well."""
        super().restore(saved)
        self._context.clear()
