from __future__ import annotations

import pytest
from lsprotocol import types

from indwell.lsp.features import Features, features_of


class Experimental:
    """How some converters hand on a JSON object."""

    def __init__(self) -> None:
        self.indwell = {"events": True}


def test_an_editor_that_says_nothing_can_nothing() -> None:
    assert features_of(types.ClientCapabilities()) == Features()


def test_what_an_editor_declares_is_read() -> None:
    window = types.WindowClientCapabilities(
        work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(support=True)
    )
    capabilities = types.ClientCapabilities(
        window=window, experimental={"indwell": {"events": True, "save": True, "ask": False}}
    )
    assert features_of(capabilities) == Features(
        progress=True, show_document=True, experimental=frozenset({"events", "save"})
    )


@pytest.mark.parametrize(
    ("experimental", "names"),
    [
        (None, set()),
        ({}, set()),
        ({"other": True}, set()),
        ({"indwell": True}, set()),
        ({"indwell": ["events"]}, set()),
        ({"indwell": {"events": "yes"}}, set()),  # only true is true
        ({"indwell": {"events": True}}, {"events"}),
        (Experimental(), {"events"}),
        ("indwell", set()),
    ],
)
def test_only_what_is_declared_true_is_on(experimental, names) -> None:
    features = features_of(types.ClientCapabilities(experimental=experimental))
    assert features.experimental == names
    assert features.has("events") == ("events" in names)
