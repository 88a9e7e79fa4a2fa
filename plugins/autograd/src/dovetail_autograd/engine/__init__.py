"""Running a graph backwards: the engine and its tasks, anomaly mode, `backward` and `grad`.

May import `recording` and what lies below.
"""
