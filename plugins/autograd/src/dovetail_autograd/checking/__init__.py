"""Derivatives checked and derivatives as functions: `gradcheck`, and Jacobians and Hessians of
``autograd.functional``.

May import every other room.
"""
