"""The operators' codes for reductions, by PyTorch's path: for losses written outside `nn`."""

from __future__ import annotations

from .functional_arguments import legacy_reduction, reduction_code, reduction_of_flags

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]


def get_enum(reduction: str) -> int:
    """Return 0 for ``"none"``, 1 for ``"mean"``, 2 for ``"sum"``.

    Raises
    ------
    ValueError
        For any other reduction.
    """
    return reduction_code(reduction)


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """Return the reduction that the deprecated flags mean.

    Parameters
    ----------
    size_average, reduce
        None is True.
    emit_warning
        Whether to say that they are deprecated.
    """
    meaning = legacy_reduction if emit_warning else reduction_of_flags
    return meaning(size_average, reduce)


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """Return the code of the reduction that the deprecated flags mean; see `legacy_get_string`."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
