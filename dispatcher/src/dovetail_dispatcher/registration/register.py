"""Registers kernels, derivatives and rules by operator name, without a `Library`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail_kernel import DispatchKey, dtype, warn_user
from dovetail_kernel.errors import where

from ..table import registry
from ..table.derivative_formula import PythonFormula
from ..table.kernels import FAKE
from ..table.updates.changes import Change
from ..table.updates.rule_registration import (
    set_batching_rule,
    set_derivative_formula,
    set_torch_dispatch_rule,
)
from .autocast import checked_cast
from .batching_rules import checked_rule
from .custom_op_checks import (
    check_callable,
    check_differentiable,
    check_formula,
    check_torch_dispatch_class,
)
from .custom_op_definition import CustomOpDef, DeviceTypes
from .define_and_impl import impl
from .library import Library
from .library_checks import kernel_key
from .operator_names import OpName, library_for, name_of, operator_of


def register_kernel(
    op: OpName,
    device_types: DeviceTypes,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register the implementation of `op` for some device types (None: every device); usable as a
    decorator.

    Raises
    ------
    ValueError
        If `op` is not an operator name, `OpOverload` or `CustomOpDef`.
    RuntimeError
        For an unknown device type.

    Notes
    -----
    The operator may be defined later; until then the kernel is listed by `check_pending`.
    """
    target = name_of(op, "register_kernel")
    if isinstance(target, CustomOpDef):
        return (
            target.register_kernel(device_types)
            if func is None
            else target.register_kernel(device_types, func)
        )
    types = ["default"] if device_types is None else device_types
    return impl(target, types, func, lib=lib)


