"""The plugin that the entry point names: it registers the library when
``dovetail.ops.activations`` is first touched.
"""

from dovetail.library import hookimpl


@hookimpl
def dovetail_load() -> None:
    """Register schemas, kernels, shape rules and derivatives."""
    from . import operators

    operators.register()
