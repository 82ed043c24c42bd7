"""Evaluations of a model's predictions on some rows, one for each kind of answer; tasks name theirs."""
