"""What holds for every test and example: one terminal for all, and none that needs a package which is not installed."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent
NEEDS = {
    "src/spoofspan/integrations/frame_labels.py": ("torch",),
    "src/spoofspan/integrations/torch.py": ("torch", "torchmetrics"),
    "src/spoofspan/integrations/dask.py": ("dask", "distributed"),
    "src/spoofspan/integrations/pyannote.py": ("pyannote", "pyannote.core"),
    "src/spoofspan/integrations/hf_evaluate.py": ("datasets", "evaluate"),
    "docs/make_pictures.py": ("playwright",),
}
# Typer and Rich look at these when they are imported; so they are set before any test is.
TERMINAL = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"}
UNSET = """
    CLICOLOR CLICOLOR_FORCE COLORTERM FORCE_COLOR GITHUB_ACTIONS JUPYTER_COLUMNS JUPYTER_LINES NO_COLOR PY_COLORS
    TERMINAL_WIDTH TTY_COMPATIBLE TTY_INTERACTIVE
"""
os.environ.update(TERMINAL)
for name in UNSET.split():
    os.environ.pop(name, None)


def installed(package: str) -> bool:
    """Whether a package, or a part of one, can be imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def imports_missing_package(test: Path) -> bool:
    """Whether a file of tests imports, without asking, a package for tests that is not installed."""
    imported = re.findall(r"^(?:import|from) (jsonschema|matplotlib|pandas|sklearn)\b", test.read_text("utf-8"), re.M)
    return not all(map(installed, imported))


collect_ignore = [file for file, packages in NEEDS.items() if not all(map(installed, packages))]
collect_ignore += [str(test) for test in (ROOT / "tests").glob("test_*.py") if imports_missing_package(test)]
if not all(map(installed, ("torch", "transformers", "safetensors"))):
    modules = {one: one.read_text(encoding="utf-8") for one in (ROOT / "src" / "spoofspan" / "cm").glob("*.py")}
    needing = {one for one, text in modules.items() if "torch" in text}
    while more := {  # and what imports one of these
        one
        for one, text in modules.items()
        if one not in needing and any(f"spoofspan.cm.{other.stem} import" in text for other in needing)
    }:
        needing |= more
    collect_ignore += map(str, needing)


