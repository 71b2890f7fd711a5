"""A fitted gradient as a field: climbing it, its modes, the saddles between them."""

from modeseek.field.climbing import Ascent
from modeseek.field.fields import (
    CommonField,
    KernelField,
    PotentialField,
    SeparateField,
)
from modeseek.field.landscape import BlurredLandscape, FieldLandscape
from modeseek.field.own import OwnField

__all__ = [
    "Ascent",
    "BlurredLandscape",
    "CommonField",
    "FieldLandscape",
    "KernelField",
    "OwnField",
    "PotentialField",
    "SeparateField",
]
