"""What programs ask of the engine: `backward`, the attributes of tensors, hooks and plans."""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
