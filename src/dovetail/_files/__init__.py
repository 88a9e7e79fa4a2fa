"""How files are written: whole, or not at all."""

from .replacement import write_file, write_pieces, write_text

__all__ = ["write_file", "write_pieces", "write_text"]
