"""Composite kernels: operators written as calls of others, over tensors, so that they differentiate
by themselves. Those of one family lie in its folder; here is what several call.
"""
