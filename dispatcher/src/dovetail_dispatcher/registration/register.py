"""The functional forms of registration: by operator name, without a `Library` in hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, Final

from dovetail_kernel import DispatchKey, dispatch_key_for_device, dtype, plugin_manager
from dovetail_kernel.errors import did_you_mean, where
from dovetail_kernel.plugins.entries import LIBRARIES

from ..calls.overloads import OpOverload
from ..table import registry
from ..table.batching import checked_rule
from ..table.derivative_formula import PythonFormula
from ..table.kernels import FAKE, TENSOR
from ..table.operator import Operator
from ..table.tags import Tag
from ..table.user_warning import warn_user
from .custom_op_checks import check_callable, check_differentiable, check_formula
from .custom_ops import CustomOpDef, DeviceTypes, find_custom_op
from .library import Library

_keep_alive: Final[list[Library]] = []
"""Libraries made here. While a library is held, the same code run again is a mistake, unless it was
compiled anew.
"""

OpName = str | OpOverload | CustomOpDef


@singledispatch
def define(
    qualname: Any,
    schema: str,
    *,
    lib: Library | None = None,
    tags: Tag | Sequence[Tag] = (),
    override: bool = False,
) -> Any:
    """Define an operator.

    Parameters
    ----------
    qualname
        ``"namespace::name"``, with ``".overload"`` if it is to have one.
    schema
        ``"(Tensor x) -> Tensor"``.
    lib
        Library that owns the definition; default: it stays for good.
    tags
        Facts about the operator.
    override
        Cover a definition by other code.

    Raises
    ------
    ValueError
        If `qualname` has no namespace, or `schema` does not begin with the arguments.
    RuntimeError
        As `Library.define`.

    Notes
    -----
    ``define(lib, schema)`` is a decorator: the function is the operator's CompositeImplicitAutograd
    kernel.
    """
    if not isinstance(qualname, str):
        raise ValueError(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    namespace, name = _split(qualname)
    if not re.match(r"\(.*\) -> .*", schema):
        raise ValueError(
            "define(qualname, schema, ...): expected schema to look "
            'like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}". Leave the name out of it.'
        )
    _library(namespace, lib).define(f"{name}{schema}", tags=tags, override=override)


@define.register
def _(
    lib: Library, schema: str, alias_analysis: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(lib.define(schema, alias_analysis), fn)
        return fn

    return register


@singledispatch
def impl(
    qualname: Any,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel that takes and returns tensors; usable as a decorator (which returns None,
    as in PyTorch).

    Parameters
    ----------
    qualname
        ``"namespace::name"`` of an operator.
    types
        Device types, "default" for every device, or names of dispatch keys; one or several.
    func
        The kernel.
    lib
        Library that owns the registration; default: it stays for good.

    Raises
    ------
    ValueError
        If `qualname` has no namespace.
    RuntimeError
        For an unknown device type, or as `Library.impl`.

    Notes
    -----
    ``impl(lib, name, dispatch_key="")`` is a decorator that returns the function.
    """
    if not isinstance(qualname, str):
        raise AttributeError(
            "impl(qualname, types): expected a str or a Library, but got "
            f"{type(qualname).__name__}."
        )
    namespace, name = _split(qualname)
    keys = list(
        dict.fromkeys(_key_name(each) for each in ([types] if isinstance(types, str) else types))
    )

    def register(fn: Callable[..., Any]) -> None:
        owner = _library(namespace, lib)
        for key in keys:
            owner.impl(name, fn, key)

    return register if func is None else register(func)


