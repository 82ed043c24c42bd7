"""Cutting-plane and bundle methods on the linear risk; found through entry points."""
