"""Derivatives checked, and derivatives as functions: `gradcheck`, and products with Jacobians and
Hessians of ``autograd.functional``, which is public as `checking.functional`.

May import every other room. Nothing here is imported before it is used.
"""
