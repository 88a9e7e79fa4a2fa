"""Running a graph backwards: the engine with its two loops, over arrays and over tensors, the tasks
it runs, anomaly mode, `backward` and `grad`, and the attributes of tensors that are about them.

May import `recording` and `graph`. The transforms install what `grad` does with a batch of
gradients.
"""
