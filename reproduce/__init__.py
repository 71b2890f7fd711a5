"""The experiments of the paper, run again: ``python -m reproduce``.

One script for each experiment, over the public API of modeseek. ``runs`` remembers what
was computed, ``methods`` has all that is compared, ``page`` writes the index.
"""
