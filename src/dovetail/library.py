"""Tools for authors of operator libraries, as in ``torch.library``: definitions, kernels,
derivatives, and parts of plugins.
"""

from dovetail_kernel import plugin_manager

from .names.stubs import attach_stub as _attach_stub


def load(namespace: str) -> None:
    """Load the installed library of `namespace`, as access to ``dovetail.ops.<namespace>`` does.

    Parameters
    ----------
    namespace
        The name of its entry point in the group ``dovetail.libraries``.

    Raises
    ------
    PluginError
        If no installed package provides it, if it is blocked, or if it fails to load.
    """
    plugin_manager.load_library(namespace)


__getattr__ = _attach_stub(__name__)
