"""Checks the kernels that libraries register."""

from __future__ import annotations

from dovetail_kernel import DispatchKey
from dovetail_kernel.errors import did_you_mean

from ..table import registry
from ..table.kernel_signatures import check_kernel
from ..table.kernels import Kernel, fallthrough_kernel
from ..table.operator import Operator
from .namespace_owners import is_owned


def check_registration(
    kernel: Kernel, op: Operator | None, qualified: str, *, allow_override: bool
) -> None:
    """Raise an error for a kernel that is invalid at its key, or does not match the schema.

    Parameters
    ----------
    kernel
        The kernel, with its key.
    op
        The operator in the table, if there is one.
    qualified
        The qualified name of the operator.
    allow_override
        Whether a kernel of another library may be covered.

    Raises
    ------
    RuntimeError
        For a Meta kernel of an unknown operator or of a composite, an override that is not
        allowed, or a condition at a key that is not a backend's.
    TypeError
        For a function whose parameters cannot fit.
    """
    if kernel.when is not None:
        _check_key_of_condition(kernel.key, qualified)
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


def check_condition(fn: object, when: object, why: str, qualified: str) -> None:
    """Raise an error for a condition without a description, a description without a condition, and
    a condition without a kernel.
    """
    if when is None and not why:
        return
    if not callable(when) or not why or not isinstance(why, str):
        raise TypeError(
            f"A kernel of {qualified} with a condition needs a predicate and its description, but "
            f"when={when!r} and why={why!r} were given. Write when=predicate, "
            "why='float32, contiguous'."
        )
    if fn is fallthrough_kernel:
        raise TypeError(
            f"fallthrough_kernel of {qualified} cannot have a condition: it passes over a key for "
            "every call. Register a kernel."
        )


def _check_key_of_condition(key: DispatchKey, qualified: str) -> None:
    """Raise an error for a condition at a key that is not that of a backend's kernels."""
    if key.functionality != "Dense" or key is DispatchKey.Meta:
        raise RuntimeError(
            f"A kernel of {qualified} cannot have a condition at {key.name}: the rules of "
            "transforms, shapes and composites hold for all calls alike. Register it at the key of "
            "a backend, such as CPU."
        )


def check_meta(op: Operator | None, qualified: str) -> None:
    """Raise an error for a Meta kernel of an operator that its library does not define, or that is
    a composite.

    That of a namespace which no library has waits, as other kernels do: the compiled part of a
    package, which has the definitions, could not be loaded.
    """
    if op is None or not op.is_registered:
        namespace = qualified.partition("::")[0]
        if not is_owned(namespace) and not registry.defines_in(namespace):
            return
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
    for old in op.kernels.get(kernel.key, []) if kernel.when is None else []:
        if old.when is not None:
            continue
        if not old.is_run_again_as(kernel) and not old.is_our_own:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {op.base_name}'s behavior for {kernel.key.name} dispatch key and "
                f"{op.namespace} namespace: registered at {old.origin}. Destroy that library "
                "first, or give allow_override=True."
            )
