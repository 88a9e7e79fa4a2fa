"""Operator: one overload in the operator table, with everything that is registered for it now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from dovetail_kernel import DispatchKey

from ..schema import FunctionSchema, parse_schema
from ..sockets import OVERLOAD_FACTORY
from .batching_rule import BatchingRule
from .derivative_formula import Formula, PythonFormula
from .fusion import Fusion
from .kernels import ARRAY, FORMULA, Kernel
from .setting import Setting


class Defined(Protocol):
    """What made a definition."""

    def place_of(self, op: Operator) -> str:
        """Return ``file:line`` of the definition of `op`."""


class Operator:
    """One overload of one operator. It exists from its first definition or kernel on, whichever
    comes first.

    Attributes
    ----------
    name
        Qualified name without overload, ``"aten::add"``.
    overload
        ``"Tensor"``; ``""`` for the default overload.
    kernels
        Live kernels by key, newest first.
    routes, redispatch_routes
        Composed callables by call key, and for redispatch by key set and call key. Cleared in place
        whenever anything that they were composed from changes.
    redispatch_entries
        The functions behind `OpOverload.redispatch`, by key set.
    formula
        How to differentiate, or None.
    batching_rule
        How to call the operator on batched tensors, or None.
    kind, promotion, promote
        Shape and dtype rules: what kind of operator it is, the dtype that a pointwise one computes
        in, and the names of the arguments that take part in finding it.
    refuses
        Kinds of dtypes that no kernel of it computes in: ``"bool"``, ``"int"``, ``"float"``,
        ``"complex"``; ``"wide_unsigned"``: uint16, uint32 and uint64; or ``"any_bool"``, if not
        even one of its operands may be bool. Of an out variant also what it does not write:
        ``"shared_out"``, which shares memory with an operand, ``"partial_out"``, a part of it,
        ``"other_out"``, of another dtype than the result; ``"typed_out"``: by a TypeError.
    half
        What is not rounded to half precision before its result: nothing, ``""``; ``"number"``: a
        number, or an operand of another dtype; ``"single"``: all, so that it computes in float32.
    tags
        Tags of the definition.
    variant_of, variants
        An in-place or ``out=`` variant uses the array kernels and the formula of the functional
        operator.
    torch_dispatch_rules
        By a mode or Tensor subclass, what runs this operator in place of its
        ``__torch_dispatch__``: ``rule(mode_or_class, func, types, args, kwargs)``.
    definition
        The change that made the definition in force, which knows where that was made, and takes
        back only that; None before it.
    covered
        What an overriding definition has put aside, the latest last: all that was registered until
        then.
    settings
        By attribute (``"formula"``), the live values of those that a registration sets over what
        was set before; the last is the one in force.
    """

    __slots__ = (
        "__weakref__",
        "_handle",
        "_schema",
        "_schema_text",
        "batching_rule",
        "callers",
        "covered",
        "definition",
        "formula",
        "fused_in",
        "fusion",
        "half",
        "kernels",
        "kind",
        "name",
        "overload",
        "promote",
        "promotion",
        "redispatch_entries",
        "redispatch_routes",
        "refuses",
        "routes",
        "settings",
        "tags",
        "torch_dispatch_rules",
        "variant_of",
        "variants",
    )

    def __init__(self, name: str, overload: str) -> None:
        self.name = name
        self.overload = overload
        self.kernels: dict[DispatchKey, list[Kernel]] = {}
        self.routes: dict[int, Callable[..., Any]] = {}
        self.redispatch_routes: dict[Any, dict[int, Callable[..., Any]]] = {}
        self.redispatch_entries: dict[Any, Callable[..., Any]] = {}
        self.formula: Formula | PythonFormula | None = None
        self.fusion: Fusion | None = None
        self.fused_in: tuple[Operator, ...] = ()
        self.callers: tuple[Operator, ...] = ()  # whose routes hold plans of this one
        self.batching_rule: BatchingRule | None = None
        self.kind = "other"
        self.promotion = "none"
        self.promote: tuple[str, ...] = ()
        self.refuses: tuple[str, ...] = ()
        self.half = ""
        self.tags: Sequence[Any] = ()
        self.torch_dispatch_rules: dict[type, Callable[..., Any]] = {}
        self.definition: Defined | None = None
        self.variant_of: Operator | None = None
        self.variants: tuple[Operator, ...] = ()
        self.covered: tuple[CoveredDefinition, ...] = ()
        self.settings: dict[str, list[Setting]] = {}
        self._handle: Any = None
        self._schema: FunctionSchema | None = None
        self._schema_text: str | None = None

    def define(self, schema: FunctionSchema | str, definition: Defined) -> None:
        """Give the operator its schema; a text is parsed when first looked at."""
        self.definition = definition
        if isinstance(schema, str):
            self._schema_text = schema
            self._schema = None
        else:
            self._schema = schema

    def undefine(self) -> None:
        """Take back what was said of the operator by its definition, which is still noted as the
        one that is taken back.
        """
        self.forget_routes()
        # Entries of this definition keep the old dict, which stays empty, so that their calls are
        # bound anew.
        self.routes = {}
        self.redispatch_routes = {}
        self.redispatch_entries = {}
        self._schema = self._schema_text = self._handle = None
        self.formula = self.batching_rule = self.fusion = None
        self.settings = {}
        self._drop_derivative_kernels()
        self.kind, self.promotion, self.promote = "other", "none", ()
        self.refuses, self.half, self.tags = (), "", ()

    def _drop_derivative_kernels(self) -> None:
        stack = self.kernels.get(DispatchKey.Autograd, [])
        stack[:] = [kernel for kernel in stack if kernel.convention != FORMULA]
        if not stack:
            self.kernels.pop(DispatchKey.Autograd, None)

    def cover(self) -> None:
        """Put aside the definition and all that is registered, so that another definition can take
        its place.
        """
        self.forget_routes()
        self.covered = (*self.covered, CoveredDefinition(self))
        fresh = Operator(self.name, self.overload)
        for name in CoveredDefinition.__slots__:
            setattr(self, name, getattr(fresh, name))

    def uncover(self) -> None:
        """Bring back what was put aside last, beneath the kernels that others have registered
        since.
        """
        self.forget_routes()
        *others, beneath = self.covered
        remaining = tuple(others)
        beneath.take(self)
        self.kernels = beneath.kernels
        for name in _RESTORED_BEFORE:
            setattr(self, name, getattr(beneath, name))
        # By the definition it is known whether this was done; if interrupted it is done again.
        self.covered, self.definition = remaining, beneath.definition

    def drop_covered(self, dropped: CoveredDefinition) -> None:
        """Forget a covered definition; the kernels that others registered for it stay covered."""
        place = self.covered.index(dropped)
        fresh = Operator(self.name, self.overload)
        fresh.kernels, fresh.torch_dispatch_rules = dropped.kernels, dropped.torch_dispatch_rules
        fresh._drop_derivative_kernels()
        rest = CoveredDefinition(fresh)
        if place > 0:
            self.covered[place - 1].take(rest)
        kept = (rest,) if place == 0 else ()
        self.covered = (*self.covered[:place], *kept, *self.covered[place + 1 :])

    def layers(self) -> list[Operator | CoveredDefinition]:
        """Return this operator, with what is in force, and its covered definitions."""
        return [self, *self.covered]

    @property
    def is_defined(self) -> bool:
        """Whether the operator has a schema."""
        return self._schema is not None or self._schema_text is not None

    @property
    def defined_at(self) -> str | None:
        """``file:line`` of the definition in force; None if there is none."""
        return self.definition.place_of(self) if self.definition and self.is_defined else None

    @property
    def schema(self) -> FunctionSchema:
        """The parsed schema.

        Raises
        ------
        RuntimeError
            If kernels were registered but no definition, or it was taken back.
        """
        schema = self._schema
        if schema is None:
            if self._schema_text is None:
                # A definition noted or covered, and no schema: another thread is changing them.
                if not self.kernels or self.definition is not None or self.covered:
                    raise destroyed_error(self)
                raise RuntimeError(
                    f"Could not find schema for {self.qualified_name}. but we found an "
                    "implementation; did you forget "
                    "to def() the operator? Define it: Library.define(...)."
                )
            schema = self._schema = parse_schema(self._schema_text)
        return schema

    @property
    def namespace(self) -> str:
        """The part of the name before ``::``."""
        return self.name.partition("::")[0]

    @property
    def base_name(self) -> str:
        """The part of the name after ``::``."""
        return self.name.partition("::")[2]

    @property
    def qualified_name(self) -> str:
        """``"aten::add.Tensor"``; no suffix for the default overload."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @property
    def joins_tensors(self) -> bool:
        """Whether it is elementwise with several arguments; does not parse its schema."""
        return self.kind == "pointwise" and "," in (self._schema_text or str(self._schema))

    @property
    def handle(self) -> Any:
        """The `OpOverload` that users hold; one per operator."""
        if self._handle is None:
            self._handle = OVERLOAD_FACTORY.plug(self)
        return self._handle

    @property
    def is_registered(self) -> bool:
        """Whether it has a definition or kernels; a rule of a class may come before both."""
        return self.is_defined or bool(self.kernels or self.covered)

    @property
    def is_empty(self) -> bool:
        """Whether nothing keeps the operator in the table."""
        return not (self.is_registered or self.torch_dispatch_rules)

    @property
    def derivative(self) -> Formula | PythonFormula | None:
        """How to differentiate: its own formula, or for an in-place variant that of its functional
        operator.
        """
        functional = self.variant_of
        if (
            self.formula is not None
            or functional is None
            or not isinstance(functional.formula, Formula)
        ):
            return self.formula
        is_inplace = any([a.is_write and not a.kwarg_only for a in self.schema.arguments])
        return functional.formula if is_inplace else None

    def newest(self, key: DispatchKey) -> Kernel | None:
        """Return the kernel in force at exactly `key`, of those without a condition; a variant has
        the array kernels of its functional operator.
        """
        for kernel in self.kernels.get(key, ()):
            if kernel.when is None:
                return kernel
        if self.variant_of is not None:
            for kernel in self.variant_of.kernels.get(key, ()):
                if kernel.when is None and kernel.convention == ARRAY:
                    return kernel
        return None

    def exchange_kernel(self, old: Kernel, new: Kernel) -> bool:
        """Put `new` in place of `old`, wherever that lies; return whether it was there."""
        stacks = [layer.kernels.get(old.key, []) for layer in self.layers()]
        stack = next(iter([each for each in stacks if old in each]), None)
        if stack is None:
            return False
        stack[stack.index(old)] = new
        return True

    def forget_routes(self) -> None:
        """Drop every composed callable, in place: entries and methods hold the dict for ever."""
        self.routes.clear()
        if self.redispatch_routes:
            for routes in list(self.redispatch_routes.values()):
                routes.clear()
        for other in self.variants:
            other.forget_routes()
        for other in (*self.fused_in, *self.callers):
            other.forget_routes()

    def __repr__(self) -> str:
        return f"<operator {self.qualified_name}>"