@impl.register
def _(
    lib: Library, name: str, dispatch_key: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(name, fn, dispatch_key)
        return fn

    return register


def register_kernel(
    op: OpName,
    device_types: DeviceTypes,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register the implementation of `op` for some device types (None: every device); usable as a
    decorator.

    Raises
    ------
    ValueError
        If `op` is no operator name, `OpOverload` or `CustomOpDef`.
    RuntimeError
        For an unknown operator or device type.
    """
    target = _target(op, "register_kernel")
    if isinstance(target, CustomOpDef):
        return (
            target.register_kernel(device_types)
            if func is None
            else target.register_kernel(device_types, func)
        )
    types = ["default"] if device_types is None else device_types
    return impl(target.qualified_name, types, func, lib=lib)


def register_fake(
    op: OpName,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register what gives results of the right shape and dtype without data: the Meta kernel;
    usable as a decorator.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    func
        Takes and returns meta tensors.
    lib
        Library that owns the registration; default: it stays for good.
    allow_override
        False: refuse if the operator has a Meta kernel.

    Raises
    ------
    ValueError
        If `op` is of another type.
    RuntimeError
        If the operator does not exist, has a CompositeImplicitAutograd kernel, or one that may not
        be overridden.
    """
    target = _target(op, "register_fake")

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        operator = target._operator if isinstance(target, CustomOpDef) else target
        if not allow_override:
            _check_no_fake(operator, target)
        if isinstance(target, CustomOpDef):
            return target.register_fake(fn)
        _library(operator.namespace, lib)._impl(operator.qualified_name, fn, "Meta", FAKE)
        return fn

    return register if func is None else register(func)


def impl_abstract(
    qualname: str,
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
) -> Any:
    """Register a fake kernel: the name that `register_fake` had in PyTorch before 2.4. Warns that
    it is deprecated.
    """
    warn_user(
        "impl_abstract was renamed to register_fake. Please use that instead; impl_abstract will "
        "be removed.",
        FutureWarning,
    )
    return (
        register_fake(qualname, lib=lib) if func is None else register_fake(qualname, func, lib=lib)
    )


def register_autograd(
    op: OpName,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., None] | None = None,
    lib: Library | None = None,
) -> None:
    """Register how to differentiate `op`; a second time replaces the first.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    backward
        ``backward(ctx, *grads)``, returning one gradient (or None) per argument.
    setup_context
        ``setup_context(ctx, inputs, output)``, which saves what backward needs; it gets
        ``keyword_only_inputs`` as well if the schema has any.
    lib
        Library that owns the registration; default: it stays as long as the operator.

    Raises
    ------
    ValueError
        If `op` is of another type.
    RuntimeError
        If the operator does not exist, writes to its arguments, returns nothing, or returns views.
    NotImplementedError
        If it has keyword-only tensors.
    """
    target = _target(op, "register_autograd")
    if isinstance(target, CustomOpDef):
        target.register_autograd(backward, setup_context=setup_context)
        return
    check_differentiable(target.schema, target.qualified_name, views=False)
    check_formula(target.schema, target.qualified_name, backward, setup_context)
    name = f"{target.name}.{target.overload or 'default'}"
    formula = PythonFormula(name, backward, setup_context, where())
    registry.set_formula(target.name, target.overload, formula, None if lib is None else lib._undo)


def register_vmap(
    op: OpName, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register how `vmap` calls `op` on a whole batch; usable as a decorator. A second time
    replaces the first.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    func
        ``func(info, in_dims, *args, **kwargs)`` returns ``(outputs, out_dims)``.
        ``info.batch_size`` and ``info.randomness`` are those of the `vmap`. `in_dims` has an entry
        per positional argument: the batch dimension of a tensor (None: it has none, and every
        sample shares it), a list of them for a list of tensors, None for anything else.
        ``out_dims`` has one per output. The batch dimension of an argument is always 0.
    lib
        Library that owns the registration; default: it stays as long as the operator.

    Raises
    ------
    ValueError
        If `op` is of another type.
    RuntimeError
        If the operator does not exist, or has a CompositeImplicitAutograd kernel, which decomposes.
    TypeError
        If `func` cannot be called like that.

    Notes
    -----
    An operator without rule is called once per sample, with one warning.
    """
    target = _target(op, "register_vmap")

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(target, CustomOpDef):
            target.register_vmap(fn)
            return fn
        rule = checked_rule(target, fn, where())
        registry.set_batching_rule(
            target.name, target.overload, rule, None if lib is None else lib._undo
        )
        return fn

    if func is None:
        return register
    register(func)
    return None


def register_torch_dispatch(
    op: OpName,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register what a mode, or a Tensor subclass, does with `op`; usable as a decorator.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    torch_dispatch_class
        A subclass of `TorchDispatchMode`, or a Tensor subclass with ``__torch_dispatch__``.
    func
        ``func(mode_or_class, func, types, args, kwargs)``, which runs instead of
        ``__torch_dispatch__``.
    lib
        Library that owns the registration; default: it stays as long as the operator.

    Raises
    ------
    ValueError
        If `op` is of another type, or `torch_dispatch_class` has no ``__torch_dispatch__``.
    RuntimeError
        If the operator does not exist, or the class has a rule for it.
    """
    target = _target(op, "register_torch_dispatch")
    operator = target._operator if isinstance(target, CustomOpDef) else target
    if not hasattr(torch_dispatch_class, "__torch_dispatch__"):
        raise ValueError(
            f"register_torch_dispatch({operator.qualified_name}, ...): {torch_dispatch_class!r} "
            "has no "
            "__torch_dispatch__. Give a subclass of TorchDispatchMode, or a Tensor subclass that "
            "defines it."
        )

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        check_callable(fn)
        owner = (
            target._lib if isinstance(target, CustomOpDef) else _library(operator.namespace, lib)
        )
        registry.set_torch_dispatch_rule(
            operator.name, operator.overload, torch_dispatch_class, fn, owner._undo
        )
        return fn

    return register if func is None else register(func)


def register_autocast(
    op: OpName, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None
) -> None:
    """Register what autocast does with `op`: cast its floating-point tensors, then call it.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    device_type
        "cpu" or "cuda": inside ``autocast(device_type)``, the tensors on that device are cast.
    cast_inputs
        The dtype to cast to. Tensors of float64 and of integers stay as they are.
    lib
        Library that owns the registration; default: it stays as long as the operator.

    Raises
    ------
    ValueError
        If the device type has no autocast, or `op` is of another type.
    RuntimeError
        For an unknown operator or device type.
    """
    from .autocast import autocast_key, casting_kernel, is_autocast_available

    target = _target(op, "register_autocast")
    if not is_autocast_available(device_type):
        raise ValueError(
            f"Device type '{device_type}' does not support autocast. Choose 'cpu' or 'cuda'."
        )
    if not isinstance(cast_inputs, dtype):
        raise TypeError(
            f"register_autocast: cast_inputs must be a dtype, but got {type(cast_inputs).__name__}."
        )
    key = autocast_key(device_type).name
    if isinstance(target, CustomOpDef):
        target._register(key, casting_kernel(target._operator, device_type, cast_inputs), TENSOR)
        return
    kernel = casting_kernel(target, device_type, cast_inputs)
    _library(target.namespace, lib).impl(target.qualified_name, kernel, key)


def _library(namespace: str, lib: Library | None) -> Library:
    if lib is not None:
        return lib
    made = Library(namespace, "FRAGMENT")
    _keep_alive.append(made)
    return made


def _split(qualname: str) -> tuple[str, str]:
    namespace, separator, name = qualname.partition("::")
    if not separator or not namespace or not name or "::" in name:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", '
            f"but got {qualname}. The qualname passed to the "
            "library functions must consist of a namespace and a name, e.g. aten::sin"
        )
    return namespace, name


def _key_name(type_or_key: str) -> str:
    if type_or_key == "default":
        return "CompositeExplicitAutograd"
    if type_or_key in DispatchKey.__members__:
        return type_or_key
    return dispatch_key_for_device(type_or_key).name


def _target(op: OpName, function: str) -> Operator | CustomOpDef:
    """Return what `op` names: a custom op, or another operator."""
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, str | OpOverload):
        raise ValueError(
            f"{function}({op}): got unexpected type for op: {type(op)}. Give a name like "
            "'mylib::sin', an OpOverload "
            "like ops.mylib.sin.default, or what custom_op returned."
        )
    qualified = op if isinstance(op, str) else op.name()
    custom = find_custom_op(qualified)
    if custom is not None:
        return custom
    namespace, _name = _split(qualified)
    found = registry.find_qualified(qualified)
    if (found is None or not found.is_defined) and plugin_manager.provides(LIBRARIES, namespace):
        plugin_manager.load_library(namespace)
        found = registry.find_qualified(qualified)
    if found is None or not found.is_defined:
        raise RuntimeError(
            f"operator {qualified} does not exist.{did_you_mean(qualified, registry.operators)} "
            "Define it first, or "
            "load the library that does."
        )
    return found


def _check_no_fake(operator: Operator, target: Operator | CustomOpDef) -> None:
    old = operator.newest(DispatchKey.Meta)
    if old is not None and not (isinstance(target, CustomOpDef) and target._abstract_fn is None):
        raise RuntimeError(
            f"register_fake(...): the operator {operator.qualified_name} already has a fake impl "
            "registered at "
            f"{old.origin}: it already has a DispatchKey::Meta implementation. Destroy its "
            "library first, or give "
            "allow_override=True."
        )
