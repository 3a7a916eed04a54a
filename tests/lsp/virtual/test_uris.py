"""Each virtual document has one URI, and only such URIs are parsed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import UserError
from indwell.lsp.virtual.uris import (
    Base,
    ChangeSpan,
    Diff,
    NextRequest,
    Transcript,
    parsed,
    uri_of,
)

SESSION = "20261121-034012-123-9f3a1c7e2b4d"

KNOWN = [
    (Base("/w/shop.py"), "indwell-base:/w/shop.py"),
    (
        Base("/w/a b#1.py", ChangeSpan(SESSION, 3)),
        f"indwell-base:/w/a%20b%231.py?session={SESSION}&turn=3",
    ),
    (Diff(), "indwell-diff:all.diff"),
    (Diff("", ChangeSpan(SESSION)), f"indwell-diff:all.diff?session={SESSION}"),
    (Diff("/w/x.diff"), "indwell-diff:/w/x.diff.diff"),
    (NextRequest(), "indwell-request:next.md"),
    (Transcript(SESSION), f"indwell-transcript:{SESSION}.md"),
]


@pytest.mark.parametrize(("document", "uri"), KNOWN, ids=lambda one: str(one)[:40])
def test_each_document_has_one_uri(document, uri) -> None:
    assert uri_of(document) == uri
    assert parsed(uri) == document


def test_a_query_is_read_as_vs_code_writes_it() -> None:
    assert parsed(f"indwell-base:/w/x?session%3D{SESSION}%26turn%3D12") == Base(
        "/w/x", ChangeSpan(SESSION, 12)
    )


def test_short_forms_of_document_uris_are_parsed() -> None:
    assert parsed(f"indwell-transcript:{SESSION}") == Transcript(SESSION)
    assert parsed("indwell-diff:all") == Diff()
    assert parsed("indwell-request:") == NextRequest()


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:///etc/passwd",
        "indwell-other:/w/x",
        "INDWELL-BASE:/w/x",
        "indwell-base:",
        "indwell-base:x.py",
        "indwell-base:/w/../../etc/passwd",
        "indwell-base:/w/%2e%2e/x",
        "indwell-base:/w/./x",
        "indwell-base://host/x",
        "indwell-base:/w//x",
        "indwell-base:/w/",
        "indwell-base:/",
        "indwell-base:/w/x%00",
        "indwell-base:/w/x%0A",
        "indwell-base:/w/x#frag",
        "indwell-base:/w/x?turn=3",
        f"indwell-base:/w/x?session={SESSION}&turn=0",
        f"indwell-base:/w/x?session={SESSION}&turn=-1",
        f"indwell-base:/w/x?session={SESSION}&turn=99999999999",
        f"indwell-base:/w/x?session={SESSION}&turn=",
        f"indwell-base:/w/x?session={SESSION}&session={SESSION}",
        f"indwell-base:/w/x?session={SESSION}&path=/etc/passwd",
        "indwell-base:/w/x?session=../../x",
        "indwell-base:/w/x?",
        "indwell-diff:/w/x.py",
        "indwell-diff:nothing",
        "indwell-request:other",
        f"indwell-request:next.md?session={SESSION}",
        "indwell-transcript:",
        "indwell-transcript:../log",
        "indwell-transcript:%2e%2e",
        f"indwell-transcript:{SESSION}?turn=3",
        f"indwell-base:/{'x' * 9_000}",
    ],
)
def test_an_invalid_document_uri_is_an_error(uri) -> None:
    if uri == "indwell-base:/w/x?":
        assert parsed(uri) == Base("/w/x")  # an empty query is the same as no query
        return
    with pytest.raises(UserError, match="is not a document of Indwell"):
        parsed(uri)


parts = st.text(
    st.characters(exclude_categories=["Cc"], exclude_characters="/\x7f"), min_size=1, max_size=20
).filter(lambda one: one not in {".", ".."})
spans = st.builds(ChangeSpan, st.just(SESSION), st.integers(0, 99)) | st.just(ChangeSpan())


@given(st.lists(parts, min_size=1, max_size=4), spans, st.sampled_from([Base, Diff]))
def test_every_path_survives_its_uri(names, span, kind) -> None:
    path = "/" + "/".join(names)
    if path[1:3].endswith(":") and path[1].isascii() and path[1].isalpha():
        return  # a path with a drive, which has no leading slash
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return  # file names of this form do not exist
    document = kind(path, span)
    assert parsed(uri_of(document)) == document


@given(st.text(max_size=60))
def test_any_uri_is_parsed_or_refused_with_a_message(rest) -> None:
    for scheme in ("indwell-base:", "indwell-diff:", "indwell-request:", "indwell-transcript:", ""):
        try:
            document = parsed(scheme + rest)
        except UserError:
            continue
        if isinstance(document, Base | Diff) and document.path:
            assert ".." not in document.path.split("/")
