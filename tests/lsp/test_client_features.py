from __future__ import annotations

import pytest

from indwell.lsp.messages.features import ClientFeatures, features_of


def test_an_editor_that_declares_no_capabilities_has_no_features() -> None:
    assert features_of({}) == ClientFeatures()


def test_the_capabilities_of_an_editor_are_read() -> None:
    capabilities = {
        "window": {"workDoneProgress": True, "showDocument": {"support": True}},
        "workspace": {"configuration": True},
        "experimental": {"indwell": {"events": True, "save": True, "ask": False}},
    }
    assert features_of(capabilities) == ClientFeatures(
        progress=True,
        show_document=True,
        configuration=True,
        experimental=frozenset({"events", "save"}),
    )


def test_plain_neovim_answers_questions_by_numbers() -> None:
    words = {"experimental": {"indwell": {"words": True}}}
    assert features_of({}, "Neovim").numbers
    assert not features_of(words, "Neovim").numbers
    assert not features_of({}, "Emacs").numbers


@pytest.mark.parametrize(
    ("experimental", "names"),
    [
        (None, set()),
        ({}, set()),
        ({"other": True}, set()),
        ({"indwell": True}, set()),
        ({"indwell": ["events"]}, set()),
        ({"indwell": {"events": "yes"}}, set()),  # only the value true counts
        ({"indwell": {"events": True}}, {"events"}),
        ("indwell", set()),
    ],
)
def test_only_capabilities_declared_true_are_on(experimental, names) -> None:
    features = features_of({"experimental": experimental})
    assert features.experimental == names
    assert features.has("events") == ("events" in names)


@pytest.mark.parametrize("window", [None, [], {"showDocument": 1, "workDoneProgress": "yes"}])
def test_a_capability_of_the_wrong_type_counts_as_missing(window) -> None:
    assert features_of({"window": window}) == ClientFeatures()


@pytest.mark.parametrize(
    ("edits", "create_files", "annotations"),
    [
        (None, False, False),
        ({}, False, False),
        ({"resourceOperations": ["rename", "create"]}, True, False),
        ({"resourceOperations": ["rename", "delete"]}, False, False),
        ({"resourceOperations": "create"}, False, False),
        ({"changeAnnotationSupport": {}}, False, True),
        ({"changeAnnotationSupport": {"groupsOnLabel": True}}, False, True),
        ({"changeAnnotationSupport": True}, False, False),
    ],
)
def test_an_editors_workspace_edit_capabilities_are_read(edits, create_files, annotations) -> None:
    features = features_of({"workspace": {"workspaceEdit": edits}})
    deletes = edits is not None and "delete" in edits.get("resourceOperations", ())
    assert features == ClientFeatures(
        create_files=create_files, delete_files=deletes, annotations=annotations
    )


@pytest.mark.parametrize("claim", [False, None, "no", 0, "true", 1, [], {}])
def test_tru_11_anything_but_true_says_that_the_editor_is_in_restricted_mode(claim) -> None:
    found = features_of({"experimental": {"indwell": {"trusted": claim, "events": True}}})
    assert found == ClientFeatures(is_restricted=True, experimental=frozenset({"events"}))


def test_tru_12_a_claim_of_trust_is_not_an_extension() -> None:
    features = features_of({"experimental": {"indwell": {"trusted": True}}})
    assert features == ClientFeatures(claims_trust=True)
    assert not features.has("trusted")
