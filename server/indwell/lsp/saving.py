"""What is taken back in an open file reaches the disk too, and nothing that the user typed does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from indwell.lsp.client import Client
from indwell.lsp.documents import Document


def clean_ones(
    document: Callable[[Path], Document | None], paths: Iterable[Path]
) -> tuple[Document, ...]:
    """Of these files the open documents that the disk agrees with."""
    found = (document(path) for path in paths)
    return tuple(one for one in found if one is not None and one.dirt == "clean")


async def save_ours(client: Client, clean: Sequence[Document]) -> None:
    """Have those of them written that only we have changed since, where the editor can be asked."""
    uris = tuple(one.uri for one in clean if one.dirt == "agent")
    if uris and client.features.has("save"):
        await client.save(uris)
