"""Anomaly mode: backward reports the forward call whose gradient is NaN or raised, as in
``torch.autograd.anomaly_mode``.
"""

from dovetail_autograd import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
