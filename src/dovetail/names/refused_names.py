"""PyTorch names that packages import but Dovetail does not support: calling them raises an error,
importing them does not.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final, NoReturn

from .module_remedies import remedy_of

_NAMES: Final = {
    "_C": "Graph Node ScriptMethod Value",
    "_C._functorch": "_add_batch_dim _remove_batch_dim",
    "_functorch.vmap": (
        "_add_batch_dim _broadcast_to_and_flatten _get_name _maybe_remove_batch_dim"
    ),
    "_ops": "HigherOrderOperator",
    "_dynamo.exc": "TensorifyScalarRestartAnalysis TorchDynamoException",
    "ao.quantization": "DeQuantStub FakeQuantizeBase ObserverBase QuantStub",
    "distributed.autograd": "DistAutogradContext backward context get_gradients",
    "distributed._composable.fsdp": "FSDPModule fully_shard",
    "distributed.elastic.multiprocessing.errors": "record",
    "distributed.tensor": "Partial Replicate Shard distribute_tensor",
    "jit": "_get_trace_graph",
    "onnx": "ONNXProgram export",
    "onnx.symbolic_opset11": "",
}
"""By their modules under ``torch``: a name with a capital letter is a class, for ``isinstance``,
and another one a function; those of a module ``exc`` can be caught. Only what packages import
without asking stands here: a name that they ask for is better absent.
"""

_ELSEWHERE: Final = {
    "": "dovetail._C:DeviceObjType dovetail._C:StorageBase dovetail._C:TensorType",
    "_custom_ops": (
        "dovetail.library:custom_op dovetail.library:get_ctx dovetail.library:impl_abstract"
    ),
    "_functorch.vmap": (
        "dovetail_aten:Tensor dovetail.utils._pytree:tree_flatten "
        "dovetail.utils._pytree:tree_unflatten"
    ),
    "_guards": "dovetail._subclasses.fake_tensor:active_fake_mode",
    "_jit_internal": (
        "typing:Dict typing:Final typing:List typing:Optional typing:Tuple "
        "dovetail.jit.annotations:BroadcastingList1 dovetail.jit.annotations:BroadcastingList2 "
        "dovetail.jit.annotations:BroadcastingList3 dovetail.jit:export dovetail.jit:ignore "
        "dovetail.jit:is_scripting dovetail.jit:unused"
    ),
    "_ops": "dovetail_dispatcher:OpOverload dovetail_dispatcher:OpOverloadPacket",
    "distributed.autograd": "dovetail.distributed.rpc:is_available",
    "_tensor": "dovetail_aten:Tensor dovetail.overrides:has_torch_function",
}
"""Names that are those of another module, behind that module."""


def is_refused_module(name: str) -> bool:
    """Return whether ``dovetail.x.y`` is there for the names of these tables alone, in it or in
    modules of it.
    """
    inside = name.partition(".")[2]
    return inside in _ELSEWHERE or any(
        [each == inside or each.startswith(f"{inside}.") for each in _NAMES]
    )


@cache
def refused(module: str, name: str) -> Any:
    """Return what stands for ``module.name``, or None if that is neither a refused name nor one
    of another module.

    Returns
    -------
    type or Callable or None
        A class without instances, or a function. Making an instance and calling the function raise
        NotImplementedError. For a name of another module, what that has.
    """
    inside = module.partition(".")[2]
    for place in _ELSEWHERE.get(inside, "").split():
        if place.endswith(f":{name}"):
            return getattr(import_module(place.partition(":")[0]), name)
    if name not in _NAMES.get(inside, "").split():
        return None
    remedy = remedy_of(module, name, as_module=True) or "Leave the call out."

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{module}.{name} is not in Dovetail. {remedy}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    if not name[:1].isupper():
        return refuse
    bases = (Exception,) if inside.endswith(".exc") else ()
    return type(name, bases, {"__module__": module, "__new__": refuse, "__doc__": remedy})
