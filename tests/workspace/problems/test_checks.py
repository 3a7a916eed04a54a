"""The checks that a project's files name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.workspace.problems.checks import FILES, found_checks


def names(**contents: str) -> list[str]:
    return [
        one.name for one in found_checks({_file(name): text for name, text in contents.items()})
    ]


def _file(name: str) -> str:
    return {"package": "package.json", "tsconfig": "tsconfig.json", "cargo": "Cargo.toml"}.get(
        name, {"go": "go.mod", "pyproject": "pyproject.toml", "make": "Makefile"}.get(name, name)
    )


def package(**scripts: object) -> str:
    return json.dumps({"scripts": scripts})


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({"pyproject": "[tool.mypy]\n[tool.ruff.lint]\n"}, ["ruff", "mypy"]),
        ({"pyproject": "[project]\nname = 'x'\n"}, []),
        (
            {"package": package(lint="eslint .", check="x", typecheck="tsc --noEmit")},
            ["npm run typecheck"],
        ),
        ({"package": package(lint="eslint .", test="x"), "tsconfig": "{}"}, ["npm run lint"]),
        ({"package": package(lint="eslint --fix ."), "tsconfig": "{}"}, ["tsc"]),
        ({"package": package(check="biome check --write"), "tsconfig": ""}, ["tsc"]),
        ({"package": package(check="tsc -w", lint="eslint .")}, ["npm run lint"]),
        ({"package": "{}"}, []),
        ({"cargo": "", "go": "module x\n"}, ["cargo check", "go vet"]),
        ({"make": "check:\n\ttrue\n"}, []),
    ],
)
def test_the_projects_own_files_name_its_checks(
    contents: dict[str, str], expected: list[str]
) -> None:
    assert names(**contents) == expected


@pytest.mark.parametrize(
    "script",
    [
        "tsc --noEmit",
        "tsc -p tsconfig.check.json --noEmit --pretty=false",
        "eslint . --ext .ts,.tsx --max-warnings 0",
        "eslint 'src/**/*.{ts,tsx}' && prettier --check .",
        "biome ci src",
        "npm run one && pnpm run two",
    ],
)
def test_a_script_with_only_known_parts_is_run(script: str) -> None:
    known = {"one": "eslint .", "two": "npm run --silent one", "preone": "tsc --noEmit"}
    assert names(package=package(check=script, **known)) == ["npm run check"]


@pytest.mark.parametrize(
    "script",
    [
        *("biome check --apply .", "biome format check", "ruff format .", "prettier -w ."),
        *("cargo fmt", "npm run fix", "nodemon x", "vitest", "jest --watch", "tsc --w", "tsc"),
        *("tsc --noEmit --noEmit=false", "tsc --noEmit -w", "tsc --noEmit @more", "tsc -b"),
        *("eslint . --fix=true", "eslint --fix-dry-run .", "eslint -o out.txt .", "eslint --fix ."),
        *("eslint . ; rm -rf x", "eslint . | tee x", "eslint . > x", "eslint $(x)", "eslint . & x"),
        *("eslint .\nrm x", "X=1 eslint .", "npx eslint .", "eslint . && ./x", "eslint . &&"),
        *("npm run check", "npm run evil", "npm run one", "npm test", "'", "", "x" * 5000),
        *("prettier .", "svelte-check --watch", "eslint . || true", "sh c.sh"),
    ],
)
def test_a_script_that_could_write_or_never_end_is_skipped(script: str) -> None:
    others = {"evil": "rm -rf .", "one": "eslint .", "postone": "nodemon x"}
    assert names(package=package(check=script, **others)) == []


def test_mypy_gets_a_folder_only_if_the_project_names_no_files() -> None:
    (plain,) = found_checks({"pyproject.toml": "[tool.mypy]\nstrict = true\n"})
    (named,) = found_checks({"pyproject.toml": "[tool.mypy]\nfiles = ['server']\n"})
    assert plain.arguments.endswith(" .")
    assert named.arguments.endswith("--no-error-summary")


def test_a_check_covers_files_of_its_language() -> None:
    (ruff,) = found_checks({"pyproject.toml": "[tool.ruff]"})
    assert (ruff.is_about("a.py"), ruff.is_about("README.md")) == (True, False)


@given(st.dictionaries(st.sampled_from(FILES), st.text(max_size=200)))
def test_arbitrary_project_files_are_parsed_and_become_no_part_of_a_command(
    contents: dict[str, str],
) -> None:
    known = {one.arguments for one in found_checks(dict.fromkeys(FILES, ""))}
    for one in found_checks(contents):
        assert one.arguments in known or one.name in {"ruff", "mypy"}


@pytest.mark.parametrize(
    "text",
    [
        '{"scripts": []}',
        '{"scripts": {"check": 3}}',
        "[" * 100_000,
        '{"scripts": {"check": "  "}}',
        "\ufeff{}",
    ],
)
def test_a_broken_package_json_gives_no_check_command(text: str) -> None:
    assert names(package=text) == []
