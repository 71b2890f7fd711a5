"""Where rows are and how they are read, checked, ranked and drawn."""

from modeseek.rows.rounding import Rounding, RoundingWarning

__all__ = ["Rounding", "RoundingWarning"]
