"""The class of tensors, and what makes, prints, indexes, converts and copies them.

May import `meta` and what lies below.
"""
