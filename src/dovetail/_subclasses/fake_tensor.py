"""Whether a tensor stands for one without data, as ``torch._subclasses.fake_tensor`` is asked."""

__all__ = ["active_fake_mode", "is_fake"]


def active_fake_mode() -> None:
    """Return None: no mode of fake tensors is active."""


def is_fake(x: object) -> bool:
    """Return False: tensors without data are on the device ``meta``, as they are in PyTorch, which
    does not call these fake.
    """
    return False
