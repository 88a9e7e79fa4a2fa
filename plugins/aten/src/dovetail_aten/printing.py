"""Parts of the texts of tensors, for classes that print themselves."""

from .tensor.printing import contents_text, with_suffixes

__all__ = ["contents_text", "with_suffixes"]
