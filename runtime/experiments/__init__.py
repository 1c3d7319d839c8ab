"""Experiments on one point of a thread, which never changes: which window is enough, which row makes the difference.

The same for the Studio and the command. Everything here is loaded when first used.

    subject = await runtime.subject(turn)                # or runtime.subject_on(thread, request): nothing is stored
    spec = SweepSpec(windows=(0, 2, 6, "all"), repeats=5, enough=read_enough(["contains: 5th"]), smallest=True)
    print((await announce(runtime, subject, spec)).sentence)            # what will be executed and sent where (X4)
    found = await run_sweep(runtime, subject, spec, progress=show)      # Sweep; `show` is given each state of it
    again = await open_sweep(runtime, found.id)                         # the same, from the store

    async def announce(runtime, subject, spec: SweepSpec | AblateSpec) -> Announcement
    async def run_sweep(runtime, subject, spec, *, progress: Callable[[Sweep], None] | None = None) -> Sweep
    async def extend_sweep(runtime, id, spec, *, progress=None) -> Sweep    # more windows, repeats, or the bisection
    async def judge_sweep(runtime, id, enough: Enough, marks: Marks | None = None) -> Sweep   # runs nothing
    async def open_sweep(runtime, id) -> Sweep
    async def run_ablation(runtime, subject, spec: AblateSpec, *, progress=None) -> Ablation
    async def open_ablation(runtime, id) -> Ablation                    # and judge_ablation, as above
    async def kept(runtime, *, thread: str | None = None, limit: int | None = None) -> list[Experiment]  # newest first
    async def make_fork(runtime, turn) -> str                           # a run on a view becomes a thread
    def sweep_json(sweep) / sweep_csv(sweep) / sweep_markdown(sweep); ablation_json / ablation_csv / ablation_markdown

Cancelling the task of `run_sweep`, `extend_sweep` or `run_ablation` stops it: runs under way settle `stopped` and are
not counted, what is done is kept under state `stopped`, `progress` is told so, and CancelledError is raised.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.experiments.ablate import judge_ablation as judge_ablation
    from runtime.experiments.ablate import open_ablation as open_ablation
    from runtime.experiments.ablate import run_ablation as run_ablation
    from runtime.experiments.announcing import announce as announce
    from runtime.experiments.enough import BY_HAND as BY_HAND
    from runtime.experiments.enough import SAME_AS_ALL as SAME_AS_ALL
    from runtime.experiments.enough import Enough as Enough
    from runtime.experiments.enough import Marks as Marks
    from runtime.experiments.enough import Predicate as Predicate
    from runtime.experiments.enough import passes as passes
    from runtime.experiments.enough import read_enough as read_enough
    from runtime.experiments.enough import read_predicate as read_predicate
    from runtime.experiments.export import ablation_csv as ablation_csv
    from runtime.experiments.export import ablation_json as ablation_json
    from runtime.experiments.export import ablation_markdown as ablation_markdown
    from runtime.experiments.export import sweep_csv as sweep_csv
    from runtime.experiments.export import sweep_json as sweep_json
    from runtime.experiments.export import sweep_markdown as sweep_markdown
    from runtime.experiments.fork import make_fork as make_fork
    from runtime.experiments.keep import kept as kept
    from runtime.experiments.results import AblateSpec as AblateSpec
    from runtime.experiments.results import Ablation as Ablation
    from runtime.experiments.results import Announcement as Announcement
    from runtime.experiments.results import Because as Because
    from runtime.experiments.results import BecauseRow as BecauseRow
    from runtime.experiments.results import Cell as Cell
    from runtime.experiments.results import Edge as Edge
    from runtime.experiments.results import Group as Group
    from runtime.experiments.results import Piece as Piece
    from runtime.experiments.results import Run as Run
    from runtime.experiments.results import Sweep as Sweep
    from runtime.experiments.results import SweepSpec as SweepSpec
    from runtime.experiments.results import Variant as Variant
    from runtime.experiments.results import WithoutPiece as WithoutPiece
    from runtime.experiments.sweep import extend_sweep as extend_sweep
    from runtime.experiments.sweep import judge_sweep as judge_sweep
    from runtime.experiments.sweep import open_sweep as open_sweep
    from runtime.experiments.sweep import run_sweep as run_sweep

_HOMES = {
    "ablate": ("judge_ablation", "open_ablation", "run_ablation"),
    "announcing": ("announce",),
    "enough": ("BY_HAND", "SAME_AS_ALL", "Enough", "Marks", "Predicate", "passes", "read_enough", "read_predicate"),
    "export": (
        "ablation_csv", "ablation_json", "ablation_markdown", "sweep_csv", "sweep_json", "sweep_markdown",
    ),
    "fork": ("make_fork",),
    "keep": ("kept",),
    "results": (
        "Ablation", "AblateSpec", "Announcement", "Because", "BecauseRow", "Cell", "Edge", "Group", "Piece", "Run",
        "Sweep", "SweepSpec", "Variant", "WithoutPiece",
    ),
    "sweep": ("extend_sweep", "judge_sweep", "open_sweep", "run_sweep"),
}  # fmt: skip

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = list(_HOME_OF)


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'runtime.experiments' has no attribute {name!r}")
    return getattr(import_module(f"runtime.experiments.{home}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