def register_fake(
    op: OpName,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register the fake (Meta) kernel, which returns results of the right shape and dtype without
    data; usable as a decorator.

    Parameters
    ----------
    op
        The operator, which may be defined later: name, `OpOverload` or `CustomOpDef`.
    func
        Takes and returns meta tensors.
    lib
        Library that owns the registration; default: the registration is permanent.
    allow_override
        False: raise an error if the operator has a Meta kernel.

    Raises
    ------
    ValueError
        If `op` is of another type.
    RuntimeError
        If the operator has a CompositeImplicitAutograd kernel, or a Meta kernel that may not be
        overridden.
    """
    target = name_of(op, "register_fake")

    def register(fn: Callable[..., object]) -> Callable[..., Any]:
        if not allow_override:
            _check_no_fake(target)
        if isinstance(target, CustomOpDef):
            return target.register_fake(fn)
        library_for(target.partition("::")[0], lib)._impl(target, fn, "Meta", FAKE)
        return fn

    return register if func is None else register(func)


def impl_abstract(
    qualname: str,
    func: Callable[..., object] | None = None,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
) -> Any:
    """Deprecated name of `register_fake`, from PyTorch before 2.4; warns."""
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
    backward: Callable[..., object],
    /,
    *,
    setup_context: Callable[..., None] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the derivative of `op`; replaces an earlier one.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    backward
        ``backward(ctx, *grads)``, returning one gradient (or None) per argument.
    setup_context
        ``setup_context(ctx, inputs, output)``, which saves what backward needs; if the schema has
        keyword-only arguments, it also gets ``keyword_only_inputs``.
    lib
        Library that owns the registration; default: the registration lives as long as the operator.

    Raises
    ------
    ValueError
        If `op` is of another type.
    AttributeError
        If the operator does not exist.
    RuntimeError
        If it writes to its arguments, returns nothing, or returns views.
    NotImplementedError
        If it has keyword-only tensors.
    """
    target = operator_of(op, "register_autograd")
    if isinstance(target, CustomOpDef):
        target.register_autograd(backward, setup_context=setup_context)
        return
    check_differentiable(target.schema, target.qualified_name, views=False)
    check_formula(target.schema, target.qualified_name, backward, setup_context)
    name = f"{target.name}.{target.overload or 'default'}"
    formula = PythonFormula(name, backward, setup_context, where())
    owner = _owner(lib, "Autograd", target.name)
    set_derivative_formula(target.name, target.overload, formula, owner)


def register_vmap(
    op: OpName, func: Callable[..., object] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register the `vmap` rule of `op`, which computes a whole batch; usable as a decorator. It
    replaces an earlier rule.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    func
        ``func(info, in_dims, *args, **kwargs)`` returns ``(outputs, out_dims)``.
        ``info.batch_size`` and ``info.randomness`` describe the `vmap`. `in_dims` has an entry per
        positional argument: the batch dimension of a tensor (None if it has none and all samples
        share it), a list of these for a list of tensors, and None for anything else. ``out_dims``
        has one per output. The batch dimension of an argument is always 0.
    lib
        Library that owns the registration; default: the registration lives as long as the operator.

    Raises
    ------
    ValueError
        If `op` is of another type.
    AttributeError
        If the operator does not exist.
    NotImplementedError
        If it has keyword-only tensors.
    RuntimeError
        If it has a CompositeImplicitAutograd kernel, which decomposes.
    TypeError
        If `func` cannot be called like that.

    Notes
    -----
    An operator without a rule is called once per sample, with a single warning.
    """
    target = operator_of(op, "register_vmap")

    def register(fn: Callable[..., object]) -> Callable[..., Any]:
        if isinstance(target, CustomOpDef):
            target.register_vmap(fn)
            return fn
        rule = checked_rule(target, fn, where())
        owner = _owner(lib, "FuncTorchBatched", target.name)
        set_batching_rule(target.name, target.overload, rule, owner)
        return fn

    if func is None:
        return register
    register(func)
    return None


def register_torch_dispatch(
    op: OpName,
    torch_dispatch_class: type,
    func: Callable[..., object] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register the rule of a mode or a Tensor subclass for `op`; usable as a decorator.

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
        Library that owns the registration; default: the registration lives as long as the operator.

    Raises
    ------
    ValueError
        If `op` is of another type, or `torch_dispatch_class` has no ``__torch_dispatch__``.
    RuntimeError
        If the class has a rule for the operator, which may be defined later.
    """
    target = name_of(op, "register_torch_dispatch")
    if isinstance(target, CustomOpDef):
        return target.register_torch_dispatch(torch_dispatch_class, func)
    check_torch_dispatch_class(torch_dispatch_class, target)
    name, _, overload = target.partition(".")

    def register(fn: Callable[..., object]) -> Callable[..., Any]:
        check_callable(fn)
        owning = library_for(name.partition("::")[0], lib)
        owning._check_alive()
        owner = owning._changes
        set_torch_dispatch_rule(name, overload, torch_dispatch_class, fn, owner)
        return fn

    return register if func is None else register(func)


def register_autocast(
    op: OpName, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None
) -> None:
    """Register an autocast rule for `op`: cast its floating-point tensors, then call it.

    Parameters
    ----------
    op
        A defined operator: name, `OpOverload` or `CustomOpDef`.
    device_type
        "cpu" or "cuda": inside ``autocast(device_type)``, the tensors on that device are cast.
    cast_inputs
        The dtype to cast to. float64 and integer tensors are not cast.
    lib
        Library that owns the registration; default: the registration lives as long as the operator.

    Raises
    ------
    ValueError
        If the device type has no autocast, or `op` is of another type.
    AttributeError
        If the operator does not exist.
    RuntimeError
        For an unknown device type.
    """
    target = operator_of(op, "register_autocast")
    if isinstance(target, CustomOpDef):
        target.register_autocast(device_type, cast_inputs)
        return
    key, kernel = checked_cast(target, device_type, cast_inputs)
    library_for(target.namespace, lib).impl(target.qualified_name, kernel, key)


def _owner(lib: Library | None, key: str, name: str) -> list[Change]:
    """Return what owns a registration at `key` that is to go with `lib`, if one is given. Raises
    AssertionError if the library was destroyed, and RuntimeError if it is one for kernels at
    another key.
    """
    if lib is None:
        return []
    lib._check_alive()
    kernel_key(key, name, lib._key, lib._made_at)
    return lib._changes


def _check_no_fake(target: str | CustomOpDef) -> None:
    if isinstance(target, CustomOpDef):
        operator = None if target._abstract_fn is None else target._operator
    else:
        operator = registry.find_qualified(target)
    old = None if operator is None else operator.newest(DispatchKey.Meta)
    if old is not None:
        raise RuntimeError(
            f"register_fake(...): the operator {target} already has a fake impl "
            f"registered at {old.origin}: it already has a DispatchKey::Meta implementation. "
            "Destroy its library first, or give allow_override=True."
        )
