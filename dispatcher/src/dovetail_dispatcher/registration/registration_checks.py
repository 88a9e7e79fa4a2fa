"""Checks the kernels that libraries register."""

from __future__ import annotations

from dovetail_kernel import DispatchKey
from dovetail_kernel.errors import did_you_mean

from ..table import registry
from ..table.kernel_signatures import check_kernel
from ..table.kernels import Kernel
from ..table.operator import Operator


def check_registration(
    kernel: Kernel, op: Operator | None, qualified: str, *, allow_override: bool
) -> None:
    """Refuse a kernel that may not stand where it is to stand, or that does not fit the schema.

    Parameters
    ----------
    kernel
        The kernel, with its key.
    op
        The operator in the table, if there is one.
    qualified
        Its name.
    allow_override
        Whether a kernel of another library may be covered.

    Raises
    ------
    RuntimeError
        For a Meta kernel of an unknown operator or of a composite, or an override that is not
        allowed.
    TypeError
        For a function whose parameters cannot fit.
    """
    if kernel.key is DispatchKey.Meta:
        check_meta(op, qualified)
    if op is None:
        return
    if not kernel.is_our_own:  # for those that come with Dovetail no schema is parsed yet
        with registry.lock:  # another thread may be taking the definition back
            schema = op.schema if op.is_defined else None
        if schema is not None:
            check_kernel(kernel, schema, qualified)
    if not allow_override:
        _check_first(op, kernel)


def check_meta(op: Operator | None, qualified: str) -> None:
    """Refuse a Meta kernel of an operator that is not there, or that is a composite."""
    if op is None or not op.is_registered:
        raise RuntimeError(
            f"operator {qualified} does not exist.{did_you_mean(qualified, registry.operators)} "
            "Define it, or register another kernel, before its Meta kernel."
        )
    if op.newest(DispatchKey.CompositeImplicitAutograd):
        raise RuntimeError(
            f"We should not register a meta kernel directly to the operator '{qualified}', because "
            "it has a CompositeImplicitAutograd kernel in core. Instead we should let the operator "
            "decompose, and ensure that we have meta kernels for the base ops that it decomposes "
            "into."
        )


def _check_first(op: Operator, kernel: Kernel) -> None:
    """Refuse to override a library's kernel; those of Dovetail's own plugins may be overridden."""
    for old in op.kernels.get(kernel.key, []):
        if not old.is_run_again_as(kernel) and not old.is_our_own:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {op.base_name}'s behavior for {kernel.key.name} dispatch key and "
                f"{op.namespace} namespace: registered at {old.origin}. Destroy that library "
                "first, or give allow_override=True."
            )
