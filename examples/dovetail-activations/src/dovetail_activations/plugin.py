"""The plugin that the entry point names: it registers the library when
``dovetail.ops.activations`` is first touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.library import hookimpl, register_op_infos

if TYPE_CHECKING:
    from dovetail.testing import OpInfo


@hookimpl
def dovetail_load() -> None:
    """Register schemas, kernels, shape rules and derivatives, and say where the samples are."""
    from . import operators

    operators.register()
    register_op_infos("activations", load_op_infos)


def load_op_infos() -> list[OpInfo]:
    """Return the samples of the operators; they are imported when a test asks for them."""
    from .op_infos import op_infos

    return op_infos("activations")
