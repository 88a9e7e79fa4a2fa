"""`DispatchKey`: what a kernel is registered for. The keys are PyTorch's, plus those of every
further backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from ..devices.backends import (
    KEYED_DEVICE_TYPES,
    Backend,
    backend,
    installed_device_types,
    on_new_backend,
)
from ..devices.device import Device
from ..errors import did_you_mean
from ..types.immutable import Immutable

FUNCTIONALITIES: Final[tuple[str, ...]] = (
    *(
        "Dense",
        "FPGA",
        "Vulkan",
        "Metal",
        "Quantized",
        "CustomRNGKeyId",
        "MkldnnCPU",
        "Sparse",
        "SparseCsr",
    ),
    *(
        "NestedTensor",
        "BackendSelect",
        "Fake",
        "Python",
        "FuncTorchDynamicLayerBackMode",
        "Functionalize",
        "Conjugate",
    ),
    *(
        "Negative",
        "ZeroTensor",
        "ADInplaceOrView",
        "AutogradOther",
        "AutogradFunctionality",
        "AutogradNestedTensor",
    ),
    *(
        "Tracer",
        "AutocastCPU",
        "AutocastMTIA",
        "AutocastMAIA",
        "AutocastXPU",
        "AutocastIPU",
        "AutocastHPU",
    ),
    *(
        "AutocastXLA",
        "AutocastMPS",
        "AutocastCUDA",
        "AutocastPrivateUse1",
        "FuncTorchBatched",
        "BatchedNestedTensor",
    ),
    *(
        "FuncTorchVmapMode",
        "Batched",
        "VmapMode",
        "FuncTorchGradWrapper",
        "DeferredInit",
        "PythonTLSSnapshot",
    ),
    *(
        "FuncTorchDynamicLayerFrontMode",
        "TESTING_ONLY_GenericWrapper",
        "TESTING_ONLY_GenericMode",
        "PreDispatch",
    ),
    "PythonDispatcher",
)
"""What keys stand for, lowest priority first."""

PER_BACKEND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Dense": "",
        "Quantized": "Quantized",
        "Sparse": "Sparse",
        "SparseCsr": "SparseCsr",
        "NestedTensor": "NestedTensor",
        "AutogradFunctionality": "Autograd",
    }
)
"""Functionalities that have one key per backend, and what comes before the backend's name in it."""

_FIRST_FUNCTIONALITY_BIT: Final = 16
FUNCTIONALITY_MASK: Final = ((1 << len(FUNCTIONALITIES)) - 1) << _FIRST_FUNCTIONALITY_BIT
"""The functionality bits of a key set. All others are backend bits, so a negative int holds every
backend to come.
"""

ALL_BACKENDS_MASK: Final = ~((1 << 64) - 1) | 0xFFFF


def _functionality_bits(*names: str) -> int:
    return sum(1 << (_FIRST_FUNCTIONALITY_BIT + FUNCTIONALITIES.index(name)) for name in names)


_OWN_BACKENDS = ("FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU")
_EXPLICIT = (
    _functionality_bits("Dense", "Quantized", "Sparse", "SparseCsr", *_OWN_BACKENDS)
    | ALL_BACKENDS_MASK
)
_AUTOGRAD = (
    _functionality_bits("AutogradOther", "AutogradFunctionality", "AutogradNestedTensor")
    | ALL_BACKENDS_MASK
)
_LAZY_BACKENDS = backend("xla").component | backend("lazy").component

_ALIAS_MASKS: Final = {
    "Autograd": _AUTOGRAD,
    "CompositeImplicitAutograd": _EXPLICIT | _functionality_bits("NestedTensor") | _AUTOGRAD,
    "CompositeImplicitAutogradNestedTensor": (
        _functionality_bits("NestedTensor", "AutogradNestedTensor") | ALL_BACKENDS_MASK
    ),
    "FuncTorchBatchedDecomposition": _functionality_bits("FuncTorchBatched"),
    "CompositeExplicitAutograd": _EXPLICIT,
    "CompositeExplicitAutogradNonFunctional": _EXPLICIT
    & ~_functionality_bits("Sparse")
    & ~_LAZY_BACKENDS,
}


class _DispatchKeyType(type):
    """Gives the class the lookups of an enum: ``DispatchKey.CPU``, ``DispatchKey['CPU']``,
    iteration, ``len``.
    """

    def __getattr__(cls, name: str) -> DispatchKey:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return parse_dispatch_key(name)
        except RuntimeError as error:
            raise AttributeError(str(error)) from None

    def __getitem__(cls, name: str) -> DispatchKey:
        try:
            return parse_dispatch_key(name)
        except RuntimeError as error:
            raise KeyError(str(error)) from None

    def __iter__(cls) -> Iterator[DispatchKey]:
        return iter(sorted(_by_name.values(), key=lambda key: key.priority))

    def __len__(cls) -> int:
        return len(_by_name)

    @property
    def __members__(cls) -> Mapping[str, DispatchKey]:
        return MappingProxyType(_by_name)


