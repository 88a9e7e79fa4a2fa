"""Dovetail: an operator dispatcher for Python arrays, with PyTorch's model, names and semantics."""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

from dovetail_kernel import collection_paused as _collection_paused
from dovetail_kernel import forward_old_places as _forward_old_places

with _collection_paused():
    import dovetail_aten as _aten  # noqa: F401 - its names are those of the stub
from dovetail_aten.sockets import ARRAY_NAMESPACE as _ARRAY_NAMESPACE
from dovetail_aten.sockets import SPARSE as _SPARSE
from dovetail_dispatcher.sockets import CHECKS as _CHECK_LOADERS
from dovetail_kernel import plugin_manager as _plugin_manager

from .functions.tensor_functions import *  # noqa: F403
from .names import provided_modules as _provided_modules
from .names.missing import report_absent_modules as _report_absent_modules
from .names.reexports import *  # noqa: F403
from .names.stubs import attach_stub as _attach_stub

__version__ = "0.1.0"

_CHECK_LOADERS.add(lambda: _plugin_manager.load_module("testing").op_checks())
_ARRAY_NAMESPACE.fill(lambda: _import_module("dovetail.array_api"))
_SPARSE.fill(lambda: _import_module("dovetail.sparse.constructors"))

globals().pop("trace", None)  # the operator's function: that of `inspection` records calls, too
_of_stub = _attach_stub(__name__)


def __getattr__(name: str) -> _typing.Any:
    if name == "default_generator":  # needs the CPU backend
        return _import_module("dovetail_aten.front_end").default_generator()
    if name == "torch":  # `torch.torch` is what it is in PyTorch: the package itself
        return _sys.modules[__name__]
    if name.startswith("_foreach_"):
        foreach = _import_module("dovetail.functions.foreach")
        if name in foreach.FOREACH:
            return globals().setdefault(name, foreach.foreach_function(name))
    if name[0] == "_" and name[1:2] != "_":  # `torch._standard_gamma`: an operator's
        operators = _import_module("dovetail_aten.python_modules")
        found = operators.generated_function(name)
        if found is not None:
            return found
    if _provided_modules.provides(name):
        return _import_module(f"dovetail.{name}")
    return _of_stub(name)


_forward_old_places(__name__, f"{__name__}.old_places")
_report_absent_modules()
