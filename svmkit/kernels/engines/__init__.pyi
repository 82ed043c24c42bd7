from .choice import device_for, engine_for, on_device, request_engine, require_device
from .contract import ALL, PANEL, Engine, with_int32_indices

__all__ = [
    "ALL",
    "PANEL",
    "Engine",
    "device_for",
    "engine_for",
    "on_device",
    "request_engine",
    "require_device",
    "with_int32_indices",
]
