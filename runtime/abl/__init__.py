"""The language ABL: text to a frozen project, with diagnostics. ABL is not YAML, and nothing here runs an agent."""

from runtime.abl.compiler import compile_text
from runtime.abl.diagnostics import CODES, has_errors
from runtime.abl.history_setting import HistorySetting, InForce, default_setting, resolve
from runtime.abl.loader import check, load_project
from runtime.abl.project import AgentSource, Project, Route

__all__ = [
    "CODES",
    "AgentSource",
    "HistorySetting",
    "InForce",
    "Project",
    "Route",
    "check",
    "compile_text",
    "default_setting",
    "has_errors",
    "load_project",
    "resolve",
]
