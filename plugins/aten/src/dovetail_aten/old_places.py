"""Where pickles find what moved modules defined; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {
    "": "tensor.factories tensor.like_factories tensor.more_factories tensor.normal_numbers "
    "tensor.random_factories tensor.aliasing tensor.from_data tensor.storages "
    "tensor.untyped_storage tensor.distances tensor.distinct tensor.equations tensor.low_rank "
    "tensor.norms tensor.places tensor.several_operands tensor.several_tensors",
    "_generated.functions": "_generated.functions.nn _generated.functions.pieces "
    "_generated.functions.sampling _generated.functions.stacks",
    "kernel_support": "array_kernels array_kernels.capabilities array_kernels.table",
    "tensor.creation.windows": "tensor.windows",
    "tensor.storage_classes.typed_storage": "tensor.typed_storage",
}
