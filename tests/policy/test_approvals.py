from __future__ import annotations

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.untrusted_text import visible
from indwell.policy.approvals import Question, question_for
from indwell.policy.call_facts import Ask, CallFacts, ForeignTool
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.rules import Widening

RUN = CallFacts(
    "bash", "run", command="rm -r build", cwd="/w", arguments='{"command":"rm -r build"}'
)
EDIT = CallFacts("edit_file", "edit", ("a.py",), arguments='{"path":"a.py"}')
ASK = Ask("every command is asked for", rule="bash in /w: rm -r build")


def test_a_question_shows_the_command_and_where_it_would_run() -> None:
    question = question_for("c1", RUN, ASK, "")
    assert question == Question(
        id=question.id,
        title="Run a command in /w?",
        detail="rm -r build",
        reason="every command is asked for",
        rule="bash in /w: rm -r build",
        cwd="/w",
        kind="command",
    )


def test_an_edit_is_shown_as_its_diff_or_else_as_its_arguments() -> None:
    ask = Ask("the mode is `ask`", rule="edit_file: a.py")
    shown = question_for("c1", EDIT, ask, "-old\n+new")
    assert (shown.title, shown.detail) == ("Change a.py?", "-old\n+new")
    assert question_for("c1", EDIT, ask, "").detail == '{"path":"a.py"}'


def test_an_answer_is_bound_to_call_arguments_folder_and_preview() -> None:
    changed = [
        ("c2", RUN, ""),
        ("c1", RUN, "diff"),
        *(
            ("c1", msgspec.structs.replace(RUN, **{name: value}), "")
            for name, value in [
                ("tool", "shell"),
                ("effect", "edit"),
                ("paths", ("x",)),
                ("command", "rm -r build "),
                ("cwd", "/w/sub"),
                ("arguments", '{"command":"rm -r build","timeout_s":600}'),
            ]
        ),
    ]
    ids = {question_for(id_, asked, ASK, preview).id for id_, asked, preview in changed}
    assert len(ids) == len(changed)
    assert question_for("c1", RUN, ASK, "").id not in ids
    assert question_for("c1", RUN, ASK, "").id == question_for("c1", RUN, ASK, "").id


def part(text: str, reason: str = "") -> CommandPart:
    return CommandPart(text, 0, len(text), (), "ask", "test", reason)


def test_a_permission_question_names_risky_parts_unless_the_whole_command_is_risky() -> None:
    parts = (part("rm -r\nx\u202e", "deletes"), part("curl y"))
    ask = msgspec.structs.replace(ASK, risky=parts)
    assert question_for("c1", RUN, ask, "").risky == ("rm -r x\\u202e (deletes)", "curl y")
    whole = msgspec.structs.replace(ASK, risky=(part("rm -r build", "deletes"),))
    assert question_for("c1", RUN, whole, "").risky == ()
    many = msgspec.structs.replace(ASK, risky=tuple(part(f"rm {n}") for n in range(30)))
    assert question_for("c1", RUN, many, "").risky[-2:] == ("rm 7", "and 22 more")


def test_access_beyond_the_sandbox_is_named_in_the_question_and_bound_to_its_answer() -> None:
    push = msgspec.structs.replace(ASK, widening=Widening(hosts=("github.com",)))
    plain, wider = (question_for("c1", RUN, one, "", "sandboxed") for one in (ASK, push))
    assert plain.notes == ("Commands here: sandboxed",)
    assert wider.notes == (
        "A yes allows: with network to github.com",  # for as long as the answer is valid
        "Commands here: sandboxed",
    )
    assert len({plain.id, wider.id, question_for("c1", RUN, ASK, "", "not sandboxed").id}) == 3


def test_a_permission_question_shows_the_models_reason_on_one_attributed_line() -> None:
    wanted = msgspec.structs.replace(
        RUN, wants=Widening(unconfined=True), why="\nThe user said yes.\n" + "x" * 900
    )
    ask = msgspec.structs.replace(ASK, widening=Widening(unconfined=True))
    first, second = question_for("c1", wanted, ask, "").notes
    assert first == "The model requests more: outside the sandbox, for this one call"
    assert second.startswith("The model says: The user said yes. xxx")
    assert len(second) < 250


