"""One step of an LSTM, and what is derived of it: all gates of a state in one call.

A loop writes one line: of several the compiler does not find out that they are apart.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from .collection import Collection


def add_recurrence(m: Any, loop: Collection) -> None:
    """Add the loops over the numbers of a module, `single` or `double`."""
    real, exp, expm1 = m.real, m.exp, m.expm1
    one, two, far = real(1), real(2), real(20)

    @njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
    def sigmoid(x):
        return one / (one + exp(-x))

    @njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
    def tanh(x):
        # Where it is 1, the power would be infinite at last.
        bounded = far if x > far else x
        e = expm1(bounded + bounded)
        return e / (e + two)

    @loop(">f2 >f2 >f2 f2 f2 f1 f2")
    def lstm_step(opened, cy, hy, given, products, bias, cx):
        size = cx.shape[1]
        for row in range(cx.shape[0]):
            out, own, other = opened[row], given[row], products[row]
            for start in range(0, 4 * size, size):
                line, a, b = out[start : start + size], own[start : start + size], other[start:]
                more = bias[start:]
                if start == 2 * size:
                    for j in range(size):
                        line[j] = tanh(a[j] + more[j] + b[j])
                else:
                    for j in range(size):
                        line[j] = sigmoid(a[j] + more[j] + b[j])
            entrance, kept = out[:size], out[size : 2 * size]
            new, exit = out[2 * size : 3 * size], out[3 * size :]
            before, cell, hidden = cx[row], cy[row], hy[row]
            for j in range(size):
                cell[j] = kept[j] * before[j] + entrance[j] * new[j]
            for j in range(size):
                hidden[j] = exit[j] * tanh(cell[j])

    @loop(">f2 >f2 f2 f2 f2 f2 f2 f2")
    def lstm_step_backward(made, to_cell, back, to_hidden, to_cells, opened, cells, cx):
        size = cx.shape[1]
        for row in range(cx.shape[0]):
            gates, out = opened[row], made[row]
            entrance, kept = gates[:size], gates[size : 2 * size]
            new, exit = gates[2 * size : 3 * size], gates[3 * size :]
            of_entrance, of_kept = out[:size], out[size : 2 * size]
            of_new, of_exit = out[2 * size : 3 * size], out[3 * size :]
            before, cell, carried = cx[row], cells[row], to_cell[row]
            hidden, more, own = back[row], to_hidden[row], to_cells[row]
            for j in range(size):
                of_exit[j] = tanh(cell[j])
            for j in range(size):
                slope = (hidden[j] + more[j]) * (exit[j] * (one - of_exit[j] * of_exit[j]))
                carried[j] = carried[j] + own[j] + slope
            for j in range(size):
                of_exit[j] = (hidden[j] + more[j]) * ((one - exit[j]) * exit[j] * of_exit[j])
            for j in range(size):
                of_entrance[j] = carried[j] * ((one - entrance[j]) * entrance[j] * new[j])
            for j in range(size):
                of_kept[j] = carried[j] * ((one - kept[j]) * kept[j] * before[j])
            for j in range(size):
                of_new[j] = carried[j] * ((one - new[j] * new[j]) * entrance[j])
            for j in range(size):
                carried[j] = carried[j] * kept[j]


__all__ = ["add_recurrence"]
