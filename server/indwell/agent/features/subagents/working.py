"""Runs a sub-agent from its task to its answer."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.core.turn_state import TurnState
from indwell.agent.features.subagents.definition import Definition
from indwell.agent.loop.rounds import fitting_words, run_rounds
from indwell.agent.requests.prompt_blocks import gathered
from indwell.agent.requests.spending import OverBudget
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.errors import ToolError, UserError
from indwell.messages import Usage
from indwell.sessions.overview import preview_of
from indwell.sessions.records import Ending, Prefixed, TurnEndRecord, TurnStartRecord
from indwell.tools.truncate import untorn

ANSWER_LIMIT = 5_000  # characters; H52
ANSWER_HEAD, ANSWER_TAIL = 3_000, 1_500
K = 1_000


class SubagentReport(msgspec.Struct, frozen=True):
    """The result of a sub-agent.

    Attributes:
        answer: Its last words.
        early: Why it ended early; empty if it finished.
        rounds: Number of its model calls.
        usage: Tokens of all its calls.
    """

    answer: str
    early: str
    rounds: int
    usage: Usage

    @property
    def figure(self) -> str:
        """A few words for the user."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        tokens = self.usage.input + self.usage.output
        return f"{rounds}, {tokens if tokens < K else f'{tokens / K:.0f}k'} tokens"


async def work(
    child: Session, task: str, definition: Definition | None, emit: Listener
) -> SubagentReport:
    """Run ``child`` to the end of its task; its log is complete and closed afterwards in any case.

    Raises:
        ToolError: It gave no answer; the message says why.
    """
    assert child.helping is not None
    turn = TurnState(child.turns, task, "", changes=child.helping.turn.changes)
    started = child.parts.clock.monotonic()
    ending: Ending = "failed"
    message = ""
    try:
        _begin_log(child, task)
        await _gather(Moment(child, turn.number, emit), task, definition, turn)
        ending, message = await run_rounds(child, turn, emit)
    except asyncio.CancelledError:
        ending, message = "cancelled", "stopped"
        raise
    except OverBudget as error:
        ending, message = "budget", str(error)
    except UserError as error:
        message = str(error)
    finally:
        seconds = round(child.parts.clock.monotonic() - started, 3)
        child.parts.log.append(
            TurnEndRecord(turn.number, ending, child.timestamp(), message, "", seconds)
        )
        await child.parts.log.close()
    early = _early(ending, message, turn.rounds)
    if not turn.answer.strip():
        raise ToolError(f"the sub-agent gave no answer: {early or 'its last message was empty'}")
    return SubagentReport(turn.answer.strip(), early, turn.rounds, turn.usage)


async def told(child: Session, report: SubagentReport) -> str:
    """Return what the waiting agent reads: the answer; of a long one, head and tail."""
    answer = report.answer
    if len(answer) > ANSWER_LIMIT:
        path = await child.parts.spill.keep("agent", answer)
        head, tail = untorn(answer[:ANSWER_HEAD]), answer[-ANSWER_TAIL:]
        n_left = len(answer) - len(head) - len(tail)
        answer = (
            f"{head}\n[… {n_left:,} characters left out; all of it is in {str(path)!r}, for "
            f"read_file …]\n{tail}"
        )
    if report.early:
        return f"{answer}\n[the sub-agent ended early, so this may not be all: {report.early}]"
    return answer


def _begin_log(child: Session, task: str) -> None:
    conversation, at = child.conversation, child.timestamp()
    log = child.parts.log
    system = tuple(block.text for block in conversation.system)
    # Without the digest that a resumed session compares, because no sub-agent is resumed.
    log.append(Prefixed(system=system, tools="", at=at, specs=conversation.tools))
    log.append(
        TurnStartRecord(child.turns, task, at, preview_of(task), (), child.parts.rules().mode)
    )


async def _gather(
    moment: Moment[Session], task: str, definition: Definition | None, turn: TurnState
) -> None:
    """Collect what goes with the task: environment, project instructions, its own instructions."""
    child = moment.session
    now = await child.parts.surroundings()
    blocks = await gathered(moment, Prompt(task), now)
    if definition is not None and definition.origin == "workspace":
        about = {"name": definition.name, "from": definition.path}
        body = child.parts.secrets.hide(definition.body)
        blocks.append(inject("skill", body, turn=turn.number, attributes=about))
    child.conversation = talk.queue(child.conversation, blocks)
    turn.words = await fitting_words(child, turn.words)


def _early(ending: Ending, message: str, rounds: int) -> str:
    match ending:
        case "done":
            return message
        case "limit":
            return f"it has used its {rounds} rounds"
        case _:
            return message or ending
