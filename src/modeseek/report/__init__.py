"""A clustering as one web page."""

from modeseek.report.page import write_report

__all__ = ["write_report"]
