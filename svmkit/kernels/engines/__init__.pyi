from .choice import engine_for
from .contract import ALL, PANEL, Engine, StoredRows, with_int32_indices

__all__ = ["ALL", "PANEL", "Engine", "StoredRows", "engine_for", "with_int32_indices"]