# `pytest -m quick`: the core and all that it is compared with. A test that is slow is not quick.
QUICK = """
    bits brute_force exactness oracles properties golden labelling order near_step score_runs point_labels thin_curve
    eer_state measures detection costs errors signature utterance uncertainty comparison jackknife per_utterance
    events event_measures decisions house mutants_bins mutants_curve mutants_large mutants_overlaying mutants_rules
"""
# Not these: more of the same, or whole commands.
NOT_QUICK = re.compile(
    r"under_every_rule\[[1-9]\]|reweighted_mass\[[1-9]\]|test_house.py::test_(results|the_demo)"
    r"|test_event_measures.py::test_(the_command_line|of_scores|without)|to_the_last_bit\[[1-9]\]"
)
QUICK_ROOMS = ("base", "data", "mass", "measures", "evaluation", "uncertainty")
QUICK_PLACES = [
    *(ROOT / "tests" / f"test_{name}.py" for name in QUICK.split()),
    *(ROOT / "src" / "spoofspan" / room for room in QUICK_ROOMS),
]
# What the README's command leaves to `.ci/run slow`: files and tests that take long, or need a large package.
SLOW = (
    "src/spoofspan/cm/",
    "src/spoofspan/integrations/",
    "tests/test_cm_card.py",
    "tests/test_cm_features.py",
    "tests/test_cm_frontends.py",
    "tests/test_cm_locate.py",
    "tests/test_cm_locate_page.py",
    "tests/test_cm_model.py",
    "tests/test_cm_model_sources.py",
    "tests/test_cm_official.py",
    "tests/test_cm_scoring.py",
    "tests/test_cm_strangers.py",
    "tests/test_cm_training.py",
    "tests/test_corpus_audit.py",
    "tests/test_corpus_channel.py",
    "tests/test_dask.py",
    "tests/test_experiment.py",
    "tests/test_abort_at_exit.py",
    "tests/test_kill.py",
    "tests/test_pickles.py::test_packed_bombs_stay_within_the_memory_limit",
    "tests/test_progress.py::test_quiet_and_stdout_of_the_command",
    "tests/test_house.py::test_results_do_not_depend_on_the_terminal",
    "tests/test_jobs.py::test_the_command_line_prints_the_same_with_jobs",
    "tests/test_jobs.py::test_a_script_without_a_guard_is_told_of_it",
    "tests/test_house.py::test_the_demo_says_the_same_in_lines_of_any_length",
    "tests/test_demo.py::test_the_lines_for_own_data_run",
    "tests/test_demo.py::test_every_command_of_the_written_readme_works",
    "tests/test_demo.py::test_the_console_script_runs_in_a_dumb_ascii_terminal",
    "tests/test_figures.py::test_text_stays_text_and_equal_figures_are_equal_files",
    "tests/test_challenge.py::test_the_scoring_program_refuses_with_every_problem",
    "tests/test_challenge.py::test_a_phase_counts_some_utterances",
    "tests/test_challenge.py::test_a_team_without_errors_is_compared_as_compare_does",
    "tests/test_challenge.py::test_results_of_other_labels_are_not_ranked",
    "tests/test_challenge_hostile.py::test_bombs[parquet]",
    "tests/test_arrow_tiling.py::test_changed_bytes_of_a_packed_file_are_refused_or_read[packed file]",
    "tests/test_demo.py::test_the_written_sound_lasts_as_long_as_its_utterance_and_is_the_same_every_time",
    "tests/test_documents.py::test_the_commands_of_a_page_run[calibration.md]",
    "tests/test_learned_calibration.py::test_a_fusion_does_not_lose_to_its_best_system_on_held_out_speakers",
    "tests/test_figure_data.py::test_a_large_curve_becomes_small_and_stays_near",
    "tests/test_jobs.py::test_a_process_that_is_killed_is_an_error_that_says_so",
    "tests/test_resolution_tables.py::test_scores_are_read_one_after_the_other_and_not_kept",
    "tests/test_system_errors.py::test_a_full_disk_names_the_folder_of_the_shards",
    "tests/test_challenge_hostile.py::test_hostile_teams_among_others",
    "tests/test_group_intervals.py::test_by_on_the_command_line_has_intervals_and_differences",
    "tests/test_pickles.py::test_small_files_that_become_huge",
    "tests/test_jackknife.py::test_interval_and_p_never_disagree_in_ten_thousand_pairs",
    "tests/test_neighbours.py",
    "tests/test_notebooks.py",
    "tests/test_report_browser.py",
    "tests/test_torch.py",
    "tests/test_bounds.py::test_the_command_line_refuses_four_gibibytes_in_one_line_within_seconds",
    "tests/test_corpus_build.py::test_a_build_that_was_killed",
    "tests/test_corpus_build.py::test_the_same_seed_gives_the_same_bytes",
    "tests/test_pipes.py::test_pipes_are_cut_into_shards_to_the_same_bits[jobs]",
    "tests/test_corpus_protocol.py::test_drawn_intervals_in_shards_are_those_in_memory[percentile]",
    "tests/test_streamed_events.py::test_random_corpora_have_the_same_bits_or_the_same_refusal_in_shards",
    # one format is enough there
    *(
        f"tests/test_every_format.py::test_references_from_standard_input[{i}]"
        for i in ("parquet", "jsonl", "segment-list")
    ),
    *(
        f"tests/test_every_format.py::test_scores_from_standard_input[{i}]"
        for i in ("partialspoof-pickle", "csv", "arrow", "kaldi-ark")
    ),
    # the first of several random draws is enough there
    *(f"tests/test_streaming.py::test_random_corpora_have_the_same_bits_in_shards[{i}]" for i in range(1, 8)),
    *(
        f"tests/test_per_utterance.py::test_every_utterance_equals_the_brute_force_under_every_rule[{i}]"
        for i in range(1, 8)
    ),
)
# As many examples as a property gets, where its test does not say so itself. A busy machine is no failure.
for profile, examples in {"few": 10, "many": 100}.items():  # many: .ci/run slow
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize="CI" in os.environ,  # the same examples for the same code, as Hypothesis does there by itself
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("few")


def pytest_report_header() -> str:
    """Name what is not collected."""
    names = sorted(Path(file).relative_to(ROOT) if Path(file).is_absolute() else Path(file) for file in collect_ignore)
    return "not collected, since a package is missing: " + (", ".join(map(str, names)) or "nothing")


# Files that are damaged in one more way of the same kind.
SLOW_CASES = re.compile(r"test_malformed_files.py::.*-(cut at (?!49)|bits? flipped [1-9]|gz cut at (?!50))")


def is_quick(path: Path) -> bool:
    """Whether a file, or a folder that has it, is among the quick ones."""
    return any(path == place or place in path.parents for place in QUICK_PLACES)


def pytest_configure(config: pytest.Config) -> None:
    """Leave out the slow tests unless a file or `-m` says what to run."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = "not slow"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what is not quick: that takes as long as the quick tests, and needs packages."""
    unwanted = config.option.markexpr == "quick" and collection_path.is_file() and not is_quick(collection_path)
    return True if unwanted else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the file they are in."""
    for item in items:
        if item.nodeid.startswith(SLOW) or SLOW_CASES.search(item.nodeid):
            item.add_marker("slow")
        elif is_quick(item.path) and not item.get_closest_marker("slow") and not NOT_QUICK.search(item.nodeid):
            item.add_marker("quick")
