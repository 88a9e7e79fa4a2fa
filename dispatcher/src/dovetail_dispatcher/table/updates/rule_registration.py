"""Sets how an operator is differentiated, fused and batched, and what a class does in place of its
``__torch_dispatch__``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dovetail_kernel import DispatchKey

from .. import registry
from ..batching_rule import BatchingRule
from ..derivative_formula import Formula, PythonFormula
from ..fusion import Fusion
from ..kernels import FORMULA, Kernel
from ..operator import Operator
from ..setting import Setting
from .changes import Change, make
from .redefinition import take_out


def set_derivative_formula(
    name: str, overload: str, formula: PythonFormula, owner: list[Change]
) -> RegisteredDerivative:
    """Set how to differentiate an operator, for `owner`, over the formula before and the kernels at
    Autograd.
    """
    with registry.lock:
        op = registry.find_or_throw(name, overload)
        change = RegisteredDerivative(op, formula)
        make(change, owner)
        return change


def set_derivative_formulas(formulas: Iterable[Formula], owner: list[Change]) -> None:
    """Set the formulas of a generated table, for `owner`; each names its operator."""
    with registry.lock:
        settings = []
        for formula in formulas:
            name, _, overload = formula.operator.partition(".")
            settings.append(Setting(registry.find_or_throw(name, overload), "formula", formula))
        make(DerivativeChange(settings), owner)


def set_fusions(fusions: Iterable[Fusion], owner: list[Change]) -> None:
    """Register composites that are computed and recorded as one call, for `owner`."""
    with registry.lock:
        for fusion in fusions:
            make(FusionChange(fusion), owner)


def set_batching_rule(
    name: str, overload: str, rule: BatchingRule, owner: list[Change]
) -> BatchingChange:
    """Register a rule to call an operator on batched tensors, for `owner`; it overrides an earlier
    rule.
    """
    with registry.lock:
        op = registry.find_or_throw(name, overload)
        change = BatchingChange(Setting(op, "batching_rule", rule))
        make(change, owner)
        return change


def set_torch_dispatch_rule(
    name: str, overload: str, cls: type, rule: Callable[..., object], owner: list[Change]
) -> None:
    """Let `rule` run an operator in place of the ``__torch_dispatch__`` of `cls`, a mode or a
    Tensor subclass, for `owner`. Raises RuntimeError if the operator, which may be defined later,
    has a rule for `cls` already.
    """
    with registry.lock:
        op = registry.find_or_add(name, overload)
        if cls in op.torch_dispatch_rules:
            raise RuntimeError(
                f"{cls.__qualname__} already has a `__torch_dispatch__` rule registered for "
                f"{op.qualified_name}. Destroy the library that registered it first."
            )
        make(TorchDispatchChange(op, cls, rule), owner)


class DerivativeChange(Change):
    """Derivative formulas of operators, of which routes are composed."""

    __slots__ = ("_settings",)

    def __init__(self, settings: Sequence[Setting]) -> None:
        self._settings = settings

    def apply(self) -> None:
        """Put the formulas in force."""
        with registry.changing(setting.op for setting in self._settings):
            for setting in self._settings:
                setting.put()

    def take_out(self) -> None:
        """Bring the formulas before back."""
        with registry.changing(setting.op for setting in self._settings):
            for setting in self._settings:
                setting.take_out()


class RegisteredDerivative(Change):
    """A derivative that a user registers: a formula, and the kernel at Autograd that stands for it.

    It is the newest kernel there, until another one is registered.
    """

    __slots__ = ("_kernel", "_setting")

    def __init__(self, op: Operator, formula: PythonFormula) -> None:
        self._setting = Setting(op, "formula", formula)
        self._kernel = _derivative_kernel(formula)

    def apply(self) -> None:
        """Put the formula in force."""
        op = self._setting.op
        with registry.changing([op]):
            op.kernels.setdefault(self._kernel.key, []).insert(0, self._kernel)
            self._setting.put()

    def exchange(self, formula: PythonFormula) -> bool:
        """Put another formula in place of this one, beneath what has been registered since;
        return whether it is there.
        """
        op, kernel = self._setting.op, _derivative_kernel(formula)
        with registry.lock, registry.changing([op]):
            if not op.exchange_kernel(self._kernel, kernel):
                return False
            self._kernel = kernel
            return self._setting.exchange(formula)

    def take_out(self) -> None:
        """Bring the formula before back."""
        op = self._setting.op
        with registry.changing([op]):
            take_out(op, [self._kernel])
            self._setting.take_out()
        registry.drop_if_empty(op)


def _derivative_kernel(formula: PythonFormula) -> Kernel:
    return Kernel(formula.backward, DispatchKey.Autograd, FORMULA, formula.where)


class FusionChange(Change):
    """The fusion of a composite, whose routes depend on the operators that it calls too."""

    __slots__ = ("_parts", "_setting")

    def __init__(self, fusion: Fusion) -> None:
        composite = registry.find_or_throw(fusion.operator)
        self._setting = Setting(composite, "fusion", fusion)
        self._parts = [registry.find_or_throw(part) for part in (fusion.inner, fusion.outer)]

    def apply(self) -> None:
        """Fuse the composite."""
        composite = self._setting.op
        with registry.changing([composite]):
            self._setting.put()
            for part in self._parts:
                part.fused_in += (composite,)

    def take_out(self) -> None:
        """Let the composite call its operators again."""
        composite = self._setting.op
        with registry.changing([composite]):
            for part in self._parts:
                for layer in part.layers():
                    layer.fused_in = tuple(op for op in layer.fused_in if op is not composite)
            self._setting.take_out()


class BatchingChange(Change):
    """A batching rule. No route is composed of it: it is looked up by the call."""

    __slots__ = ("_setting",)

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def apply(self) -> None:
        """Put the rule in force."""
        self._setting.put()

    def exchange(self, rule: BatchingRule) -> bool:
        """Put another rule in place of this one, beneath what has been registered since;
        return whether it is there.
        """
        with registry.lock:
            return self._setting.exchange(rule)

    def take_out(self) -> None:
        """Bring the rule before back."""
        self._setting.take_out()


class TorchDispatchChange(Change):
    """What a class does with an operator. No route is composed of it: it is looked up by the
    call.
    """

    __slots__ = ("_cls", "_op", "_rule")

    def __init__(self, op: Operator, cls: type, rule: Callable[..., object]) -> None:
        self._op = op
        self._cls = cls
        self._rule = rule

    def apply(self) -> None:
        """Put the rule in force."""
        self._op.torch_dispatch_rules[self._cls] = self._rule

    def take_out(self) -> None:
        """Take the rule out, wherever it lies by now."""
        for layer in self._op.layers():
            if layer.torch_dispatch_rules.get(self._cls) is self._rule:
                del layer.torch_dispatch_rules[self._cls]
        registry.drop_if_empty(self._op)
