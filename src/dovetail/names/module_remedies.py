"""Replacements for missing PyTorch modules."""

from __future__ import annotations

from typing import Final

_PARALLEL: Final = (
    "Every process holds all parameters: wrap the module in "
    "dovetail.nn.parallel.DistributedDataParallel, which the plugin dovetail-mpi has."
)
_STARTED: Final = (
    "Start the processes with mpiexec -n 2 python program.py; they work together by the plugin "
    "dovetail-mpi."
)
_FLOATING: Final = "Quantized dtypes are not supported: keep tensors floating."
_STATE: Final = "A graph cannot be exported. Save the state_dict with dovetail.save."
_NO_COMPILER: Final = "Programs run as they stand, without a compiler: leave the call out."
REMEDIES: Final = {
    "_C": "dovetail.fx.symbolic_trace makes a graph of a module, dovetail.jit.trace records its "
    "calls.",
    "_C._functorch": "Use dovetail.func.vmap.",
    "_functorch": "Use dovetail.func.",
    "_dynamo": "Nothing is compiled.",
    "_inductor": "Nothing is compiled.",
    "accelerator.memory": "Ask dovetail.cuda for the memory of a device: "
    "dovetail.cuda.memory_allocated.",
    "ao": _FLOATING,
    "ao.pruning": "Prune with dovetail.nn.utils.prune.",
    "backends.quantized": _FLOATING,
    "backends.xnnpack": _FLOATING,
    "compiler": _NO_COMPILER,
    "cuda.comm": "Move tensors with Tensor.to; between processes, with dovetail.distributed of the "
    "plugin dovetail-mpi.",
    "distributed": "There are groups of processes, collectives and "
    "dovetail.nn.parallel.DistributedDataParallel: install the plugin dovetail-mpi, and see what "
    "dir(dovetail.distributed) lists.",
    "distributed.argparse_util": _STARTED,
    "distributed.checkpoint": "Save the state_dict in the first process with dovetail.save, or in "
    "all with dovetail.distributed.save_checkpoint, which the plugin dovetail-mpi has.",
    "distributed.elastic": _STARTED,
    "distributed.fsdp": _PARALLEL,
    "distributed.launch": _STARTED,
    "distributed.launcher": _STARTED,
    "distributed.pipelining": _PARALLEL,
    "distributed.rendezvous": _STARTED,
    "distributed.rpc": "Processes do not call each other's functions: use the collectives of "
    "dovetail.distributed, which the plugin dovetail-mpi has.",
    "distributed.run": _STARTED,
    "distributed.optim": "dovetail.distributed.optim of the plugin dovetail-mpi has "
    "ZeroRedundancyOptimizer; the other optimizers are in dovetail.optim.",
    "distributed.tensor": _PARALLEL,
    "export": _STATE,
    "fx": "dir(dovetail.fx) lists what there is of graphs of programs.",
    "jit": "dovetail.jit.trace records the calls of a function or module; the others return what "
    "they are given.",
    "jit.quantized": _FLOATING,
    "masked.maskedtensor": "See dovetail.masked, whose functions take a mask.",
    "nativert": _STATE,
    "nested": "Nested tensors are not supported: pad, and pass a mask.",
    "nn.attention.varlen": "Pad the sequences, and pass a mask to "
    "dovetail.nn.functional.scaled_dot_product_attention.",
    "nn.intrinsic": _FLOATING,
    "nn.parallel.comm": "Move tensors with Tensor.to.",
    "nn.qat": _FLOATING,
    "nn.quantizable": _FLOATING,
    "nn.quantized": _FLOATING,
    "onnx": _STATE,
    "package": "Save the state_dict with dovetail.save, and the code by other means.",
    "quantization": _FLOATING,
    "sparse.semi_structured": "Of the sparse layouts there is dovetail.sparse_coo: "
    "dovetail.sparse_coo_tensor.",
    "utils.data.datapipes": "Write a dataset: dovetail.utils.data.IterableDataset.",
    "utils.mobile_optimizer": _NO_COMPILER,
}
"""By their names under ``torch``; what is said of a module holds for those in it."""


def remedy_of(module: str, name: str, *, as_module: bool = False) -> str:
    """Return what to use in place of ``module.name``, or "" where it is not said here.

    Parameters
    ----------
    as_module
        It was imported, so that what is said of a module around it is said of it too.
    """
    inside = [*module.split(".")[1:], name]
    for count in range(len(inside), 0 if as_module else len(inside) - 1, -1):
        found = REMEDIES.get(".".join(inside[:count]))
        if found is not None:
            return found
    return ""
