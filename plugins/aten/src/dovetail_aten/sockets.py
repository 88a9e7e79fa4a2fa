"""Sockets of the base library: every place where it calls a room or a distribution above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dovetail_kernel.sockets import SharedSocket, Socket

if TYPE_CHECKING:
    from typing import Protocol

    class TypedStorageFunction(Protocol):
        def __call__(self, tensor: Any, /) -> Any:
            """Return a `TypedStorage` of the memory and the dtype of a tensor."""

    class NamespaceFunction(Protocol):
        def __call__(self) -> Any:
            """Return the namespace of functions of the Array API."""

    class SparseModule(Protocol):
        def __call__(self) -> Any:
            """Return the module that makes sparse tensors, of strided ones or of their parts."""

    class PrecisionListener(Protocol):
        def __call__(self, allowed: bool, /) -> None:
            """Let products of float32 matrices round factors to TF32, or not."""


TYPED_STORAGE: Final[Socket[TypedStorageFunction]] = Socket(
    "dovetail_aten.tensor.storage_classes.typed_storage", "when the base library is imported"
)
"""Called where a storage is converted to a dtype."""

ARRAY_NAMESPACE: Final[Socket[NamespaceFunction | None]] = Socket(
    "dovetail", "when it is imported", None
)
"""Called by ``Tensor.__array_namespace__``."""

SPARSE: Final[Socket[SparseModule | None]] = Socket("dovetail", "when it is imported", None)
"""Called by `Tensor.to_sparse`, and for sparse gradients."""

MATMUL_PRECISION: Final[SharedSocket[PrecisionListener]] = SharedSocket(
    ("dovetail_cuda",), "when the backend is loaded"
)
"""Called when a program says how exact products have to be; `tell_tf32` adds a listener."""