class DispatchKey(Immutable, metaclass=_DispatchKeyType):
    """A key for registering kernels and dispatching calls; compared by identity.

    Attributes
    ----------
    name
        ``'AutogradCPU'``.
    functionality
        The functionality of the key: ``'Dense'``, ``'Quantized'``, ``'Sparse'``, ``'SparseCsr'``,
        ``'NestedTensor'`` or ``'AutogradFunctionality'`` for the keys of a backend; for all other
        keys, their own name.
    backend
        The backend of a per-backend key, else None.
    priority
        Rank of the key: the highest key in a set gets the call. Ordered by functionality, then by
        backend.
    mask
        The bits of the key in a `DispatchKeySet`; for an alias, the bits of all its keys.
    is_alias
        Whether kernels registered for the key serve several keys (``CompositeImplicitAutograd``);
        no tensor has such a key.
    is_runtime
        Whether a call can end at this key: False for an alias, for a bare functionality like
        ``Dense``, and for ``Undefined``.
    """

    __slots__ = ("backend", "functionality", "is_alias", "is_runtime", "mask", "name", "priority")

    name: str
    functionality: str
    backend: Backend | None
    priority: tuple[int, int]
    mask: int
    is_alias: bool
    is_runtime: bool

    def __new__(cls, name: str) -> DispatchKey:
        return parse_dispatch_key(name)

    def __lt__(self, other: DispatchKey) -> bool:
        return self.priority < other.priority

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_dispatch_key, (self.name,)


_by_name: dict[str, DispatchKey] = {}


def parse_dispatch_key(name: str) -> DispatchKey:
    """Return the key called `name`.

    A key of a backend that is installed but not loaded is valid: the backend gets its bits, and is
    not loaded.

    Raises
    ------
    RuntimeError
        If no key has this name.
    """
    found = _by_name.get(name) or _key_of_installed_backend(name)
    if found is None:
        raise RuntimeError(
            f"could not parse dispatch key: {name}.{did_you_mean(name, _by_name)} To register for "
            "a backend that is not installed yet, give its device type as backend=..."
        )
    return found


def dispatch_key_for_device(device: str | Device) -> DispatchKey:
    """Return the dense key of a device type: ``CPU`` for ``'cpu'``.

    Raises
    ------
    RuntimeError
        If it is not a device type, has an index, or has no dispatch key.
    """
    if isinstance(device, str) and ":" in device:
        raise RuntimeError(
            f"Expected device_type string to not have a device index; got {device}. Give "
            f"'{device.partition(':')[0]}'"
        )
    name = Device(device).type
    if name in KEYED_DEVICE_TYPES:
        return _by_name[KEYED_DEVICE_TYPES[name]]
    return _by_name[backend(name, create=True).key_name]


def backend_key(functionality: str, backend: Backend) -> DispatchKey:
    """Return the key of a per-backend functionality for `backend`: ``AutogradCPU``."""
    return _by_name[PER_BACKEND[functionality] + backend.key_name]


def functionality_keys() -> tuple[DispatchKey, ...]:
    """Return one key per functionality, lowest priority first: a runtime key, or what the keys of
    backends share.
    """
    return _functionality_keys


def is_included_in_alias(key: DispatchKey, alias: DispatchKey) -> bool:
    """Return whether a kernel registered at `alias` may serve `key`; a key that is not an alias
    serves only itself.
    """
    if not alias.is_alias or key.is_alias:
        return key is alias
    return key.mask != 0 and key.mask & alias.mask == key.mask


def _key_of_installed_backend(name: str) -> DispatchKey | None:
    for prefix in PER_BACKEND.values():
        device_type = name.removeprefix(prefix).lower()
        if name == prefix + device_type.upper() and device_type in installed_device_types():
            backend(device_type, create=True)
            return _by_name[name]
    return None


def _define(
    name: str,
    functionality: str,
    priority: tuple[int, int],
    mask: int,
    backend: Backend | None = None,
    is_alias: bool = False,
    is_runtime: bool = True,
) -> DispatchKey:
    key = DispatchKey.make(
        name=name,
        functionality=functionality,
        backend=backend,
        priority=priority,
        mask=mask,
        is_alias=is_alias,
        is_runtime=is_runtime,
    )
    _by_name[name] = key
    setattr(DispatchKey, name, key)  # finds it without asking `__getattr__`
    return key


def _define_keys_of(new: Backend) -> None:
    for functionality, prefix in PER_BACKEND.items():
        block = _by_name[functionality]
        _define(
            prefix + new.key_name,
            functionality,
            (block.priority[0], 1 + new.priority),
            block.mask | new.component,
            backend=new,
        )


_define("Undefined", "Undefined", (0, 0), 0, is_runtime=False)
_functionality_keys = tuple(
    _define(
        name, name, (1 + index, 0), _functionality_bits(name), is_runtime=name not in PER_BACKEND
    )
    for index, name in enumerate(FUNCTIONALITIES)
)
for _index, (_name, _mask) in enumerate(_ALIAS_MASKS.items()):
    _define(
        _name, _name, (1 + len(FUNCTIONALITIES) + _index, 0), _mask, is_alias=True, is_runtime=False
    )
on_new_backend(_define_keys_of)