class CoveredDefinition:
    """A definition that another one stands over, with its kernels, its derivative and its
    routes.
    """

    __slots__ = tuple(
        set(Operator.__slots__)
        - {"__weakref__", "callers", "covered", "name", "overload", "variant_of", "variants"}
    )

    definition: Defined | None
    fused_in: tuple[Operator, ...]
    kernels: dict[DispatchKey, list[Kernel]]
    settings: dict[str, list[Setting]]
    torch_dispatch_rules: dict[type, Callable[..., Any]]

    def __init__(self, op: Operator) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(op, name))

    def take(self, above: Operator | CoveredDefinition) -> None:
        """Put the kernels that were registered above over those here."""
        kernels = dict(self.kernels)
        for key, stack in above.kernels.items():
            below = kernels.get(key, [])
            kernels[key] = [*[kernel for kernel in stack if kernel not in below], *below]
        self.kernels = kernels


_RESTORED_BEFORE: Final = tuple(
    name for name in CoveredDefinition.__slots__ if name not in ("definition", "kernels")
)


def destroyed_error(op: Operator) -> RuntimeError:
    """Return the error of using an operator whose definition was taken back."""
    return RuntimeError(
        f"operator {op.qualified_name} is not defined any more: its library was destroyed. Look it "
        "up again, or define it."
    )
