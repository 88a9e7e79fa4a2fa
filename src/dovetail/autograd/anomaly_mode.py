"""Backward that names the call which made a NaN or raised, as ``torch.autograd.anomaly_mode``."""

from dovetail_autograd import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
