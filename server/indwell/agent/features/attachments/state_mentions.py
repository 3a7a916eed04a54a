"""Attaches git's changes and the editor's problems for ``@changes`` and ``@problems``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.bounds.git.changes import RepositoryChanges, read_changes
from indwell.context.attachments import FileProblems, reported_words
from indwell.context.injections import inject
from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Text
from indwell.workspace.paths import display

SHARE = 4  # git's changes may take at most a quarter of the context window
CHARS = 3  # A token of code has at least 3 characters.

_MENTION = lazy_pattern(r"(?<![\w@/.`])@(changes|problems)(?![\w/#-]|\.\w)")


def state_mentions(words: str) -> tuple[str, ...]:
    """Return which of ``@changes`` and ``@problems`` the text mentions, without the ``@``."""
    return tuple(dict.fromkeys(_MENTION.findall(words)))


class StateMentions:
    """Reads the problems and changes that the user mentions in one session.

    Attributes:
        problems: Returns the known problems that the model may see; set by the user interface.
    """

    def __init__(self) -> None:
        self.problems: Callable[[], tuple[FileProblems, ...]] | None = None

    async def blocks(self, moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        """Return a block for each mention; tell the user if a mention cannot be attached."""
        found: list[Text] = []
        chosen = ("changes",) if prompt.changes else ()
        for name in dict.fromkeys((*chosen, *state_mentions(prompt.words))):
            try:
                if name == "changes":
                    found.append(await self._changes(moment))
                else:
                    found.append(await self._problems(moment, prompt))
            except UserError as error:
                words = f"@{name} is not attached: {error}"
                moment.emit(Notice(moment.turn, "warning", words))
        return tuple(found)

    async def _changes(self, moment: Moment[Session]) -> Text:
        changes = await changes_for(moment.session)
        text = await moment.session.hidden(changes.words)
        most = moment.session.conversation.config.window // SHARE * CHARS
        if len(text) > most:
            text = f"{text[:most]}\n[… the rest is left out: it is too long for this model …]"
        return inject("attached", text, turn=moment.turn, attributes={"name": "changes"})

    async def _problems(self, moment: Moment[Session], prompt: Prompt) -> Text:
        """Return the block of all known problems.

        Raises:
            UserError: No client reports problems, or no problem is known.
        """
        if self.problems is None:
            raise UserError("no editor reports problems here")
        reported = tuple(one for one in self.problems() if one not in prompt.reported)
        if not reported:
            raise UserError("the editor knows no problem in this folder")
        text = await moment.session.hidden(reported_words(reported))
        return inject("diagnostics", text, turn=moment.turn)


async def changes_for(session: Session) -> RepositoryChanges:
    """Read git's changes in the first trusted folder, without files that the rules hide.

    Raises:
        UserError: The folder is not trusted, has no repository, or nothing has changed.
    """
    rules, roots = session.parts.rules(), session.parts.workspace.roots
    root = roots[0].resolve()
    if root.as_posix() not in rules.policy.roots:
        raise UserError("nothing runs in a folder that you have not trusted, not even git")

    def named(path: Path) -> str | None:
        shown = display(path, roots)
        return None if not path.is_relative_to(root) or rules.hidden(shown) else shown

    return await read_changes(root, named=named, never_in=roots)