def test_a_question_can_show_a_name_that_is_not_valid_text() -> None:
    odd = CallFacts("write_file", "edit", ("a\udc80.py",))
    assert question_for("c1", odd, ASK, "").title == "Change 'a\\udc80.py'?"


def test_a_name_with_line_ends_cannot_fake_a_second_line() -> None:
    odd = CallFacts("write_file", "edit", ("a.py?\nIt is safe.\t",))
    assert question_for("c1", odd, ASK, "").title == "Change 'a.py?\\nIt is safe.\\t'?"


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        (CallFacts("edit_file", "edit", ("a, b.py", "c")), "Change 'a, b.py', c?"),
        (CallFacts("edit_file", "edit", ("a? (tested)",)), "Change 'a? (tested)'?"),
        (CallFacts("read_file", "read", ("ok\u3164\u202e",)), "Read 'ok\\u3164\\u202e'?"),
        (CallFacts("bash", "run", command="x", cwd="a; no network"), "in 'a; no network'?"),
        (
            CallFacts(
                "mcp", "external", foreign=ForeignTool("odd", "x of the MCP server safe", "d")
            ),
            "Use 'x of the MCP server safe' of the MCP server odd?",
        ),
        (CallFacts("edit_file", "edit", ("C:/läuft/a-b.py",)), "Change C:/läuft/a-b.py?"),
    ],
)
def test_a_name_is_quoted_if_it_could_pretend_to_be_a_part_of_the_question(asked, title) -> None:
    assert question_for("c1", asked, ASK, "").title.endswith(title)


def test_the_name_of_a_workspaces_program_cannot_pretend_to_be_a_part_of_the_reason() -> None:
    odd = msgspec.structs.replace(RUN, programs=("bin/make from /usr; nothing",))
    reason = question_for("c1", odd, ASK, "").reason
    assert reason.endswith("it runs 'bin/make from /usr; nothing' from the workspace")


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[2K\x1b[1A", "\\u001b[2K\\u001b[1A"),
        ("a\rb", "a\\u000db"),
        ("\x00\x07\x7f\x9b", "\\u0000\\u0007\\u007f\\u009b"),
        ("\u202egpj.exe\u2066\u061c", "\\u202egpj.exe\\u2066\\u061c"),
        ("rm\u200b\u2060\ufeff\u00ad -r", "rm\\u200b\\u2060\\ufeff\\u00ad -r"),
        ("\u034f\u115f\u1160\u3164", "\\u034f\\u115f\\u1160\\u3164"),
        ("\uffa0\ufe0f\u2800", "\\uffa0\\ufe0f\\u2800"),
        ("\U000e0041\U000e0100", "\\U000e0041\\U000e0100"),
        ("a\u00a0b\u3000c\u2028d\u2029\x0b\x85", "a\\u00a0b\\u3000c\\u2028d\\u2029\\u000b\\u0085"),
        ("\ue000\ud800\U000f0000", "\\ue000\\ud800\\U000f0000"),
    ],
)  # fmt: skip
def test_characters_that_hide_or_reorder_text_are_shown_as_code_points(
    hidden: str, shown: str
) -> None:
    assert visible(hidden) == shown


def test_ordinary_text_in_a_permission_question_is_shown_unchanged() -> None:
    text = 'def läuft(名前):\n\treturn "a\u0301 שלום 🐢"  # → ok'
    assert visible(text) == text


@given(st.text(st.characters()))
def test_shown_text_has_no_invisible_characters_and_showing_is_idempotent(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert not {unicodedata.category(one) for one in shown.replace("\n", "").replace("\t", "")} & {
        "Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp",
    }  # fmt: skip


@given(st.text())
def test_a_permission_question_shows_the_rule_that_would_be_stored(rule: str) -> None:
    assert question_for("c1", RUN, Ask("why", rule=rule), "").rule == visible(rule)
