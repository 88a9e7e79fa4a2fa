"""The tools of authors of op libraries, as ``torch.library``: definitions, kernels, derivatives,
and parts of plugins.
"""

from dovetail_kernel import plugin_manager

from .names.stubs import attach_stub as _attach_stub


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


__getattr__ = _attach_stub(__name__)
