"""The formats of `report` by their names: a further one is a module and a row."""

from collections.abc import Mapping
from enum import StrEnum

from optimize_eval.cli.formats import csv, html, json_value, jsonl, junit, md, terminal
from optimize_eval.cli.formats.reported import ReportFormat


class FormatName(StrEnum):
    """What a report can be written as."""

    TERMINAL = "terminal"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    MD = "md"
    JUNIT = "junit"
    HTML = "html"


FORMATS: Mapping[FormatName, ReportFormat] = {
    FormatName.TERMINAL: terminal,
    FormatName.JSON: json_value,
    FormatName.CSV: csv,
    FormatName.JSONL: jsonl,
    FormatName.MD: md,
    FormatName.JUNIT: junit,
    FormatName.HTML: html,
}
