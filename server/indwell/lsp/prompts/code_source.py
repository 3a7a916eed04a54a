"""Answers questions about code with the editor's language features and problems."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from indwell.agent.features.checks.turn_checks import KnownProblems
from indwell.context.attachments import Problem
from indwell.edges import loop_time
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.context import NavigateParams, NavigateResult
from indwell.lsp.prompts.diagnostics import EditorProblems
from indwell.navigation.lsp_answers import CodeReply, answer_of, column_of, method_of
from indwell.navigation.navigator import CodeAnswer, CodeQuestion, SourceFailed

# the time limit in seconds, of which a language server that has just started may need most
ANSWER_S = 10.0
SETTLE_S = 2.0  # the time limit, in seconds, for the checkers of a file
MOST_REPEATS, PAUSE_S = 5, 0.5
"""A language server that has just started answers from the files that it has read so far.

The first question that concerns several files is therefore repeated until two answers are equal.
"""
NAME = "the editor"


class EditorCode:
    """Asks the editor questions about code; implements ``CodeSource``.

    Args:
        client: The editor.
        problems: The problems that the editor shows.
    """

    def __init__(self, client: Client, problems: EditorProblems) -> None:
        self._client = client
        self._problems = problems
        self._warm: set[str] = set()  # the suffixes of files whose servers have read the project

    async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
        """Answer a question; see ``CodeSource``. The editor's answer includes unsaved texts."""
        if question.action == "problems":
            return await self._known_problems(question)
        method = method_of(question)
        if method is None or not self._client.features.has("navigate"):
            return None
        params = NavigateParams(
            method=method,
            uri=None if question.path is None else question.path.as_uri(),
            line=question.line,
            character=column_of(question, "utf-16"),
            byte=column_of(question, "utf-8"),
            query=question.symbol if question.path is None else "",
            name=question.new_name,
        )
        result = await self._answer(params)
        suffix = "" if question.path is None else question.path.suffix
        if method != "textDocument/documentSymbol" and suffix not in self._warm:
            for _ in range(MOST_REPEATS):
                await asyncio.sleep(PAUSE_S)
                before, result = result, await self._answer(params)
                if result == before:
                    break
            self._warm.add(suffix)
        if not result.replies:
            return None
        refusals = [one.error for one in result.replies if one.error]
        replies = [CodeReply(one.result, one.encoding) for one in result.replies]
        names = ", ".join(dict.fromkeys(one.name for one in result.replies if one.name))
        answer = await asyncio.to_thread(answer_of, question, replies, names or NAME)
        if question.action == "rename" and not answer.changes and not answer.refusal and refusals:
            return CodeAnswer(names or NAME, refusal=refusals[0])
        return answer

    async def _answer(self, params: NavigateParams) -> NavigateResult:
        began = loop_time()
        result = await self._client.navigate(params, ANSWER_S)
        if result is None and loop_time() - began >= ANSWER_S:
            raise SourceFailed(f"the editor did not answer within {ANSWER_S:g} s")
        # The answer null means that no language server of the editor knows the language.
        return result or NavigateResult()

    async def _known_problems(self, question: CodeQuestion) -> CodeAnswer | None:
        path = question.path
        assert path is not None
        known = await self._problems.problems([path], settle_s=SETTLE_S)
        if known is None or not (known.reports.get(path) or known.shown.get(path)):
            return None
        return CodeAnswer(NAME, problems=tuple(sorted(_all(known, question), key=_by_line)))


def _all(known: KnownProblems, question: CodeQuestion) -> Iterable[Problem]:
    assert question.path is not None
    reports = known.reports.get(question.path, {})
    found = [one for problems in reports.values() for one in problems]
    return dict.fromkeys((*found, *known.shown.get(question.path, ())))


def _by_line(problem: Problem) -> int:
    return problem.line
