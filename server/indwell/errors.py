"""The tree of errors; an error's class says who can fix the error and who reads it.

    IndwellError
    ├── ToolError              an error of the model's call, which the model reads
    │   ├── EditRefused        the editor or the user refused an edit; the buffer is untouched
    │   │   ├── TextMoved      the text was changed before the edit; read it and merge again
    │   │   └── EditMayCome    the editor has not answered, and may still apply the edit
    │   ├── TooLarge           a file must be read in pieces
    │   └── NotText            a file is not text
    ├── UserError              an error for the user, shown once, with the next step
    │   ├── ProviderError      the endpoint failed
    │   │   ├── Unreachable    no answer, or the connection broke first (retryable)
    │   │   ├── RateLimited    the endpoint asks to wait (retryable, ``retry_after_s``)
    │   │   ├── ServerFault    status 5xx (retryable)
    │   │   ├── NotAuthorised  the key is missing or refused
    │   │   ├── OutOfCredit    no quota is left
    │   │   ├── ToolsUnsupported  the model accepts no tools
    │   │   ├── ContextOverflow   the endpoint says that the request is too long
    │   │   ├── RequestRejected   any other status 4xx
    │   │   ├── BadReply       the answer is not a model's reply
    │   │   └── EmptyReply     neither text nor a tool call, twice
    │   ├── ConversationTooLarge  the conversation exceeds the window
    │   │   └── WindowTooSmall     even a first request exceeds the window
    │   ├── NobodyThere        an endpoint that many requests need cannot be used
    │   ├── SettingsError      a settings file cannot be used
    │   ├── NewerVersion       a newer Indwell wrote a stored file
    │   ├── WrongArgument      a value of the command line names nothing that can be used
    │   └── SessionError       a session cannot be found, read or written
    │       ├── UnknownSession    no session has this id (a ``WrongArgument``, too)
    │       ├── SessionOpen       another Indwell process has the session open
    │       └── RecordsLost       the disk failed, so the log cannot be continued
    └── (any other error is a bug and is not caught)

A message says what was wrong, with which value, and what to do next; it has no full stop at its
end.
"""

from __future__ import annotations

import errno

_NO_ROOM = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


def bug_words(bug: BaseException) -> str:
    """Return the message for an unforeseen error; never empty."""
    if is_no_room(bug):
        return (
            f"the system has no room for another thread, process or file ({reason(bug)}); end "
            "other programs or raise the limit, and try again"
        )
    return f"something went wrong inside Indwell ({type(bug).__name__}); the log has more"


def is_no_room(bug: BaseException) -> bool:
    """Return whether the system refused a thread, a process, a file or memory."""
    is_thread = isinstance(bug, RuntimeError) and "start new thread" in str(bug)
    is_refused = isinstance(bug, OSError) and bug.errno in _NO_ROOM
    return is_thread or is_refused or isinstance(bug, MemoryError)


def reason(bug: BaseException) -> str:
    """Return why something failed, for a sentence; an ``OSError`` without its number and path."""
    if isinstance(bug, OSError):
        return bug.strerror or str(bug) or type(bug).__name__
    return str(bug) or type(bug).__name__


class IndwellError(Exception):
    """An error that Indwell foresees."""


class ToolError(IndwellError):
    """A tool could not carry out the model's call; the model reads the message."""


class EditRefused(ToolError):
    """An edit was not applied (stale, refused, unanswered); the user's text is unchanged."""


class TextMoved(EditRefused):
    """The text changed between reading and writing; the caller may merge and try again."""


class EditMayCome(EditRefused):
    """The editor has not answered an edit, and may still apply the edit."""


class TooLarge(ToolError):
    """A file is too large to be read at once, and must be read and edited in parts."""


class NotText(ToolError):
    """A file is not text.

    Args:
        message: The sentence for the model.
        media_type: The media type of a picture that models can read, or empty for any other file.
    """

    def __init__(self, message: str, *, media_type: str = "") -> None:
        super().__init__(message)
        self.media_type = media_type


class UserError(IndwellError):
    """An error that only the user can fix; shown once, in plain words."""


class ProviderError(UserError):
    """The endpoint failed."""


class Unreachable(ProviderError):
    """Nothing answered at the address."""


class TooSlow(Unreachable):
    """No reply began in time.

    The endpoint may still be working on the request, so Indwell does not repeat it.
    """


class RateLimited(ProviderError):
    """The endpoint asks Indwell to wait.

    Args:
        message: The sentence for the user.
        retry_after_s: Seconds that the endpoint asked for, or None if not given.
    """

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerFault(ProviderError):
    """The endpoint answered 5xx."""


class NotAuthorised(ProviderError):
    """The key is missing or was refused."""


class OutOfCredit(ProviderError):
    """The account has no quota left; waiting does not help."""


class ToolsUnsupported(ProviderError):
    """The model does not accept tools, which Indwell needs."""


class ContextOverflow(ProviderError):
    """The endpoint says that the request is longer than the model's window."""


class RequestRejected(ProviderError):
    """The endpoint refused the request for another reason."""


class BadReply(ProviderError):
    """The answer is not a reply of a model."""


class EmptyReply(ProviderError):
    """The model returned neither text nor calls, twice."""


class ConversationTooLarge(UserError):
    """The conversation does not fit into the model's window."""


class WindowTooSmall(ConversationTooLarge):
    """Not even a first request fits into the window, so a new session would not help."""


class NobodyThere(UserError):
    """An endpoint cannot be used at all, so Indwell stops sending requests."""


class SettingsError(UserError):
    """A settings file or value cannot be used."""


class NewerVersion(UserError):
    """A newer Indwell wrote a stored file, which therefore stays unread and unchanged."""


class SessionError(UserError):
    """A session cannot be found, read or written."""


class WrongArgument(UserError):
    """A value of the command line is missing, or names nothing that can be used."""


class UnknownSession(SessionError, WrongArgument):
    """No session has this id, or several begin with it."""


class SessionOpen(SessionError):
    """Another Indwell process has the session open; resume it after that process has ended."""


class RecordsLost(SessionError):
    """The disk failed while the log was written; unlike with a full disk, no retry helps."""
