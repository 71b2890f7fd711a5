"""Where rows are and how they are read, checked, ranked and drawn."""

from modeseek.rows.coordinates import Frame
from modeseek.rows.measurements import FeatureWarning
from modeseek.rows.rounding import Rounding, RoundingWarning

__all__ = ["FeatureWarning", "Frame", "Rounding", "RoundingWarning"]
