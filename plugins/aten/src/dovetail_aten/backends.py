"""The tools to create backends, for plugins and for ``dovetail.backends``. Programs that only use
tensors do not import them.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
