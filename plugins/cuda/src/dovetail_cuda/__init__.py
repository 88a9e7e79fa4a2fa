"""The CUDA backend of Dovetail: CuPy arrays for the base library's tensors. CuPy is imported when
it is first needed.
"""

from __future__ import annotations

from dovetail_kernel import BackendSpec, hookimpl, publish

from .availability import device_count, unavailable_because

__all__ = ["device_count", "dovetail_backend", "unavailable_because"]
publish(__name__)


def _load() -> None:
    from dovetail_aten.backend import tell_tf32
    from dovetail_aten.backends import register_backend

    from .arrays import CudaArrays
    from .families.pointwise import define_logical
    from .families.table import FUSED_FAMILIES
    from .matmul_precision import set_tf32
    from .namespace.kernel_namespace import kernel_namespace

    namespace = kernel_namespace()
    register_backend(
        "cuda", namespace, CudaArrays, kernels=[define_logical], families=FUSED_FAMILIES
    )
    tell_tf32(set_tf32)


@hookimpl
def dovetail_backend() -> BackendSpec:
    """Return the description of the cuda backend."""
    return BackendSpec("cuda", _load, is_available=unavailable_because, device_count=device_count)
