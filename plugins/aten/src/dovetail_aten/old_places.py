"""Where pickles find what moved modules defined; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {
    "": "tensor.factories tensor.like_factories tensor.more_factories tensor.normal_numbers "
    "tensor.random_factories tensor.aliasing tensor.from_data tensor.storages "
    "tensor.untyped_storage tensor.distances tensor.distinct tensor.equations tensor.low_rank "
    "tensor.norms tensor.places tensor.several_operands tensor.several_tensors",
    "_generated.functions": "_generated.functions.activations _generated.functions.attention "
    "_generated.functions.convolution _generated.functions.creation _generated.functions.ctc "
    "_generated.functions.distances _generated.functions.dropouts "
    "_generated.functions.embeddings _generated.functions.fft _generated.functions.indexing "
    "_generated.functions.interpolation _generated.functions.linalg "
    "_generated.functions.losses _generated.functions.margin_losses "
    "_generated.functions.matmul _generated.functions.nn _generated.functions.normalization "
    "_generated.functions.padding _generated.functions.pieces _generated.functions.pointwise "
    "_generated.functions.pooling _generated.functions.random _generated.functions.recurrent "
    "_generated.functions.reductions _generated.functions.sampling "
    "_generated.functions.scattering _generated.functions.searching "
    "_generated.functions.shapes _generated.functions.softmax _generated.functions.special "
    "_generated.functions.split_and_scatter _generated.functions.stack_and_tile "
    "_generated.functions.stacks _generated.functions.statistics _generated.functions.views",
    "kernel_support": "array_kernels array_kernels.capabilities array_kernels.table",
    "tensor.creation.windows": "tensor.windows",
    "tensor.storage_classes.typed_storage": "tensor.typed_storage",
}
