from __future__ import annotations

import json

import msgspec
import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter
from lsprotocol.types import CodeActionKind, CodeActionTriggerKind, Position, Range

from indwell.lsp.messages.features import ACTION_KINDS
from indwell.lsp.prompts.attention import hint_words
from indwell.lsp.prompts.code_actions import MOST_SHOWN, ActionPlace, menu, offer
from indwell.lsp.wire import sync

CONVERTER = get_converter()
HERE = Range(start=Position(line=2, character=0), end=Position(line=4, character=1))
WRONG = types.Diagnostic(
    range=HERE,
    message="wrong",
    severity=types.DiagnosticSeverity.Error,
    code=7,
    source="lint",
    data={"fixes": [{"at": 1}]},
)
ALES = types.Diagnostic(  # Indwell's hint, as ALE returns it
    range=HERE, message=hint_words("turn 1, +1 −1"), severity=types.DiagnosticSeverity.Error
)
ELSEWHERE = types.Diagnostic(
    range=Range(start=Position(line=8, character=0), end=Position(line=8, character=1)),
    message="far away",
)
EVERYWHERE = [
    "Fix this",
    "Explain this",
    "Document this",
    "Write tests for this",
    "Refactor this…",
]
AUTOMATIC, INVOKED = CodeActionTriggerKind.Automatic, CodeActionTriggerKind.Invoked


def offered(
    *, only=None, trigger=INVOKED, problems=(), known=(), can_ask=False, running=False
) -> list[types.CodeAction]:
    place = ActionPlace(
        uri="file:///a.py", version=3, can_ask=can_ask, running=running, known=known
    )
    context = types.CodeActionContext(diagnostics=list(problems), only=only, trigger_kind=trigger)
    plain = msgspec.convert(CONVERTER.unstructure(context), sync.ActionContext)
    range_ = msgspec.convert(CONVERTER.unstructure(HERE), sync.Range)
    # The offers are plain JSON of valid code actions; the converter turns arrays into tuples.
    return CONVERTER.structure(offer(place, range_, plain), list[types.CodeAction])


@pytest.mark.parametrize(
    ("asked", "titles"),
    [
        ({}, EVERYWHERE),
        ({"trigger": None}, EVERYWHERE),  # an old client does not send the trigger
        ({"can_ask": True}, [*EVERYWHERE, "Ask about this…"]),
        ({"problems": [ALES]}, EVERYWHERE),
        ({"problems": [ALES], "trigger": AUTOMATIC}, []),
        ({"problems": [WRONG]}, [*EVERYWHERE, "Fix all problems in this file"]),
        ({"known": (WRONG,)}, [*EVERYWHERE, "Fix all problems in this file"]),
        ({"known": (ELSEWHERE,)}, [*EVERYWHERE, "Fix all problems in this file"]),
        ({"trigger": AUTOMATIC, "known": (ELSEWHERE, WRONG)}, ["Fix this"]),
        ({"trigger": AUTOMATIC, "known": (ELSEWHERE,)}, []),
        ({"running": True}, [*EVERYWHERE, "Stop the running turn"]),
        ({"trigger": AUTOMATIC}, []),
        ({"trigger": AUTOMATIC, "can_ask": True, "running": True}, []),
        ({"trigger": AUTOMATIC, "problems": [WRONG]}, ["Fix this"]),
        ({"only": ["quickfix"]}, ["Fix this"]),
        ({"only": [CodeActionKind.QuickFix]}, ["Fix this"]),
        ({"only": ["quickfix.indwell"]}, ["Fix this"]),
        ({"only": ["quickfix.indwell.more"]}, []),
        ({"only": ["quick"]}, []),
        ({"only": ["refactor"]}, ["Document this", "Refactor this…"]),
        ({"only": [CodeActionKind.RefactorExtract]}, []),
        ({"only": ["source"]}, ["Explain this", "Write tests for this"]),
        ({"only": ["source.fixAll"], "problems": [WRONG]}, []),
        ({"only": ["source.organizeImports"]}, []),
        ({"only": ["quickfix", "refactor"]}, ["Fix this", "Document this", "Refactor this…"]),
        ({"only": [""]}, EVERYWHERE),
        ({"only": []}, EVERYWHERE),
        ({"only": ["refactor"], "trigger": AUTOMATIC, "problems": [WRONG]}, []),
    ],
)
def test_each_request_gets_the_fitting_code_actions(asked, titles) -> None:
    assert [action.title for action in offered(**asked)] == titles


