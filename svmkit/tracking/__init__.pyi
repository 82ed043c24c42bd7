from .interface import TRACKER, Tracker, tracker
from .record import METRICS, RunRecord, params, scalars, tags

__all__ = ["METRICS", "TRACKER", "RunRecord", "Tracker", "params", "scalars", "tags", "tracker"]
