"""How a route calls an array function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import add
from typing import Any, NamedTuple


class CallSpec(NamedTuple):
    """How a route calls an array function.

    Attributes
    ----------
    function
        The function that is called.
    warns
        Whether it needs the quiet error state.
    ordered
        What is called for arrays that are not all in C order; None: nothing else.
    """

    function: Callable[..., Any]
    warns: bool = False
    ordered: Callable[..., Any] | None = None


class PlanFacts(NamedTuple):
    """What a plan knows of the arrays that its kernel is given.

    Attributes
    ----------
    computes
        Whether the kernel computes: not if it only shows or makes arrays, which has nothing to warn
        of.
    joins
        Whether the kernel is of an elementwise operator and given several arrays.
    """

    computes: bool = True
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
            spec = CallSpec(function, self.may_warn(function))
            if facts.joins and not role.endswith("out_function"):
                ordered = self.in_order(function)
                if not self.has_flags:
                    spec = spec._replace(function=ordered)
                elif ordered is not function:
                    spec = spec._replace(ordered=ordered)
            specs[role] = spec
        return specs
