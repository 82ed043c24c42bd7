from .choice import engine_for, request_engine
from .contract import ALL, PANEL, Engine, with_int32_indices

__all__ = ["ALL", "PANEL", "Engine", "engine_for", "request_engine", "with_int32_indices"]
