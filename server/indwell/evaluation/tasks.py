"""The tasks of a suite, and the templates from which a seed makes tasks. Pure."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

Language: TypeAlias = Literal["python", "javascript"]
TaskKind: TypeAlias = Literal["fix", "refactor", "document", "test", "navigate"]
TaskEdit: TypeAlias = tuple[str, str, str]
"""A path, an old text that occurs once in the file, and the new text; with no old text, a file."""

CHECK_FOLDER = ".eval-check"
_PROGRAMS: Mapping[Language, tuple[str, str]] = {
    "python": ("python3 -ISB", "check.py"),
    "javascript": ("node", "check.mjs"),
}


class EvalTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task with a check that the agent does not see.

    Attributes:
        id: The name of the task in its suite.
        group: The name of the template; tasks of one template are alike.
        kind: What the task asks for.
        language: The language of the task's files.
        prompt: The prompt.
        files: The texts of the workspace's files, by path.
        hidden: The files of the check, by path.
        check: The shell command of the check, whose exit code is 0 for a solution.
        reference: The files that a solution adds or changes.
        mutants: Wrong solutions, each as the files that it adds or changes.
    """

    id: str
    group: str
    kind: TaskKind
    language: Language
    prompt: str
    files: Mapping[str, str]
    hidden: Mapping[str, str]
    check: str
    reference: Mapping[str, str]
    mutants: tuple[Mapping[str, str], ...]


class TaskTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A task with places such as ``@NAME@`` for words that a seed chooses.

    Attributes:
        name: The name of the template.
        kind: What the task asks for.
        language: The language of the files.
        prompt: The prompt.
        files: The files of the workspace.
        solution: The edits that solve the task.
        mutants: For each wrong solution, its edits after ``solution``.
        check: The program of the check, which ends with an error for a wrong solution.
        words: The candidates for each place.
    """

    name: str
    kind: TaskKind
    language: Language
    prompt: str
    files: Mapping[str, str]
    solution: Sequence[TaskEdit]
    mutants: Sequence[Sequence[TaskEdit]]
    check: str
    words: Mapping[str, Sequence[str]]


def made_tasks(
    templates: Sequence[TaskTemplate], seed: int, *, n_variants: int
) -> tuple[EvalTask, ...]:
    """Make ``n_variants`` tasks from each template; the same seed gives the same tasks."""
    tasks = []
    for template in templates:
        draw = random.Random(f"{seed} {template.language} {template.name}")  # noqa: S311
        shuffled = {
            place: draw.sample(list(words), len(words)) for place, words in template.words.items()
        }
        for number in range(n_variants):
            chosen = {place: words[number % len(words)] for place, words in shuffled.items()}
            tasks.append(_made(template, chosen, number + 1))
    return tuple(tasks)


def _made(template: TaskTemplate, chosen: Mapping[str, str], number: int) -> EvalTask:
    def filled(text: str) -> str:
        for place, word in chosen.items():
            text = text.replace(f"@{place}@", word)
        return text

    def edited(files: Mapping[str, str], edits: Sequence[TaskEdit], *, what: str) -> dict[str, str]:
        changed = dict(files)
        for path, old, new in ((filled(a), filled(b), filled(c)) for a, b, c in edits):
            before = changed.get(path, "")
            if old and before.count(old) != 1:
                raise ValueError(f"{template.name}, {what}: {old!r} is not once in {path}")
            changed[path] = before.replace(old, new) if old else new
        return changed

    def difference(after: Mapping[str, str]) -> dict[str, str]:
        return {path: text for path, text in after.items() if files.get(path) != text}

    files = {filled(path): filled(text) for path, text in template.files.items()}
    solved = edited(files, template.solution, what="solution")
    program, name = _PROGRAMS[template.language]
    # The last line shows that the check ran to its end: code under test may end the process.
    word = "passed-" + hashlib.sha256(filled(template.check).encode()).hexdigest()[:16]
    ending = f'print("{word}")\n' if template.language == "python" else f'console.log("{word}");\n'
    place = f"{CHECK_FOLDER}/{name}"
    group = f"{template.kind}-{template.language}-{template.name}"
    return EvalTask(
        id=f"{group}-{number}",
        group=group,
        kind=template.kind,
        language=template.language,
        prompt=filled(template.prompt),
        files=files,
        hidden={place: filled(template.check) + ending},
        check=f"{program} {place} | grep -x {word}",
        reference=difference(solved),
        mutants=tuple(
            difference(edited(solved, edits, what=f"mutant {at}"))
            for at, edits in enumerate(template.mutants, 1)
        ),
    )
