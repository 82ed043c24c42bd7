from .choice import asked_engine, device_for, engine_for, on_device, request_engine, require_device, solves_boxes
from .contract import ALL, PANEL, Engine, with_int32_indices

__all__ = [
    "ALL",
    "PANEL",
    "Engine",
    "asked_engine",
    "device_for",
    "engine_for",
    "on_device",
    "request_engine",
    "require_device",
    "solves_boxes",
    "with_int32_indices",
]
