"""What authors of op libraries use, as ``torch.library``: definitions, kernels, derivatives, and parts of plugins."""

from dovetail_dispatcher import (
    CustomOpDef,
    Library,
    SchemaError,
    Tag,
    _scoped_library,
    custom_op,
    define,
    dispatch_table,
    fallthrough_kernel,
    impl,
    infer_schema,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from dovetail_kernel import BackendSpec, hookimpl, plugin_manager

__all__ = [
    "BackendSpec",
    "CustomOpDef",
    "Library",
    "SchemaError",
    "Tag",
    "_scoped_library",
    "custom_op",
    "define",
    "dispatch_table",
    "fallthrough_kernel",
    "hookimpl",
    "impl",
    "infer_schema",
    "load",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]


def load(namespace: str) -> None:
    """Load the installed library of `namespace`, as touching ``dovetail.ops.<namespace>`` does.

    Parameters
    ----------
    namespace
        The name of its entry point in the group ``dovetail.libraries``.

    Raises
    ------
    PluginError
        If nothing installed provides it, it is blocked, or it fails to load.
    """
    plugin_manager.load_library(namespace)
