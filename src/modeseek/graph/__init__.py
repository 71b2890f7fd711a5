"""The graph of rows: neighbours, heights, ways up from row to row."""

from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.row_graph import RowGraph

__all__ = ["GraphLandscape", "RowGraph"]
