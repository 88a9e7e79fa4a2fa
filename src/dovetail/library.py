"""The tools of authors of op libraries, as ``torch.library``: definitions, kernels, derivatives,
and parts of plugins.
"""

from dovetail_dispatcher import (
    CustomOpDef,
    Library,
    OpCheckError,
    PendingKernel,
    SchemaError,
    Tag,
    _scoped_library,
    check_pending,
    custom_op,
    define,
    dispatch_table,
    fallthrough_kernel,
    get_ctx,
    get_kernel,
    impl,
    impl_abstract,
    infer_schema,
    opcheck,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from dovetail_dispatcher.testing import register_op_infos
from dovetail_kernel import BackendSpec, hookimpl, plugin_manager

__all__ = [
    "BackendSpec",
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "PendingKernel",
    "SchemaError",
    "Tag",
    "_scoped_library",
    "check_pending",
    "custom_op",
    "define",
    "dispatch_table",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "hookimpl",
    "impl",
    "impl_abstract",
    "infer_schema",
    "load",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_op_infos",
    "register_torch_dispatch",
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
