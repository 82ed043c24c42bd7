from .interface import TRACKER, Tracker, tracker, tracker_name
from .record import METRICS, RunRecord, params, scalars, tags
from .recorder import Recorder

__all__ = [
    "METRICS",
    "TRACKER",
    "Recorder",
    "RunRecord",
    "Tracker",
    "params",
    "scalars",
    "tags",
    "tracker",
    "tracker_name",
]
