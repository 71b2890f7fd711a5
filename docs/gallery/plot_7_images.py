"""
Photographs
===========

The pixels of an image are rows of colour and position. They climb to the modes of
their density; :func:`modeseek.image.smooth` paints them in the colour of their mode,
and :func:`modeseek.image.segment` joins those of a mode. Nothing is set: both widths
come from the image.
"""

import matplotlib.pyplot as plt
from skimage.data import astronaut
from skimage.segmentation import mark_boundaries

from modeseek import image

photo = astronaut()[::4, ::4]
model = image.fit(photo)
color, position = model.bandwidth
print(f"{len(model.mode_colors)} modes")
print(f"widths: {color:.1f} for colour (in Lab), {position:.0f} pixels for position")

# %%
# The image, smoothed with its edges kept, and the borders of its segments.
labels = model.segment()
panels = {
    "image": photo,
    "smoothed": model.smooth(),
    f"{labels.max() + 1} segments": mark_boundaries(photo, labels),
}
fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for ax, (title, shown) in zip(axes, panels.items(), strict=True):
    ax.imshow(shown)
    ax.set_title(title)
    ax.axis("off")

# %%
# Other levels cost no new climb: more segments, or a number of them.
levels = {"contrast=0.2": {"contrast": 0.2}, "n_segments=4": {"n_segments": 4}}
fig, axes = plt.subplots(1, 2, figsize=(6, 3.3), layout="constrained")
for ax, (title, level) in zip(axes, levels.items(), strict=True):
    ax.imshow(mark_boundaries(photo, model.segment(**level)))
    ax.set_title(title)
    ax.axis("off")