def test_a_code_action_contains_its_whole_input_as_plain_json() -> None:
    fix, *_ = offered(problems=[WRONG])
    assert fix == types.CodeAction(
        title="Fix this",
        kind="quickfix.indwell",
        diagnostics=(WRONG,),
        command=types.Command(
            title="Fix this",
            command="indwell.fix",
            arguments=(
                {
                    "uri": "file:///a.py",
                    "version": 3,
                    "range": {
                        "start": {"line": 2, "character": 0},
                        "end": {"line": 4, "character": 1},
                    },
                    "diagnostics": [
                        {
                            "range": {
                                "start": {"line": 2, "character": 0},
                                "end": {"line": 4, "character": 1},
                            },
                            "message": "wrong",
                            "severity": 1,
                            "code": 7,
                            "source": "lint",
                            "data": {"fixes": [{"at": 1}]},
                        }
                    ],
                },
            ),
        ),
    )


def test_a_request_without_problems_includes_the_problems_reported_before() -> None:
    fix, *_ = offered(known=(ELSEWHERE, WRONG))
    assert fix.diagnostics == (WRONG,)
    assert fix == offered(problems=[WRONG])[0]


def test_every_argument_survives_json() -> None:
    actions = offered(problems=[WRONG], can_ask=True, running=True)
    arguments = [list(action.command.arguments or ()) for action in actions]
    assert json.loads(json.dumps(arguments)) == arguments


def test_stopping_needs_no_arguments() -> None:
    stop = offered(running=True)[-1]
    assert stop.command == types.Command(title="Stop the running turn", command="indwell.cancel")


def test_no_code_action_is_marked_as_preferred() -> None:
    actions = offered(problems=[WRONG], can_ask=True, running=True)
    assert {action.is_preferred for action in actions} == {None}


def test_every_code_action_kind_is_indwells_own_and_declared() -> None:
    actions = offered(problems=[WRONG], can_ask=True, running=True)
    assert {action.kind for action in actions} == set(ACTION_KINDS)


def action(title: str, kind: str = "source.indwell", command: str = "") -> dict[str, object]:
    return {"title": title, "kind": kind, "command": {"title": title, "command": command or title}}


TASKS = [action(f"task {number}") for number in range(7)]
STOP = action("Stop the running turn", command="indwell.cancel")
HERE_TOO = [action(f"{verb} this change", ACTION_KINDS[0]) for verb in ("Accept", "Reject")]
WIDER = [
    *(
        action(f"{verb} {what}", command=f"indwell.{verb.lower()}")
        for what in ("file", "turn", "all")
        for verb in ("Accept", "Reject")
    ),
    action("Show the changes as a diff"),
]


def shown(*arguments) -> list[object]:
    return [one["title"] for one in menu(*arguments)]


def test_a_menu_begins_with_the_verdicts_on_the_change_there_and_has_at_most_eight_entries() -> (
    None
):
    assert shown([STOP, *TASKS], [*HERE_TOO, *WIDER], None) == [
        "Accept this change", "Reject this change", "Stop the running turn",
        "Accept file", "Reject file", "Accept all", "Reject all", "task 0",
    ]  # fmt: skip
    of_file = ["Accept file", "Reject file"]
    assert shown(TASKS, WIDER, None) == [*(f"task {n}" for n in range(6)), *of_file]
    assert shown(TASKS, [], None) == [f"task {n}" for n in range(7)]
    for tasks in ([], TASKS, [STOP, *TASKS]):
        for verdicts in ([], HERE_TOO, WIDER, [*HERE_TOO, *WIDER], [*HERE_TOO, *WIDER[:2]]):
            assert len(menu(tasks, verdicts, None)) <= MOST_SHOWN


def test_a_menu_of_one_kind_of_action_has_all_actions_of_that_kind() -> None:
    assert len(menu([STOP, *TASKS], [*HERE_TOO, *WIDER], ["source"])) == 17
