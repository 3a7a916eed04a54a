"""Runs hooks at certain moments of a turn, and stops an action that a hook blocks.

A hook cannot allow an action: hooks run before the permission question, and the policy decides
after the hooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypedDict

from indwell.agent.core.events import EditApplied, Listener, Notice
from indwell.agent.core.feature import Checked, Ended, Feature, Moment
from indwell.agent.core.prompt import Prompt, labels
from indwell.agent.core.session import Session, TurnState
from indwell.agent.features.hooks.hook_io import (
    AfterTool,
    BeforeTool,
    Compaction,
    PromptSubmitted,
    TurnEnd,
    cut,
    kind_of,
    parsed,
)
from indwell.agent.features.hooks.hook_io import EditAppliedPayload as Edited
from indwell.agent.features.hooks.run import HooksVerdict, run_hooks, tell_late
from indwell.agent.features.hooks.session_hooks import HookBook
from indwell.agent.permission.call_facts import display
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, UserError
from indwell.messages import Text, ToolUse
from indwell.sessions.records import Ending
from indwell.settings.model import Mode
from indwell.tools.base import Call, Outcome
from indwell.workspace.base import AppliedChange

MOST_FILES = 1_000  # the limit of changed files in the payload of the event ``turn_end``
_TOLD = 300  # the limit of characters for a hook's reason in a notice
GOES_ON = (
    "A hook asks you to go on before this turn ends; why is listed next. Do it, or say in a "
    "sentence why not. You are asked this once."
)


class _About(TypedDict):
    """The fields that every payload contains."""

    session: str
    turn: int
    cwd: str
    mode: Mode
    in_agent: bool


def hooks_feature(book: HookBook) -> Feature[Session]:
    """Return the feature for one session's hooks; sub-agents share the session's hooks."""
    return Feature(
        name="hooks",
        door=book,
        check_words=partial(_check_words, book),
        check_steering=partial(_check_steering, book),
        before_tool=partial(_before_tool, book),
        after_tool=partial(_after_tool, book),
        on_stop=partial(_on_stop, book),
        end=partial(_end, book),
        after_compaction=partial(_after_compaction, book),
    )


async def _check_words(book: HookBook, moment: Moment[Session], prompt: Prompt) -> Checked:
    """Run the hooks for a prompt; return a refusal, or the text that the hooks add."""
    session, number, emit = moment.session, moment.turn, moment.emit
    if not await book.has(session.id, number, "prompt_submitted"):
        return Checked()
    payload = PromptSubmitted(
        **_about(session, number), words=prompt.words, attached=labels(prompt), steering=False
    )
    verdict = await run_hooks(book, session, number, payload, emit)
    if verdict.block:
        return Checked(_words(verdict, "your prompt was not sent"))
    return Checked(blocks=verdict.added)


async def _check_steering(book: HookBook, moment: Moment[Session]) -> None:
    """Run the hooks for the user's messages that wait for the next model call.

    Raises:
        UserError: A hook blocks a message, which ends the turn and returns the text to the user.
    """
    session, turn, emit = moment.session, moment.turn, moment.emit
    if not await book.has(session.id, turn, "prompt_submitted"):
        return
    n_checked, added = 0, list[Text]()
    while n_checked < len(session.steering):  # The user may send more messages meanwhile.
        words = session.steering[n_checked]
        n_checked += 1
        payload = PromptSubmitted(**_about(session, turn), words=words, attached=(), steering=True)
        verdict = await run_hooks(book, session, turn, payload, emit)
        if verdict.block:
            raise UserError(_words(verdict, "stopped: your later message was not sent"))
        added += verdict.added
    session.conversation = talk.queue(session.conversation, added)


async def _before_tool(book: HookBook, moment: Moment[Session], use: ToolUse, call: Call) -> None:
    """Run the hooks that may block a tool call.

    Raises:
        ToolError: A hook blocks the call; the model gets the reason.
    """
    session, turn, emit = moment.session, moment.turn, moment.emit
    if not await book.has(session.id, turn, "before_tool", use.name):
        return
    payload = BeforeTool(
        **_about(session, turn),
        call=use.id,
        tool=use.name,
        effect=call.effect,
        arguments=parsed(call.arguments),
    )
    verdict = await run_hooks(book, session, turn, payload, emit, tool=use.name, tool_use_id=use.id)
    if verdict.block:
        whose = "the user's" if verdict.is_own else "the project's"
        raise ToolError(f"not run: a hook of {whose} stopped it: {verdict.block}")


async def _after_tool(  # noqa: PLR0917 - the slot's own arguments
    book: HookBook,
    moment: Moment[Session],
    use: ToolUse,
    call: Call,
    outcome: Outcome,
    applied: Sequence[EditApplied],
) -> None:
    """Run the hooks for each edit of a finished call, and then the hooks for the call."""
    session, turn, emit = moment.session, moment.turn, moment.emit
    for edit, change in zip(applied, outcome.changes, strict=True):
        await _after_edit(book, session, use, edit, change, emit)
    if not await book.has(session.id, turn, "after_tool", use.name):
        return
    payload = AfterTool(
        **_about(session, turn),
        call=use.id,
        tool=use.name,
        arguments=parsed(call.arguments),
        result=cut(outcome.text),
        is_error=outcome.is_error,
    )
    verdict = await run_hooks(book, session, turn, payload, emit, tool=use.name, tool_use_id=use.id)
    tell_late(session, turn, "after_tool", verdict, use.id)


async def _after_edit(  # noqa: PLR0917 - as in the slot
    book: HookBook,
    session: Session,
    use: ToolUse,
    edit: EditApplied,
    change: AppliedChange,
    emit: Listener,
) -> None:
    turn = use.meta.turn
    if not await book.has(session.id, turn, "edit_applied", use.name):
        return
    payload = Edited(
        **_about(session, turn),
        call=use.id,
        tool=use.name,
        path=display(session, str(change.path)),
        file=str(change.path),
        diff=await session.hidden(cut(edit.diff)),
        created=edit.created,
    )
    verdict = await run_hooks(book, session, turn, payload, emit, tool=use.name, tool_use_id=use.id)
    tell_late(session, turn, "edit_applied", verdict, use.id)


async def _on_stop(book: HookBook, moment: Moment[Session]) -> bool:
    """Run the hooks when the model is done; return True if a hook continues the turn, once only."""
    session, turn = moment.session, moment.session.under_way
    # the end of a sub-agent is not the end of a turn
    if session.helping is not None or turn is None:
        return False
    verdict = await _at_end(book, moment, turn, "done", "")
    if (
        not verdict.block
        or book.asked_in == moment.turn
        or turn.rounds >= session.parts.limits.rounds
    ):
        return False
    book.asked_in = moment.turn
    kind = kind_of("turn_end", is_own=verdict.is_own)
    session.conversation = talk.queue(
        session.conversation,
        (
            inject("reminder", GOES_ON, turn=moment.turn),
            inject(kind, verdict.block, turn=moment.turn, attributes={"event": "turn_end"}),
        ),
    )
    moment.emit(Notice(moment.turn, "info", _words(verdict, "the model is asked to continue")))
    return True


async def _end(book: HookBook, moment: Moment[Session], how: Ended) -> None:
    """Run the hooks for a turn's end, unless ``_on_stop`` ran them; no hook can continue."""
    turn = moment.session.under_way
    if turn is not None and (how.ending != "done" or book.told_in != moment.turn):
        await _at_end(book, moment, turn, how.ending, how.message)


