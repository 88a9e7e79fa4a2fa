"""Whether calls are being traced to a graph, as ``torch.fx.experimental.proxy_tensor`` is asked."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """Return None: nothing is traced to a graph."""
