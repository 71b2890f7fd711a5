"""The merge tree of modes: its cuts, the rule that cuts it by default, its layout."""

from modeseek.tree.merge_tree import MergeTree

__all__ = ["MergeTree"]