async def _at_end(
    book: HookBook, moment: Moment[Session], turn: TurnState, ending: Ending, message: str
) -> HooksVerdict:
    session, number = moment.session, moment.turn
    if session.helping is not None or not await book.has(session.id, number, "turn_end"):
        return HooksVerdict()
    book.told_in = number
    files = dict.fromkeys(display(session, str(one.path)) for one in turn.changes)
    payload = TurnEnd(
        **_about(session, number),
        ending=ending,
        message=message,
        answer=await session.hidden(cut(turn.answer)),
        files=tuple(files)[:MOST_FILES],
        again=book.asked_in == number,
    )
    return await run_hooks(book, session, number, payload, moment.emit)


async def _after_compaction(
    book: HookBook, moment: Moment[Session], before: int, after: int
) -> None:
    """Run the hooks for a compaction, so that a hook can add important text again."""
    session, turn, emit = moment.session, moment.turn, moment.emit
    if not await book.has(session.id, turn, "compaction"):
        return
    payload = Compaction(**_about(session, turn), before=before, after=after)
    verdict = await run_hooks(book, session, turn, payload, emit)
    tell_late(session, turn, "compaction", verdict)


def _about(session: Session, turn: int) -> _About:
    root = session.parts.workspace.roots[0]
    mode = session.parts.rules().mode
    in_agent = session.helping is not None
    return _About(session=session.id, turn=turn, cwd=str(root), mode=mode, in_agent=in_agent)


def _words(verdict: HooksVerdict, effect: str) -> str:
    return f"{effect}; {verdict.by}: {short_line(verdict.block, _TOLD)}"
