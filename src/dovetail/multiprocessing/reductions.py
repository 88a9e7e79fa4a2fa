"""Pickling of tensors and storages for other processes."""

from __future__ import annotations

import os
from multiprocessing import context, reduction, util
from multiprocessing.reduction import ForkingPickler
from threading import Lock
from typing import Any, Final
from weakref import WeakValueDictionary

from dovetail_aten import Tensor, UntypedStorage
from dovetail_kernel import backend, plugin_manager, wrap

_received: Final[WeakValueDictionary[tuple[int, int], Any]] = WeakValueDictionary()
"""Storages of other processes by device and number of the file: one that is sent twice is one."""
_lock: Final = Lock()


def init_reductions() -> None:
    """Register reducers so that `multiprocessing` sends storages by file descriptor, and raises an
    error for unsupported objects.
    """
    ForkingPickler.register(UntypedStorage, _reduced_storage)
    ForkingPickler.register(Tensor, _reduced_tensor)


def _reduced_tensor(tensor: Tensor) -> Any:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    return tensor.__reduce_ex__(5)


def _reduced_storage(storage: UntypedStorage) -> Any:
    if storage.device.type != "cpu" or not storage.nbytes() or not hasattr(reduction, "DupFd"):
        return storage.__reduce_ex__(5)  # of the elements, as to a file
    handle = storage.share_memory_()._shared_handle()
    assert handle is not None
    process = context.get_spawning_popen()
    if process is not None:  # it starts when the pickle is complete, and the storage may be gone
        handle = os.dup(handle)
        util.Finalize(process, os.close, (handle,))
    return _received_storage, (reduction.DupFd(handle), storage.nbytes())


def _received_storage(sent: Any, nbytes: int) -> Any:
    """Return the storage that another process sent."""
    handle = sent.detach()
    status = os.fstat(handle)
    with _lock:
        found = _received.get(key := (status.st_dev, status.st_ino))
        if found is not None:
            os.close(handle)
            return found
        made = _attached(handle, nbytes)
        _received[key] = made
        return made


def _attached(handle: int, nbytes: int) -> Any:
    plugin_manager.load_backend("cpu")
    host = backend("cpu")
    arrays: Any = host.arrays
    line: Any = wrap(arrays.bytes_at(arrays.shared_allocator.attach(handle, nbytes)), host)
    return line.untyped_storage()
