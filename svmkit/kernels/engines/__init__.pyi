from .choice import engine_for, requested
from .contract import ALL, PANEL, Engine, with_int32_indices

__all__ = ["ALL", "PANEL", "Engine", "engine_for", "requested", "with_int32_indices"]
