"""Time and memory by operator, as in ``torch.profiler``, based on the dispatcher's traces; there is
no overhead without an active profile.

::

    from dovetail.profiler import profile, record_function

    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("forward"):
            loss = model(x).sum()
        loss.backward()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("step.json")

May import only the distributions below dovetail.
"""

from ..names.stubs import attach_stub as _attach_stub


def kineto_available() -> bool:
    """Return True: `profile` is available, although it does not use Kineto."""
    return True


__getattr__ = _attach_stub(__name__)
