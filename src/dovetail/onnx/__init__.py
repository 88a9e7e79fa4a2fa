"""Names of ``torch.onnx`` that programs use at run time; export is not supported."""

import typing as _typing

from ..names.missing import serve_names as _serve_names

__all__ = ["is_in_onnx_export", "register_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """Return False: a graph cannot be exported."""
    return False


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: _typing.Any, opset_version: int
) -> None:
    """Do nothing: export is not supported."""


_serve_names(
    __name__,
    ("symbolic_helper",),
    remedy="A graph cannot be exported. Save the state_dict with dovetail.save.",
)
