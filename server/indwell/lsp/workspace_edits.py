"""Workspace edits as the protocol has them: minimal, of one version, labelled. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from indwell.lsp.documents import Document
from indwell.workspace.comparing.diff import TextEdit

QUICK = 4_096  # characters; to compare more can take over 10 ms, so it is done in a thread
LONG = 2_000_000  # characters; to compare so many lines would keep everybody else waiting
_SAMPLES = 16
_SAID = 8  # characters that a line needs to say anything
MOST_EDITS = 200  # in one document; an editor takes long over thousands, and so do we
ANNOTATION = "indwell"
LABEL = "Indwell"


def versioned_edit(
    document: Document,
    edits: Sequence[TextEdit],
    encoding: str,
    *,
    annotated: bool = False,
    label: str = LABEL,
) -> types.WorkspaceEdit:
    """Edits of a document's text, bound to its exact version.

    Args:
        document: As the edits were made for.
        edits: By offsets, ascending.
        encoding: The negotiated position encoding.
        annotated: Say who wants it and why, for an editor that shows that.
        label: What it says.
    """
    sent: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
    for start, stop, text in edits:
        range_ = types.Range(
            start=document.place(start, encoding), end=document.place(stop, encoding)
        )
        if annotated:
            one = types.AnnotatedTextEdit(range=range_, new_text=text, annotation_id=ANNOTATION)
            sent.append(one)
        else:
            sent.append(types.TextEdit(range=range_, new_text=text))
    identifier = types.OptionalVersionedTextDocumentIdentifier(
        uri=document.uri, version=document.version
    )
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(text_document=identifier, edits=sent)],
        change_annotations=_annotations(label) if annotated else None,
    )


def creation(uri: str, *, annotated: bool = False, label: str = LABEL) -> types.WorkspaceEdit:
    """A new, empty file; nothing happens to one that exists.

    Without ``ignoreIfExists`` Neovim 0.7 to 0.11 empties a file that was made meanwhile.
    """
    operation = types.CreateFile(
        uri=uri,
        options=types.CreateFileOptions(ignore_if_exists=True),
        annotation_id=ANNOTATION if annotated else None,
    )
    return types.WorkspaceEdit(
        document_changes=[operation], change_annotations=_annotations(label) if annotated else None
    )


def deletion(uri: str, *, annotated: bool = False, label: str = LABEL) -> types.WorkspaceEdit:
    """A file that goes; nothing happens if it is gone already."""
    operation = types.DeleteFile(
        uri=uri,
        options=types.DeleteFileOptions(ignore_if_not_exists=True, recursive=False),
        annotation_id=ANNOTATION if annotated else None,
    )
    return types.WorkspaceEdit(
        document_changes=[operation], change_annotations=_annotations(label) if annotated else None
    )


def joined(before: str, edits: Sequence[TextEdit], most: int = MOST_EDITS) -> tuple[TextEdit, ...]:
    """At most ``most`` edits that do the same: those with the least text between them become one.

    Args:
        before: The text that they are of.
        edits: Ascending, without overlap.
        most: At least 1.
    """
    if len(edits) <= most:
        return tuple(edits)
    gaps = sorted(range(1, len(edits)), key=lambda n: edits[n].start - edits[n - 1].stop)
    closed = frozenset(gaps[: len(edits) - most])
    runs: list[list[TextEdit]] = []
    for number, edit in enumerate(edits):
        if number in closed:
            runs[-1].append(edit)
        else:
            runs.append([edit])
    return tuple(_one(before, run) for run in runs)


def is_rewritten(old: str, new: str) -> bool:
    """Are these two long texts so different that there is nothing to compare?

    If no line of a sample is in the other text. Short texts are better compared.
    """
    if len(old) + len(new) < LONG:
        return False
    lines = {_line_behind(old, n * len(old) // _SAMPLES) for n in range(_SAMPLES)}
    said = [line for line in lines if len(line.strip()) >= _SAID]
    return bool(said) and not any(line in new for line in said)


def _annotations(label: str) -> dict[types.ChangeAnnotationIdentifier, types.ChangeAnnotation]:
    """Nothing to confirm: whoever had to be asked was asked before."""
    return {ANNOTATION: types.ChangeAnnotation(label=label, needs_confirmation=False)}


def _line_behind(text: str, offset: int) -> str:
    start = text.find("\n", offset) + 1
    stop = text.find("\n", start)
    return text[start:stop][:1_000]


def _one(before: str, run: Sequence[TextEdit]) -> TextEdit:
    pieces, at = [], run[0].start
    for edit in run:
        pieces += [before[at : edit.start], edit.text]
        at = edit.stop
    return TextEdit(run[0].start, at, "".join(pieces))
