"""Finds the operator, key and library that the functions for registering are given by name."""

from __future__ import annotations

from typing import Final

from dovetail_kernel import DispatchKey, dispatch_key_for_device, plugin_manager
from dovetail_kernel.errors import did_you_mean
from dovetail_kernel.plugins import LIBRARIES

from ..calls.overloads import OpOverload
from ..table import registry
from ..table.operator import Operator
from .custom_op_definition import CustomOpDef
from .custom_ops import find_custom_op
from .library import Library

OpName = str | OpOverload | CustomOpDef

_keep_alive: Final[list[Library]] = []
"""Libraries made here. While a library is held, the same code run again is a mistake, unless it was
compiled anew.
"""


def library_for(namespace: str, lib: Library | None) -> Library:
    if lib is not None:
        return lib
    made = Library(namespace, "FRAGMENT")
    _keep_alive.append(made)
    return made


def split_name(qualname: str) -> tuple[str, str]:
    namespace, separator, name = qualname.partition("::")
    if not separator or not namespace or not name or "::" in name:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", '
            f"but got {qualname}. The qualname passed to the "
            "library functions must consist of a namespace and a name, e.g. aten::sin"
        )
    return namespace, name


def key_name(type_or_key: str) -> str:
    if type_or_key == "default":
        return "CompositeExplicitAutograd"
    if type_or_key in DispatchKey.__members__:
        return type_or_key
    return dispatch_key_for_device(type_or_key).name


def operator_of(op: OpName, function: str) -> Operator | CustomOpDef:
    """Return what `op` names: a custom op, or another operator. Raises AttributeError if there is
    no such operator.
    """
    target = name_of(op, function)
    if isinstance(target, CustomOpDef):
        return target
    found = registry.find_qualified(target)
    if found is None or not found.is_defined:
        raise AttributeError(
            f"operator {target} does not exist.{did_you_mean(target, registry.operators)} "
            "Define it first, or load the library that does."
        )
    return found


def name_of(op: OpName, function: str) -> str | CustomOpDef:
    """Return the custom op that `op` names, or the qualified name of another operator, which may be
    defined later.
    """
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, str | OpOverload):
        raise ValueError(
            f"{function}({op}): got unexpected type for op: {type(op)}. Give a name like "
            "'mylib::sin', an OpOverload like ops.mylib.sin.default, or what custom_op returned."
        )
    qualified = op if isinstance(op, str) else op.name()
    custom = find_custom_op(qualified)
    if custom is not None:
        return custom
    namespace, _name = split_name(qualified)
    found = registry.find_qualified(qualified)
    if (found is None or not found.is_defined) and plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)
    return qualified.removesuffix(".default")
