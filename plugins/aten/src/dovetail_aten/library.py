"""Loads the base library into the operator table: the operators on import, what stands on them by
`load`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dovetail_dispatcher import Kernel
from dovetail_dispatcher.sockets import (
    BASE_OPERATORS,
    BATCHING_RULES,
    PROMOTION,
    VIEW_MAKER,
    BaseOperators,
)
from dovetail_dispatcher.table import (
    TENSOR,
    FormulaOfModule,
    add_kernels,
    define_many,
    place_of_definition,
    registry,
    set_derivative_formulas,
    set_fusions,
)
from dovetail_dispatcher.testing import register_op_infos
from dovetail_kernel import DispatchKey, plugin_manager

from ._generated.registrations import COMPOSITES, OPERATORS, OUTS_OF_COMPOSITES
from .promotion import rules
from .templates.arithmetic import ARITHMETIC, SERVING_NUMBERS

if TYPE_CHECKING:
    from dovetail_dispatcher.testing import OpInfo

DECLARATIONS = f"{__file__.removesuffix('library.py')}families"
"""Folder of the files that the rows of `OPERATORS` name."""

ABOVE_GRADIENTS = (
    ("aten::resize_", "dovetail_aten.families.views.composites.memory", "resize_of_variable"),
)
"""Operators with a kernel of their own at Autograd: no formula says what they do there."""

_NOT_IMPORTED: Any = None
_loaded = False


def load() -> None:
    """Register, once, what stands on the definitions: composite kernels, the choice of backends,
    formulas.
    """
    global _loaded
    if _loaded:
        return
    from .backend import backend_select, undeclared_operators
    from .backend.outs_of_composites import OutOfComposite

    outs = [qualified.partition(".") for qualified in OUTS_OF_COMPOSITES]
    add_kernels(
        [
            *_composites(COMPOSITES),
            *_composites([(base, "Autograd", *where) for base, *where in ABOVE_GRADIENTS]),
            *[
                (base, overload, OutOfComposite(registry.find_or_throw(base, overload)))
                for base, _, overload in outs
            ],
        ],
        [],
    )
    backend_select.register(OPERATORS, COMPOSITES)
    undeclared_operators.register()
    _set_formulas()
    BATCHING_RULES.add(_load_batching_rules)
    register_op_infos("aten", _op_infos)
    VIEW_MAKER.fill(_replayed_view)
    _loaded = True


def _composites(rows: Iterable[Sequence[str]]) -> Iterator[tuple[str, str, Composite]]:
    """Yield the kernels of a table of composites; a selective build leaves operators out."""
    for qualified, key, module, name in rows:
        base, _, overload = qualified.partition(".")
        op = registry.find(base, overload)
        if op is not None and op.is_defined:
            place = place_of_definition(op)
            yield base, overload, Composite(module, name, DispatchKey[key], place)


class Composite(Kernel):
    """A kernel whose function is imported when an operator that has it is first called."""

    __slots__ = ("_function", "_module", "_name")

    returns_by_schema = True

    def __init__(
        self, module: str, name: str, key: DispatchKey, location: Callable[[], str]
    ) -> None:
        self._module = module
        self._name = name
        self._function: Any = None
        super().__init__(_NOT_IMPORTED, key, TENSOR, location, plugin=plugin_manager.loading())

    @property
    def fn(self) -> Callable[..., Any]:
        """The composite function."""
        if self._function is None:
            self._function = getattr(import_module(self._module), self._name)
        function: Callable[..., Any] = self._function
        return function

    @fn.setter
    def fn(self, function: Callable[..., object] | None) -> None:
        self._function = function


def _load_batching_rules() -> None:
    from .batching import registration

    registration.register()


def _replayed_view(*description: Any) -> Any:
    from .composites.replayed_views import ReplayedView

    return ReplayedView(*description)


def _op_infos() -> list[OpInfo]:
    found: list[OpInfo] = plugin_manager.load_module("testing").op_infos()
    return found


def _set_formulas() -> None:
    from ._generated import derivatives
    from .fusions import FUSIONS

    formulas = [
        FormulaOfModule(name, f"{derivatives.__name__}.{family}")
        for family, names in derivatives.OPERATORS.items()
        for name in names
    ]
    set_derivative_formulas(formulas, [])
    known = {name for names in derivatives.OPERATORS.values() for name in names}
    # A selective build has those of its operators, or none at all without derivatives.
    fusions = [
        fusion
        for fusion in FUSIONS
        if fusion.operator not in registry.left_out and {fusion.inner, fusion.outer} <= known
    ]
    set_fusions(fusions, [])


def _in_place_too(names: Iterable[str]) -> frozenset[str]:
    return frozenset([f"aten::{name}{suffix}" for name in names for suffix in ("", "_")])


define_many(OPERATORS, DECLARATIONS)
PROMOTION.fill(rules)
BASE_OPERATORS.fill(
    BaseOperators(
        namespace="aten",
        arithmetic=_in_place_too(ARITHMETIC),
        serving_numbers=_in_place_too(SERVING_NUMBERS),
        copy="aten::copy_",
        detach="aten::detach",
        clone="aten::clone",
        ones_like="aten::ones_like",
        convert="aten::_to_copy",
        move="aten::to.dtype_layout",
        empty_strided="aten::empty_strided",
        strided_views=frozenset({"aten::as_strided"}),
        sharing=frozenset(
            {"aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_split_with_sizes"}
        ),
    )
)
