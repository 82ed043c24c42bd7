"""The outer loop that drives every solver: steps, history, saved progress, limits, and the certificate at the end."""
