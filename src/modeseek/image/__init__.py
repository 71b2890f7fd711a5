"""Photographs as rows: smoothing and segmentation."""

from modeseek.image.model import ImageModel
from modeseek.image.segmentation import fit, segment, smooth

__all__ = ["ImageModel", "fit", "segment", "smooth"]
