"""The families of array kernels together: the table of all kernels for a namespace, and its
registration for a backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any, Final

from dovetail_dispatcher import Library
from dovetail_dispatcher.registration import supply_array_kernels
from dovetail_dispatcher.table import registry
from dovetail_kernel import parse_dispatch_key

from .._generated.array_kernels import FUNCTIONS, HELPERS, OPERATORS, PLACES
from ..typing import Namespace
from .capabilities import Capabilities
from .complete_namespace import Missing
from .family import Family
from .namespace_functions import define_namespace_functions
from .namespace_names import with_names
from .result_formats import in_result_format
from .table import ArrayKernel, Function, KernelTable

Define = Callable[[Any, KernelTable, Capabilities], None]
"""What defines kernels in a table: ``define(xp, kernel, capabilities)``, as `Family.define`."""

_ROOT: Final = f"{__package__.partition('.')[0]}.families"
_PLACES: Final = {f"{each.partition('.')[0]}.{each.rpartition('.')[2]}": each for each in PLACES}

FAMILIES: Final = tuple(_PLACES)
"""The families by the names that backends give them, and their classes: ``reductions.Scans``."""


def family_class(name: str) -> type[Family]:
    """Return the class of a name in `FAMILIES`, or of another package: ``package.module.Class``."""
    full = f"{_ROOT}.{_PLACES[name]}" if name in _PLACES else name
    module, _, cls = full.rpartition(".")
    found: type[Family] = getattr(import_module(module), cls)
    return found


def array_kernel_table(
    xp: Namespace,
    capabilities: Capabilities,
    more: Sequence[Define] = (),
    families: Mapping[str, str] | None = None,
    compiled: Callable[[str, Function], Function] | None = None,
) -> KernelTable:
    """Return the array kernels for an array namespace. A family is imported when one of its kernels
    is first looked up.

    Parameters
    ----------
    xp
        A namespace with NumPy's names, such as `numpy` or `cupy`.
    capabilities
        The functions of the backend that `xp` does not provide.
    more
        Functions ``define(xp, kernel, capabilities)`` that run afterwards; what they define takes
        the place of the generic kernel.
    families
        Classes in place of families from which they are derived:
        ``{"reductions.Scans": "package.module.FastScans"}``.
    compiled
        Returns the compiled kernel of an operator, or a helper, given its name and the kernel of
        its family.

    Raises
    ------
    ValueError
        For the place of a family that there is not.
    """
    places = families or {}
    if unknown := sorted(set(places).difference(FAMILIES)):
        raise ValueError(
            f"families: there is no family {', '.join(unknown)}. Take the names from "
            "dovetail.backends.families.FAMILIES."
        )
    table = KernelTable(capabilities.guard)
    define_namespace_functions(xp, table, capabilities)
    names = with_names(xp, undispatched=capabilities.plain_arrays, quick=capabilities.quick)
    for family in FAMILIES:
        made = _Family(places.get(family, family), names, capabilities, table, compiled)
        for name in OPERATORS.get(family, ()):
            function = FUNCTIONS.get(name)
            if function is None or not isinstance(getattr(names, function), Missing):
                table.kernels.declare(name, made.kernel)
        for name in HELPERS.get(family, ()):
            table.helpers.declare(name, made.helper)
    for define in more:
        define(xp, table, capabilities)
    return table


def expect_family(
    table: KernelTable,
    family: str,
    operators: Sequence[str],
    xp: Namespace,
    capabilities: Capabilities,
) -> None:
    """Let a table have kernels of a family of another package, for operators that no family here
    has kernels of: what a backend computes at once where others run a composite.

    Parameters
    ----------
    table
        Where the kernels are expected.
    family
        The class, which is imported when one of them is first looked up: ``package.module.Class``.
    operators
        What the class has kernels of.
    xp, capabilities
        What the class is made with.
    """
    names = with_names(xp, undispatched=capabilities.plain_arrays, quick=capabilities.quick)
    made = _Family(family, names, capabilities, table)
    for name in operators:
        table.kernels.declare(name, made.kernel)


class _Family:
    """A family whose module is imported when one of its kernels is first looked up; each kernel is
    completed when it is looked up itself.
    """

    def __init__(
        self,
        name: str,
        xp: Namespace,
        capabilities: Capabilities,
        table: KernelTable,
        compiled: Callable[[str, Function], Function] | None = None,
    ) -> None:
        self._name = name
        self._xp = xp
        self._capabilities = capabilities
        self._table = table
        self._compiled = compiled

    @cached_property
    def _made(self) -> KernelTable:
        made = KernelTable(self._capabilities.guard)
        family_class(self._name)(self._xp, self._capabilities, self._table).define_in(made)
        return made

    def kernel(self, name: str) -> ArrayKernel | None:
        """Return the kernel of an operator; None if the family defines none."""
        found = self._made.kernels.get(name)
        if found is None:
            return None
        fn = in_result_format(name, found.fn, self._xp, self._capabilities)
        out_function, fast_path = found.out_function, found.fast_path
        op = registry.find_qualified(f"aten::{name}")
        joins = op is not None and op.joins_tensors
        reference = self._capabilities.in_order(fn) if joins else fn
        compiled = reference if self._compiled is None else self._compiled(name, reference)
        if compiled is reference:
            return ArrayKernel(fn, fast_path, out_function, found.general_out_function)
        writes = found.general_out_function
        if getattr(compiled, "takes_out", False):
            writes = compiled
            if out_function is fn:  # the namespace's, whose bits may be others
                out_function = None
        # Only what is the namespace's is faster than compiled code.
        return ArrayKernel(
            compiled, fast_path if fast_path is out_function else None, out_function, writes
        )

    def helper(self, name: str) -> Function | None:
        """Return the function that derivative bodies call `name`; None if the family has none."""
        function = self._made.helpers.get(name)
        if function is not None and self._compiled is not None:
            function = self._compiled(name, function)
        return None if function is None else self._capabilities.guard(function, False)


def register_array_kernels(m: Library, table: KernelTable) -> None:
    """Register the array kernels of a table on ``Library("aten", "IMPL", "CPU")`` or that of
    another backend's key; those of operators that a selective build leaves out are not needed.
    """
    supplies: dict[str, Callable[[], ArrayKernel]] = {}
    for name in table.kernels:
        if f"aten::{name.partition('.')[0]}" in registry.left_out:
            continue
        if table.kernels.is_pending(name):
            supplies[name] = partial(table.kernels.__getitem__, name)
            continue
        kernel = table.kernels[name]
        m.array_impl(
            name,
            kernel.fn,
            fast_path=kernel.fast_path,
            out_function=kernel.out_function,
            general_out_function=kernel.general_out_function,
        )
    supply_array_kernels(m, parse_dispatch_key(m.dispatch_key), supplies)
