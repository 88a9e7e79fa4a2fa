"""What `DataLoader` is made of, by PyTorch's paths."""

from . import collate, worker

__all__ = ["collate", "worker"]
