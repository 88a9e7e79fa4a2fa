"""The class of tensors, and what makes, prints, indexes, converts and copies them.

May import the generated functions, `calling`, `meta` and what lies below.
"""
