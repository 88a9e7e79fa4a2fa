"""How a route calls an array function, and by the number of elements which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add
from typing import Any, NamedTuple

from ..types.dtype import dtype


class BySize(NamedTuple):
    """Pair of functions; the number of elements of the first tensor decides which one a route
    calls.

    Attributes
    ----------
    few
        The function for fewer than `least`.
    many
        The function for more elements.
    writes
        Whether it is also better with ``out=``, which writes into an existing array.
    note
        The condition of each function, for `explain`; empty if the functions differ only in speed.
    """

    few: Callable[..., Any]
    least: int
    many: Callable[..., Any]
    writes: bool = False
    note: str = ""


class CallSpec(NamedTuple):
    """How a route calls an array function.

    Attributes
    ----------
    function
        The function that is called.
    warns
        Whether it needs the quiet error state.
    least, many
        From how many elements on another function is called, and which; None: there is no other.
    note
        The condition of each function, for `explain`; empty if the functions differ only in speed.
    ordered
        What is called for arrays that are not all in C order; None: nothing else.
    """

    function: Callable[..., Any]
    warns: bool = False
    least: int = 0
    many: Callable[..., Any] | None = None
    note: str = ""
    ordered: Callable[..., Any] | None = None


class PlanFacts(NamedTuple):
    """What a plan knows of the arrays that its kernel is given.

    Attributes
    ----------
    dtype
        Their dtype, if the route is for those of one.
    computes
        Whether the kernel computes: not if it only shows or makes arrays, which has nothing to warn
        of.
    counts
        Whether there is an array whose elements can be counted.
    joins
        Whether the kernel is of an elementwise operator and given several arrays.
    """

    dtype: dtype | None = None
    computes: bool = True
    counts: bool = True
    joins: bool = False


class Lowering:
    """The part of a backend that plans ask: how array functions are called.

    Attributes
    ----------
    error_state
        ``(get, set, reset, quiet)`` of a context variable under whose value `quiet` the library
        does not warn of overflow, division by zero or NaN, which are results here. None where it
        never warns. Routes and the engine set it around whatever is not a single array function.
    has_flags
        Whether arrays have ``flags.c_contiguous``, as NumPy's do. Default: False.
    """

    has_flags: bool = False
    error_state: (
        tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any], Any] | None
    ) = None

    def addition(self) -> Callable[[Any, Any], Any]:
        """Return what adds two arrays of a shape and dtype, such as gradients that meet."""
        return add

    def may_warn(self, function: Callable[..., object]) -> bool:
        """Return whether a call of `function` needs the quiet error state; what warns in its
        caller's name does not.
        """
        return self.error_state is not None

    def compiled(self, operator: str, reference: Callable[..., object]) -> Callable[..., Any]:
        """Return the compiled kernel of an operator, or its reference if there is none."""
        return reference

    def rounded_once(self, function: Callable[..., object]) -> Callable[..., Any] | None:
        """Return what computes an array function of half precision in single precision and rounds
        its result once, where operands may be numbers of single precision; None: nothing does.
        """
        return None

    def by_size(self, function: Callable[..., object], dtype: dtype | None) -> BySize | None:
        """Return what a route calls in place of an array function, by the number of elements;
        None: always the function. A backend whose library computes in one thread may share large
        arrays among several, or have something faster for few elements.

        Parameters
        ----------
        function
            An array function.
        dtype
            Of the arrays that it is given, if the route is for those of one dtype.
        """
        return None

    def in_order(self, function: Callable[..., object]) -> Callable[..., Any]:
        """Return an elementwise array function of several arrays whose result lies in memory in the
        order of these that PyTorch gives it: `function` itself if it lays results out.
        """
        return function

    def lower(
        self, kernel: Mapping[str, Callable[..., object]], facts: PlanFacts
    ) -> dict[str, CallSpec]:
        """Return how a route calls the functions of an array kernel: the one question that a plan
        asks of the backend.

        Parameters
        ----------
        kernel
            The functions that the route calls, by their roles: ``kernel``, ``fast_path``,
            ``out_function`` and ``general_out_function``. The last two write into an array that
            there is, ``out=``.
        facts
            What is known of the arrays.

        Returns
        -------
        dict
            How each is called, by its role.
        """
        specs = {}
        for role, function in kernel.items():
            if not facts.computes:
                specs[role] = CallSpec(function)
                continue
            found = self.by_size(function, facts.dtype) if facts.counts else None
            writes = role.endswith("out_function")
            if found is None or (writes and not found.writes):
                spec = CallSpec(function, self.may_warn(function))
            else:
                few, least, many, _, note = found
                spec = CallSpec(few, self.may_warn(few), least, many, note)
            if facts.joins and not writes:
                ordered = self.in_order(spec.function)
                if spec.many is not None:
                    spec = spec._replace(many=self.in_order(spec.many))
                if not self.has_flags:
                    spec = spec._replace(function=ordered)
                elif ordered is not spec.function:
                    spec = spec._replace(ordered=ordered)
            specs[role] = spec
        return specs
