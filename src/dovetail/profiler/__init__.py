"""Time and memory by operator, as ``torch.profiler``: over the traces of the dispatcher, which cost
nothing while none is on.

::

    from dovetail.profiler import profile, record_function

    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("forward"):
            loss = model(x).sum()
        loss.backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("step.json")

May import the packages below dovetail, and nothing of it.
"""

from ..names.stubs import attach_stub as _attach_stub


def kineto_available() -> bool:
    """Return True: `profile` is there. Calls are observed in Python, not by Kineto."""
    return True


__getattr__ = _attach_stub(__name__)
