"""Rows on a Dask cluster: what users call."""

from modeseek.rows.dask import connect

__all__ = ["connect"]
