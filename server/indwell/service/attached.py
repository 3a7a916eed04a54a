"""Checks pictures and texts that a user attaches to a prompt. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from indwell.context.attachments import NamedPicture, PastedText
from indwell.context.untrusted_text import scalar_text, short_line
from indwell.errors import UserError
from indwell.workspace.text import picture_type

MOST_PICTURES = 10
# The limit is in bytes of one picture; the large providers accept pictures of this size.
PICTURE_B = 5_000_000
PICTURES_B = 30_000_000  # One line of the log contains all pictures of a prompt, as bytes.
TEXT_CHARACTERS = 100_000  # The limit for one attached text is about 25,000 tokens.
TEXTS_CHARACTERS = 400_000  # The limit is for all attached texts of a prompt.
LABEL_CHARACTERS = 100
TYPES: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")


def checked_picture(label: str, mime: str, data: str, number: int) -> NamedPicture:
    """Return a picture; decoding takes a while, so call this in a thread.

    Args:
        label: The picture's name for people; may be empty.
        mime: The media type that the client states; may be empty.
        data: The bytes in Base64.
        number: The picture's number in the prompt, from 1.

    Raises:
        UserError: The picture cannot be sent.
    """
    label = short_line(label, LABEL_CHARACTERS) or f"picture {number}"
    if len(data) > PICTURE_B * 4 // 3 + 4:
        raise UserError(
            f"the picture {label!r} is larger than {PICTURE_B // 1_000_000} MB; make it smaller"
        )
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError(f"the picture {label!r} is broken (its data is not base64)") from error
    found = picture_type(decoded)
    if found not in TYPES:
        kinds = ", ".join(kind.removeprefix("image/") for kind in TYPES)
        raise UserError(f"{label!r} is not a picture that models read; they read {kinds}")
    if mime and mime.lower() != found:
        raise UserError(f"the picture {label!r} is {found}, not {mime[:40]!r} as it says")
    return NamedPicture(label, found, base64.b64encode(decoded).decode("ascii"))


def check_pictures(pictures: Sequence[NamedPicture]) -> None:
    """Check the number and the size of all pictures of a prompt.

    Raises:
        UserError: There are too many pictures, or the pictures are too large together.
    """
    if len(pictures) > MOST_PICTURES:
        raise UserError(f"a prompt takes {MOST_PICTURES} pictures, not {len(pictures)}")
    if sum(len(one.data) for one in pictures) > PICTURES_B * 4 // 3:
        raise UserError(
            f"the pictures have more than {PICTURES_B // 1_000_000} MB together; send fewer"
        )


def checked_text(label: str, text: str) -> PastedText:
    """Return an attached text.

    Raises:
        UserError: The text is empty, or too long.
    """
    label = short_line(label, LABEL_CHARACTERS) or "text"
    if len(text) > TEXT_CHARACTERS:
        raise UserError(
            f"{label!r} has {len(text):,} characters, more than the {TEXT_CHARACTERS:,} that "
            "can be attached; attach a part of it, or put it into a file and mention that"
        )
    if not text.strip():
        raise UserError(f"{label!r} is empty; remove it")
    return PastedText(label, scalar_text(text))


def check_texts(texts: Sequence[PastedText]) -> None:
    """Check the size of all attached texts of a prompt.

    Raises:
        UserError: The texts are too long together.
    """
    if sum(len(one.text) for one in texts) > TEXTS_CHARACTERS:
        raise UserError(
            f"the attached texts have more than {TEXTS_CHARACTERS:,} characters together"
        )
