from __future__ import annotations

import ast

import pytest

from demo.in_process import passes
from indwell.providers.scripted import CHECK, Repair, repairs
from indwell.service.demo_project import Project, make_project

SEEDS = range(201)


def function_of(project: Project) -> str:
    lines = project.files[project.path].splitlines()
    return "\n".join(lines[project.first_line - 1 : project.last_line])


def kinds() -> dict[tuple[str, str], Project]:
    """Return one project of each kind (subject and bug) that the seeds produce."""
    found: dict[tuple[str, str], Project] = {}
    for seed in SEEDS:
        project = make_project(seed)
        module = project.path.rpartition("/")[2]
        fault = function_of(project).replace(project.function, "NAME")
        found.setdefault((module, fault), project)
    return found


KINDS = kinds()


def mended(project: Project, repair: Repair) -> str:
    lines = project.files[project.path].splitlines()
    at = project.first_line - 1 + repair.number
    assert lines[at] == repair.old
    return "\n".join([*lines[:at], repair.new, *lines[at + 1 :]]) + "\n"


def test_the_seeds_cover_every_subject_with_every_fault() -> None:
    assert len({module for module, _ in KINDS}) == 5
    assert len(KINDS) == 14


def test_the_same_seed_makes_the_same_project() -> None:
    assert [make_project(seed) for seed in range(20)] == [make_project(seed) for seed in range(20)]


def test_the_named_lines_are_those_of_the_faulty_function() -> None:
    for project in map(make_project, SEEDS):
        (function,) = ast.parse(function_of(project)).body
        assert isinstance(function, ast.FunctionDef)
        assert function.name == project.function
        assert CHECK in project.files["README.md"]
        package = project.path.partition("/")[0]
        assert set(project.files) >= {project.path, f"{package}/__init__.py"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[0])
def test_the_check_fails_and_one_of_the_first_repairs_fixes_it(kind: tuple[str, str]) -> None:
    project = KINDS[kind]
    assert not passes(project, project.files[project.path])
    candidates = repairs(function_of(project))
    attempts = [passes(project, mended(project, candidate)) for candidate in candidates[:3]]
    assert any(attempts), candidates


def test_a_candidate_changes_one_line_that_still_parses() -> None:
    for project in KINDS.values():
        lines = function_of(project).split("\n")
        for repair in repairs(function_of(project)):
            assert lines[repair.number] == repair.old != repair.new
            ast.parse("\n".join([*lines[: repair.number], repair.new, *lines[repair.number + 1 :]]))


@pytest.mark.parametrize("text", ["", "not python (", "x = 1", "class A:\n    pass"])
def test_the_demo_model_guesses_nothing_from_text_that_is_not_a_function(text: str) -> None:
    assert isinstance(repairs(text), tuple)
