"""Which files of a project decide what a program does, such as the ``Makefile`` of ``make``."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

_NODE = ("package.json",)
_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")

_FILES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(["make", "gmake"], ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(["npm", "yarn", "pnpm", "npx", "bun", "lerna", "turbo", "nx"], _NODE),
    **dict.fromkeys(["poetry", "pdm", "hatch", "uv", "black", "ruff", "mypy"], _PYTHON),
    **dict.fromkeys(["gradle", "gradlew"], _GRADLE),
    **dict.fromkeys(["mvn", "mvnw"], ("pom.xml",)),
    **dict.fromkeys(["docker", "podman", "docker-compose"], ("Dockerfile", *_COMPOSE)),
    **dict.fromkeys(["invoke", "inv"], ("tasks.py",)),
    **dict.fromkeys(["rake", "rails"], ("Rakefile", "Gemfile")),
    "ant": ("build.xml",),
    "bazel": ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel"),
    "bundle": ("Gemfile",),
    "cargo": ("Cargo.toml", "build.rs"),
    "cmake": ("CMakeLists.txt",),
    "composer": ("composer.json",),
    "deno": ("deno.json", "deno.jsonc", *_NODE),
    "go": ("go.mod",),
    "grunt": ("Gruntfile.js",),
    "gulp": ("gulpfile.js",),
    "just": ("justfile", "Justfile", ".justfile"),
    "meson": ("meson.build",),
    "mise": ("mise.toml", ".mise.toml"),
    "mix": ("mix.exs",),
    "ninja": ("build.ninja",),
    "nox": ("noxfile.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "pytest": ("conftest.py", "pytest.ini", *_PYTHON),
    "scons": ("SConstruct",),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "terraform": ("main.tf",),
    "tox": _PYTHON,
}


def project_files(words: Sequence[str]) -> tuple[str, ...]:
    """The names of such files for the programs among the words of a command; wrappers are many."""
    names = (name for word in words for name in _FILES.get(posixpath.basename(word), ()))
    return tuple(dict.fromkeys(names))
