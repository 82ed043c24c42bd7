from .one_call import Choice, ChosenFit, choose, fit

__all__ = ["Choice", "ChosenFit", "choose", "fit"]
