"""The table of customers that examples/churn.py writes, for tests."""

from churn import OPTIONS, churn, write_churn

__all__ = ["OPTIONS", "churn", "write_churn"]
