"""The open-ended table of backends: one `Backend` per device type, with its priority and its
bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Final, cast

from ..errors import did_you_mean
from ..fork_locks import held_over_fork, renewed_after_fork
from ..signature import CPU_BIT, CUDA_BIT, META_BIT, WRAPPED_BIT
from ..sockets import DEVICE_TYPES, NEW_BACKEND
from ..types.bits import allocate_bit

if TYPE_CHECKING:
    from ..sockets import BackendObserver
    from .array_backend import ArrayBackend

_KEY_NAMES: Final = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "hip": "HIP",
    "xla": "XLA",
    "mps": "MPS",
    "ipu": "IPU",
    "xpu": "XPU",
    "hpu": "HPU",
    "ve": "VE",
    "lazy": "Lazy",
    "mtia": "MTIA",
    "maia": "MAIA",
    "privateuseone": "PrivateUse1",
    "privateusetwo": "PrivateUse2",
    "privateusethree": "PrivateUse3",
    "meta": "Meta",
}
_SIGNATURE_BITS: Final = {"cpu": CPU_BIT, "cuda": CUDA_BIT, "meta": META_BIT}

KEYED_DEVICE_TYPES: Final = {"fpga": "FPGA", "vulkan": "Vulkan"}
"""Device types whose dispatch key is a functionality of its own, not one per backend."""

TORCH_DEVICE_TYPES: Final[tuple[str, ...]] = (
    *(
        "cpu",
        "cuda",
        "ipu",
        "xpu",
        "mkldnn",
        "opengl",
        "opencl",
        "ideep",
        "hip",
        "ve",
        "fpga",
        "maia",
        "xla",
        "lazy",
    ),
    *("vulkan", "mps", "meta", "hpu", "mtia", "privateuseone"),
)
"""Device types that are valid whether or not anything is installed for them, in the order that
messages list them.
"""

FIRST_OPEN_COMPONENT: Final = 64
"""Key sets have the predefined backends at bits 0-15 and their functionalities below this bit; new
backends follow.
"""


class Backend:
    """A device type: its arrays, its priority, and its bits.

    Attributes
    ----------
    name
        The device type, ``'cpu'``.
    key_name
        The name of its dense dispatch key, ``'CPU'``.
    priority
        For tensors of several backends, the highest priority wins. Meta is the highest, followed by
        backends unknown to PyTorch.
    component
        One-hot bit in a `DispatchKeySet`.
    arrays
        The array side, attached by the backend's plugin. Reading it before raises RuntimeError.
    bit
        One-hot bit in the signatures of this backend's tensors, assigned on first access.
    is_attached
        Whether the backend has arrays.
    is_device
        Whether arrays of this backend have their own data or at least a shape. False for the
        backend whose arrays wrap other tensors (see `wrapped_backend`).
    """

    __slots__ = (
        "arrays",
        "bit",
        "component",
        "is_attached",
        "is_device",
        "key_name",
        "name",
        "priority",
    )

    # Slots, not properties: calls off the routes read them. See `__getattr__`.
    arrays: ArrayBackend
    bit: int

    def __init__(
        self, name: str, key_name: str, priority: int, component: int, bit: int | None = None
    ) -> None:
        self.is_attached = False
        self.is_device = True
        self.name = name
        self.key_name = key_name
        self.priority = priority
        self.component = component
        if bit is not None:
            self.bit = bit

    def __getattr__(self, name: str) -> Any:
        """Hand out `bit` when it is first asked for, and refuse `arrays` before they are there.

        Raises
        ------
        RuntimeError
            For the array side before the plugin is loaded.
        """
        if name == "bit":
            return self._new_bit()
        if name != "arrays":
            raise AttributeError(f"'Backend' object has no attribute {name!r}")
        raise RuntimeError(
            f"backend {self.name!r} has no arrays yet: the plugin that provides it is not loaded. "
            f"Use the device once, as in empty(0, device={self.name!r}), or install the plugin"
        )

    def _new_bit(self) -> int:
        with _bit_lock:
            try:
                return cast("int", object.__getattribute__(self, "bit"))  # another thread's
            except AttributeError:
                bit = allocate_bit()
                _by_bit[bit] = self
                self.bit = bit
                return bit

    def attach(self, arrays: ArrayBackend) -> None:
        """Attach the array side.

        Raises
        ------
        RuntimeError
            If another array side is already attached, since live tensors use it.
        """
        with _lock:
            if self.is_attached and self.arrays is not arrays:
                raise RuntimeError(
                    f"backend {self.name!r} already has arrays of {type(self.arrays).__module__}."
                    f"{type(self.arrays).__qualname__}; attach those of {type(arrays).__module__}."
                    f"{type(arrays).__qualname__} under another device type"
                )
            self.arrays = arrays
            self.is_attached = True

    def __repr__(self) -> str:
        return f"<Backend {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_backend, (self.name,)


_lock = held_over_fork(RLock(), level=3)  # observers take locks of their own
_bit_lock = renewed_after_fork(Lock())
_META_PRIORITY: Final = 1 << 30
_WRAPPED: Final = "_wrapped"
_by_name: dict[str, Backend] = {}
_by_bit: dict[int, Backend] = {}
_in_order: tuple[Backend, ...] = ()


def backend(name: str, create: bool = False) -> Backend:
    """Return the backend of device type `name`.

    Parameters
    ----------
    name
        A device type: lower-case letters, digits and underscores.
    create
        Add the backend to the table if it is not there. It gets its own key bits, just below Meta
        in priority.

    Raises
    ------
    RuntimeError
        If there is none and `create` is False, or the name cannot be a device type.
    """
    found = _by_name.get(name)
    if found is not None:
        return found
    if not create:
        raise RuntimeError(
            f"no backend for device type {name!r} is registered; known: {', '.join(_by_name)}."
            f"{did_you_mean(name, _by_name)} Install the plugin that provides it, or pass "
            "create=True"
        )
    with _lock:
        if name not in _by_name:
            _check_new_name(name)
            _add(Backend(name, name.upper(), len(_by_name), _free_component()))
        return _by_name[name]


def wrapped_backend() -> Backend:
    """Return the backend whose arrays wrap tensors of other backends, for the transforms of
    functions.

    It is above all others, so that a call that has such a tensor among its arguments comes to it
    first; no device type leads to it. It is made when first asked for.
    """
    found = _by_name.get(_WRAPPED)
    if found is None:
        with _lock:
            found = _by_name.get(_WRAPPED)
            if found is None:
                priority = 2 * _META_PRIORITY
                found = Backend(_WRAPPED, "Wrapped", priority, _free_component(), WRAPPED_BIT)
                found.is_device = False
                _by_bit[WRAPPED_BIT] = found
                _add(found)
    return found


def has_backend(name: str) -> bool:
    """Tell whether `name` is in the table, without loading or creating anything."""
    return name in _by_name


def all_backends() -> tuple[Backend, ...]:
    """Return every backend, lowest priority first."""
    return _in_order


class _KnownBackends(dict[int, Backend]):
    """The backend of each signature that was asked for: they are few."""

    def __missing__(self, signature: int) -> Backend:
        several = backends_of_signature(signature)
        if not several:
            raise RuntimeError(
                f"signature {signature:#x} has no backend; the tensor was not made by "
                "dovetail_kernel.wrap"
            )
        if len(self) >= 1024:
            self.clear()
        self[signature] = several[-1]
        return several[-1]


backend_of_signature: Final[Callable[[int], Backend]] = _KnownBackends().__getitem__
"""Return the backend in the signature of a tensor; of several in a call key, the one of highest
priority. A RuntimeError says that the signature has none.
"""


def backends_of_signature(signature: int) -> tuple[Backend, ...]:
    """Return all backends in a signature or call key, lowest priority first."""
    return _backends_of(signature & sum(_by_bit), tuple(_by_bit.values()))


@lru_cache(maxsize=256)
def _backends_of(bits: int, known: tuple[Backend, ...]) -> tuple[Backend, ...]:
    present = [each for each in known if each.bit & bits]
    return tuple(sorted(present, key=lambda each: each.priority))


def backend_of_array(array: object) -> Backend | None:
    """Return the backend, of those attached, that `array` is an array of; None for a foreign
    object.
    """
    for each in _in_order:
        if each.is_attached and isinstance(array, each.arrays.array_types):
            return each
    return None


def accelerator() -> Backend | None:
    """Return the attached backend of highest priority besides cpu and meta, or None."""
    for each in reversed(_in_order):
        if each.is_attached and each.is_device and each.name not in ("cpu", "meta"):
            return each
    return None


def on_new_backend(observer: BackendObserver) -> None:
    """Call `observer` with every backend there is, and with each new one as it is added."""
    with _lock:
        for each in _in_order:
            observer(each)
        NEW_BACKEND.add(observer)


def installed_device_types() -> tuple[str, ...]:
    """Return the device types that the sources name; the first call may read the metadata of what
    is installed.
    """
    return tuple(dict.fromkeys(name for source in DEVICE_TYPES.plugs for name in source()))


def usable_device_types() -> tuple[str, ...]:
    """Return the device types to choose from: cpu and cuda, and what is registered or installed.

    The other names of PyTorch's are valid too, but no plugin has a backend for them.
    """
    registered = (
        each.name
        for each in _by_name.values()
        if each.is_device and each.name not in _KEY_NAMES and each.name not in TORCH_DEVICE_TYPES
    )
    return tuple(dict.fromkeys(("cpu", "cuda", "meta", *registered, *installed_device_types())))


def is_device_type(name: str) -> bool:
    """Tell whether `name` is a valid device type; what is installed is only asked about names not
    known otherwise.
    """
    known = _by_name.get(name)
    return name in TORCH_DEVICE_TYPES or (
        known.is_device if known else name in installed_device_types()
    )


def _check_new_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise RuntimeError(
            f"{name!r} cannot be a device type: use lower-case letters, digits and underscores, "
            "beginning with a letter"
        )
    if name in TORCH_DEVICE_TYPES or name == "metal":
        raise RuntimeError(
            f"device type {name!r} has a meaning of its own in PyTorch; give the backend another "
            "name"
        )


def _free_component() -> int:
    """Return a bit of key sets that no backend has."""
    greatest = max([each.component for each in _by_name.values()])
    return max(1 << FIRST_OPEN_COMPONENT, 2 * greatest)


def _add(new: Backend) -> None:
    global _in_order
    _by_name[new.name] = new
    _in_order = tuple(sorted((*_in_order, new), key=lambda each: each.priority))
    for observer in NEW_BACKEND.plugs:
        observer(new)


def rebuild_backend(name: str) -> Backend:
    return backend(name, create=True)


for _index, (_name, _key_name) in enumerate(_KEY_NAMES.items()):
    _priority = _META_PRIORITY if _name == "meta" else _index
    _add(Backend(_name, _key_name, _priority, 1 << _index, _SIGNATURE_BITS.get(_name)))
_by_bit.update({_bit: _by_name[_name] for _name, _bit in _SIGNATURE_BITS.items()})


_unpickle = rebuild_backend  # as pickles of 0.1.0 have it
