"""What a client sends along with a prompt, checked and bounded: pictures, texts, problems."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, assert_never

from lsprotocol import types

from indwell.agent.gathering import no_pictures_words
from indwell.agent.prompt import Prompt
from indwell.context.attachments import FileProblems, PastedText, Picture
from indwell.context.untrusted_text import scalar_text
from indwell.errors import UserError
from indwell.lsp.attention import problem_of
from indwell.lsp.backend import Backend
from indwell.lsp.documents import name_in, path_of
from indwell.lsp.protocol_prompt import Attachment
from indwell.policy.approvals import one_line, short_line
from indwell.policy.paths import matches_any
from indwell.settings.model import Settings
from indwell.workspace.paths import display
from indwell.workspace.text import picture_type

MOST = 40  # attachments of one prompt
MOST_PICTURES = 10
MOST_FILES = 200  # of problems that are looked up
PICTURE_B = 5_000_000  # what the large providers take of one
PICTURES_B = 30_000_000  # of all of a prompt: a line of a log has them all
TEXT_CHARACTERS = 100_000  # of one text; about 25,000 tokens
TEXTS_CHARACTERS = 400_000  # of all of a prompt
LABEL_CHARACTERS = 100
TYPES: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")


Known: TypeAlias = Mapping[str, tuple[types.Diagnostic, ...]]
"""The problems of each document, by its URI."""


def checked(
    attachments: Sequence[Attachment], known: Known, roots: Sequence[Path], settings: Settings
) -> Prompt:
    """A prompt without words that has all of them; takes a while where there are pictures.

    Raises:
        UserError: One of them cannot go along, in plain words.
    """
    if len(attachments) > MOST:
        raise UserError(f"a prompt takes {MOST} attachments, not {len(attachments)}; remove some")
    pictures: list[Picture] = []
    texts: list[PastedText] = []
    reported: list[FileProblems] = []
    for one in attachments:
        match one.kind:
            case "image":
                pictures.append(_picture(one, len(pictures) + 1))
            case "text":
                texts.append(_text(one))
            case "problems":
                reported += _problems(one, known, roots, settings)
            case _:
                assert_never(one.kind)
    _check_sizes(pictures)
    if sum(len(one.text) for one in texts) > TEXTS_CHARACTERS:
        raise UserError(
            f"the attached texts have more than {TEXTS_CHARACTERS:,} characters together"
        )
    return Prompt(
        words="",
        pictures=tuple(pictures),
        texts=tuple(texts),
        reported=tuple(dict.fromkeys(reported)),
    )


async def check_model(backend: Backend, settings: Settings) -> None:
    """Return if the model that ``settings`` name takes pictures.

    Raises:
        UserError: It is not known to.
    """
    if settings.model and not await backend.pictures(settings):
        raise UserError(no_pictures_words(settings.model))


def _picture(one: Attachment, number: int) -> Picture:
    label = short_line(one.label, LABEL_CHARACTERS) or f"picture {number}"
    if len(one.data) > PICTURE_B * 4 // 3 + 4:
        raise UserError(
            f"the picture {label!r} is larger than {PICTURE_B // 1_000_000} MB; make it smaller"
        )
    try:
        data = base64.b64decode(one.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError(f"the picture {label!r} is broken (its data is no base64)") from error
    found = picture_type(data)
    if found not in TYPES:
        kinds = ", ".join(kind.removeprefix("image/") for kind in TYPES)
        raise UserError(f"{label!r} is no picture that models read; they read {kinds}")
    if one.mime and one.mime.lower() != found:
        raise UserError(f"the picture {label!r} is {found}, not {one.mime[:40]!r} as it says")
    return Picture(label, found, base64.b64encode(data).decode("ascii"))


def _check_sizes(pictures: Sequence[Picture]) -> None:
    if len(pictures) > MOST_PICTURES:
        raise UserError(f"a prompt takes {MOST_PICTURES} pictures, not {len(pictures)}")
    if sum(len(one.data) for one in pictures) > PICTURES_B * 4 // 3:
        raise UserError(
            f"the pictures have more than {PICTURES_B // 1_000_000} MB together; send fewer"
        )


def _text(one: Attachment) -> PastedText:
    label = short_line(one.label, LABEL_CHARACTERS) or "text"
    if len(one.text) > TEXT_CHARACTERS:
        raise UserError(
            f"{label!r} has {len(one.text):,} characters, more than the {TEXT_CHARACTERS:,} that "
            "can be attached; attach a part of it, or put it into a file and mention that"
        )
    if not one.text.strip():
        raise UserError(f"{label!r} is empty; take it out")
    return PastedText(label, scalar_text(one.text))


def _problems(
    one: Attachment, known: Known, roots: Sequence[Path], settings: Settings
) -> list[FileProblems]:
    if not settings.attach_diagnostics:
        raise UserError("problems do not go along, because `attach_diagnostics` is off")
    wanted = list(known)[:MOST_FILES] if one.uri is None else [one.uri]
    named = {uri: _names(uri, roots) for uri in wanted if uri in known}
    found = [
        FileProblems(names[0], tuple(map(problem_of, known[uri])))
        for uri, names in named.items()
        if not any(matches_any(name, settings.deny) for name in names)
    ]
    if not found:
        label = short_line(one.label, LABEL_CHARACTERS) or "the document"
        raise UserError(f"no problems are known of {label!r} that may go along; take it out")
    return found


def _names(uri: str, roots: Sequence[Path]) -> tuple[str, ...]:
    """What a document is called: as people read it, then as it is written."""
    path = path_of(uri)
    shown = display(path, roots) if path is not None and roots else one_line(name_in(uri))
    return (shown, name_in(uri))
