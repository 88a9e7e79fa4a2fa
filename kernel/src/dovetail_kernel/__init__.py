"""The microkernel of Dovetail: tensors without operators, dispatch keys and state, and the plugin
manager.
"""

from .old_places import forward_old_places
from .plugins.manager import plugin_manager as plugin_manager  # devices ask it for their backends
from .stubs import attach_stub
from .types.dtype import bool_ as bool  # noqa: F401 - a name of the stub

__getattr__ = attach_stub(
    __name__, publishes=True, pickled="rebuild_backend rebuild_key_set rebuild_named"
)

forward_old_places(__name__, f"{__name__}.old_places")
