"""Computes which kernel an operator has at a runtime key, from nothing but what is registered now.

PyTorch keeps a computed table and refreshes it incrementally, so that its live table depends on the
order of registration. Here nothing is kept: `compute` reads the live registrations, and only
composed routes are cached.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, NamedTuple

from dovetail_kernel import Backend, DispatchKey, DispatchKeySet, is_included_in_alias, runtime_keys

from .derivative_formula import Formula
from .kernels import ARRAY, FALLTHROUGH, FORMULA, Kernel
from .operator import Operator

Autograd = DispatchKey.Autograd
CompositeImplicit = DispatchKey.CompositeImplicitAutograd
CompositeExplicit = DispatchKey.CompositeExplicitAutograd
CompositeExplicitNonFunctional = DispatchKey.CompositeExplicitAutogradNonFunctional
CompositeImplicitNested = DispatchKey.CompositeImplicitAutogradNestedTensor
BatchedDecomposition = DispatchKey.FuncTorchBatchedDecomposition


conditions_are_off = 0
"""In how many blocks of `without_conditions` the process is."""


class Entry(NamedTuple):
    """A cell of the computed table: the kernel in force, and the rule that chose it.

    Kernels with conditions are not in the table: they change for a call what it runs in the place
    of this kernel, and nothing about the operator.
    """

    kernel: Kernel | None
    tag: str


MISSING = Entry(None, "missing")
AMBIGUOUS = Entry(None, "ambiguous autogradother")


def compute(op: Operator, key: DispatchKey, fallbacks: dict[DispatchKey, Kernel]) -> Entry:
    """Return what `op` runs at runtime key `key`, by PyTorch's precedence.

    1. a kernel at `key` itself, 2. CompositeExplicitAutogradNonFunctional, 3.
       CompositeExplicitAutograd,
    4. CompositeImplicitAutogradNestedTensor, 5. CompositeImplicitAutograd (unless the backend of an
       Autograd key has a
    kernel of its own; at AutogradOther it may be ambiguous), 6. Autograd, 7.
    FuncTorchBatchedDecomposition,
    8. the backend fallback of `key`.
    """
    variant_of, kernels = op.variant_of, op.kernels
    for alias, tag in _rules(key):
        stack = kernels.get(alias)
        kernel = stack[0] if stack else None if variant_of is None else op.newest(alias)
        if kernel is not None and kernel.when is not None:
            kernel = op.newest(alias)
        if kernel is None and alias is Autograd:
            kernel = formula_kernel(op)
        if kernel is None:
            continue
        if alias is CompositeImplicit and (hidden := _hidden_composite(op, key)) is not None:
            if hidden:
                return AMBIGUOUS
            continue
        return Entry(kernel, tag)
    if key.backend is not None and not key.backend.is_device:
        return _compute_wrapped(op, key, fallbacks)
    if kernel := fallbacks.get(key):
        return Entry(kernel, "backend fallback")
    return MISSING


_PRECEDENCE: Final = (
    (CompositeExplicitNonFunctional, "default backend kernel"),
    (CompositeExplicit, "default backend kernel"),
    (CompositeImplicitNested, "nested kernel"),
    (CompositeImplicit, "math kernel"),
    (Autograd, "autograd kernel"),
    (BatchedDecomposition, "batched kernel"),
)
"""Alias keys in the order in which their kernels are asked for, with the tags of entries."""


@lru_cache(maxsize=1024)
def _rules(key: DispatchKey) -> tuple[tuple[DispatchKey, str], ...]:
    """Return the keys whose kernels may serve the runtime key `key`, by precedence, with the tags
    of their entries. Of the keys of wrapped tensors, it is `key` alone.
    """
    if key.backend is not None and not key.backend.is_device:
        return ((key, "kernel"),)
    of_all = (CompositeExplicitNonFunctional, CompositeExplicit, CompositeImplicit)
    return (
        (key, "kernel"),
        *[
            (alias, tag)
            for alias, tag in _PRECEDENCE
            if is_included_in_alias(key, alias)
            or (key is DispatchKey.Undefined and alias in of_all)
        ],
    )


def conditioned(op: Operator, key: DispatchKey) -> tuple[Kernel, ...]:
    """Return the kernels of `op` at exactly `key` that are asked, in order, before that in force; a
    variant has the array kernels of its functional operator.
    """
    if conditions_are_off:
        return ()
    stack = op.kernels.get(key, [])
    if op.variant_of is not None:
        beneath = op.variant_of.kernels.get(key, ())
        stack = [*stack, *[each for each in beneath if each.convention == ARRAY]]
    return tuple(takewhile(lambda each: each.when is not None, stack))


def may_ask(op: Operator) -> bool:
    """Return whether a condition may be asked in a call of `op`."""
    return not conditions_are_off and has_conditions(op)


def has_conditions(op: Operator) -> bool:
    """Return whether some kernel of `op` has a condition."""
    of_functional = () if op.variant_of is None else op.variant_of.kernels.values()
    for stack in (*op.kernels.values(), *of_functional):
        for kernel in stack:
            if kernel.when is not None:
                return True
    return False


def _hidden_composite(op: Operator, key: DispatchKey) -> bool | None:
    """Return whether the composite kernel of `op` is ambiguous at `key`, or hidden by a kernel of
    the backend that `key` differentiates (False); None if it is in force.
    """
    if key is DispatchKey.AutogradOther and any(map(op.newest, backends_of_autograd_other())):
        return True
    if op.newest(CompositeExplicit) or any(map(op.newest, backends_of_autograd(key))):
        return False
    return None


def _compute_wrapped(op: Operator, key: DispatchKey, fallbacks: dict[DispatchKey, Kernel]) -> Entry:
    """Return what `op` runs on tensors of a function transform.

    A CompositeExplicitAutograd kernel stands for a kernel on every device, whose results it may
    make of the arrays themselves; so on wrapped ones the transform is asked first.
    """
    is_composite = not op.newest(CompositeExplicit) and not op.newest(
        CompositeExplicitNonFunctional
    )
    if (
        is_composite
        and (kernel := op.newest(CompositeImplicit))
        and is_included_in_alias(key, CompositeImplicit)
    ):
        return Entry(kernel, "math kernel")
    if is_included_in_alias(key, Autograd) and (
        kernel := op.newest(Autograd) or formula_kernel(op)
    ):
        return Entry(kernel, "autograd kernel")
    if kernel := fallbacks.get(key):
        return Entry(kernel, "backend fallback")
    return MISSING


def highest(
    op: Operator, keys: DispatchKeySet, fallbacks: dict[DispatchKey, Kernel]
) -> tuple[DispatchKey, Entry]:
    """Return the highest key of `keys` that is not fallen through, and its entry.

    A functionality that falls through for the highest backend is left out; the set does not slide
    to another backend.
    """
    for key in keys.from_highest():
        entry = compute(op, key, fallbacks)
        if entry.kernel is None or entry.kernel.convention != FALLTHROUGH:
            return key, entry
    return DispatchKey.Undefined, compute(op, DispatchKey.Undefined, fallbacks)


def without_fallthrough(
    op: Operator, keys: DispatchKeySet, fallbacks: dict[DispatchKey, Kernel]
) -> DispatchKeySet:
    """Return `keys` less every functionality that falls through for the highest backend."""
    for key in keys.from_highest():
        kernel = compute(op, key, fallbacks).kernel
        if kernel is not None and kernel.is_fallthrough:
            keys = keys.remove(key)
    return keys


class _FormulaKernel(Kernel):
    """The Autograd kernel that a generated formula stands for. Its `fn`, the body, is compiled when
    it is read; no call reads it.
    """

    __slots__ = ("_formula",)

    def __init__(self, formula: Formula) -> None:
        super().__init__(formula_kernel, Autograd, FORMULA, lambda: formula.where)
        del self.fn
        self._formula = formula

    def __getattr__(self, name: str) -> Any:
        if name != "fn":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.fn = self._formula.tensors or formula_kernel
        return self.fn


def formula_kernel(op: Operator) -> Kernel | None:
    """Return the Autograd kernel that the generated formula of `op` stands for.

    One that a user registers has a kernel of its own among those at Autograd.
    """
    formula = op.derivative
    if not isinstance(formula, Formula):
        return None
    return _FormulaKernel(formula)


def backends_of_autograd_other() -> tuple[DispatchKey, ...]:
    """Return the backend keys whose Autograd key is AutogradOther."""
    named = ("FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU")
    per_backend = ("Sparse", "SparseCsr", "Quantized")
    return tuple(
        key
        for key in runtime_keys(CompositeImplicit)
        if key.name in named or (key.functionality in per_backend and key.backend is not None)
    )


def backends_of_autograd(key: DispatchKey) -> tuple[DispatchKey, ...]:
    """Return the backend keys that an Autograd key differentiates; empty for other keys."""
    if key is DispatchKey.AutogradNestedTensor:
        return tuple(
            k for k in runtime_keys(CompositeImplicitNested) if k.functionality == "NestedTensor"
        )
    if key.functionality == "AutogradFunctionality" and isinstance(key.backend, Backend):
        return (DispatchKey[key.backend.key_name],)
    return ()
