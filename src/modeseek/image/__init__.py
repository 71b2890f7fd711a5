"""Photographs as rows: smoothing and segmentation."""

from modeseek.image.segmentation import ImageModel, fit, segment, smooth

__all__ = ["ImageModel", "fit", "segment", "smooth"]
