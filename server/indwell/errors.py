"""The tree of errors; the class of an error says who can fix it, and so who reads it.

    IndwellError
    ├── ToolError              the model's: becomes its next input
    │   ├── EditRefused        the editor or the user did not take an edit; the buffer is untouched
    │   │   ├── TextMoved      the text is not what the edit was made from; read and merge again
    │   │   └── EditMayCome    nobody has said so far; the editor may still apply it
    │   ├── TooLarge           a file is read in pieces only
    │   └── NotText            a file holds no text
    ├── UserError              the user's: shown once, in plain words, with the next step
    │   ├── ProviderError      the endpoint did not do its part
    │   │   ├── Unreachable    nobody answered, or the line broke before anything came (retryable)
    │   │   ├── RateLimited    asked to wait (retryable, ``retry_after_s``)
    │   │   ├── ServerFault    5xx (retryable)
    │   │   ├── NotAuthorised  key missing or refused
    │   │   ├── OutOfCredit    no quota left
    │   │   ├── ToolsUnsupported  the model takes no tools
    │   │   ├── ContextOverflow   the endpoint says that the request is too long
    │   │   ├── RequestRejected   any other 4xx
    │   │   ├── BadReply       the answer is no reply of a model
    │   │   └── EmptyReply     no words and no tool call, twice
    │   ├── ConversationTooLarge  it does not fit the window
    │   │   └── WindowTooSmall     not even a first request does
    │   ├── NobodyThere        an endpoint that much depends on cannot be used at all
    │   ├── SettingsError      a settings file cannot be used
    │   └── SessionError       a session cannot be found, read or written
    │       ├── SessionOpen       another Indwell has it open, so nobody else may write it
    │       └── RecordsLost       the disk failed for good, so its log takes nothing more
    └── (anything else is a bug and travels)

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
            f"the system has no room for another thread, process or file ({_reason(bug)}); end "
            "other programs or raise the limit, and try again"
        )
    return f"something went wrong inside Indwell ({type(bug).__name__}); the log has more"


def is_no_room(bug: BaseException) -> bool:
    """Did the system refuse a thread, a process, a file or memory?"""
    is_thread = isinstance(bug, RuntimeError) and "start new thread" in str(bug)
    is_refused = isinstance(bug, OSError) and bug.errno in _NO_ROOM
    return is_thread or is_refused or isinstance(bug, MemoryError)


def _reason(bug: BaseException) -> str:
    if isinstance(bug, OSError):
        return bug.strerror or type(bug).__name__
    return str(bug) or type(bug).__name__


class IndwellError(Exception):
    """An error that Indwell foresees."""


class ToolError(IndwellError):
    """A tool could not do what the model asked; the model reads the message."""


class EditRefused(ToolError):
    """An edit was not applied (stale, refused, unanswered); the user's text is unchanged."""


class TextMoved(EditRefused):
    """The text changed between reading and writing; the caller may merge and try again."""


class EditMayCome(EditRefused):
    """An edit without an answer: the editor may still apply it."""


class TooLarge(ToolError):
    """A file that is too large to be read whole; it can be read and edited in pieces."""


class NotText(ToolError):
    """A file that holds no text.

    Args:
        message: The sentence for the model.
        media_type: Its type, if it is a picture that models read; else empty.
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

    The endpoint may still be working on it, so Indwell does not ask it again.
    """


class RateLimited(ProviderError):
    """The endpoint asks to wait.

    Args:
        message: The sentence for the user.
        retry_after_s: Seconds that the endpoint asked for; None if it did not say.
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
    """The model does not take tools, which Indwell needs."""


class ContextOverflow(ProviderError):
    """The endpoint says that the request is longer than the model's window."""


class RequestRejected(ProviderError):
    """The endpoint refused the request for a reason of its own."""


class BadReply(ProviderError):
    """The answer is not a reply of a model."""


class EmptyReply(ProviderError):
    """The model returned neither text nor calls, twice."""


class ConversationTooLarge(UserError):
    """The conversation does not fit the model's window."""


class WindowTooSmall(ConversationTooLarge):
    """Not even a first request fits, so a new session would not help."""


class NobodyThere(UserError):
    """An endpoint cannot be used at all, so nothing more is tried."""


class SettingsError(UserError):
    """A settings file or value cannot be used."""


class SessionError(UserError):
    """A session cannot be found, read or written."""


class SessionOpen(SessionError):
    """Another Indwell has the session open; it can be resumed once that has ended."""


class RecordsLost(SessionError):
    """The disk failed while the log was written; unlike on a full disk, no later try helps."""
