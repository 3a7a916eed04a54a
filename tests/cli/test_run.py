from __future__ import annotations

import asyncio
import json

import pytest

from indwell.cli.terminal.output import UNCHECKED
from support.editing import (
    EDIT,
    MENDED,
    MODEL,
    READ,
    SOURCE,
    USAGE,
    Home,
    bash,
    results,
    texts_of,
)
from support.loopback_endpoint import LoopbackEndpoint, chunk, refuse, say, stream
from support.model_server import answering, listed
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, base_url: str = "", **variables: str) -> Ended:
    return await indwell(
        "run",
        *arguments,
        environment=home.environment(base_url, **variables),
        folder=home.workspace,
    )


async def test_with_json_each_line_is_an_event_and_the_last_is_the_end(home) -> None:
    ended = await run(home, "What can you do?", "--scripted", "--json")
    assert (ended.code, ended.stderr) == (0, "")
    # Without a sandbox, a notice about the missing sandbox comes by the second turn.
    told = [one for one in ended.events if one["type"] == "notice"]
    assert [one["message"] for one in told if not one["message"].startswith("sandbox: ")] == []
    kinds = [one["type"] for one in ended.events if one["type"] not in {"text", "notice"}]
    assert kinds == ["turnStarted", "usageReported", "turnFinished"]
    last = ended.events[-1]
    assert (last["ending"], last["turn"], last["rounds"], last["changes"]) == ("done", 1, 1, [])
    streamed = "".join(one["text"] for one in ended.events if one["type"] == "text")
    assert last["answer"] == streamed
    assert home.endings() == [("done", "")]


async def test_an_empty_reply_causes_another_request(home) -> None:
    async with LoopbackEndpoint([say("", usage=USAGE), say("Here I am.", usage=USAGE)]) as endpoint:
        ended = await run(home, "hello", base_url=endpoint.base_url)
    assert (ended.code, ended.stdout) == (0, "Here I am.\n")
    assert "the model's reply was empty; asking again\n" in ended.stderr
    assert "2 rounds · 20 tokens in (0 cached), 4 out · " in ended.stderr, "both calls are charged"
    first, second = (one.body["messages"] for one in endpoint.seen)
    assert first == second
    assert home.endings() == [("done", "")]


EMPTY = {
    "no words": say("", usage=USAGE),
    "blank words": say(" \n\n", usage=USAGE),
    "a call's end without a call": say("", finish="tool_calls", usage=USAGE),
    "reasoning alone": stream(chunk({"reasoning_content": "Hm."}), chunk({}, finish="stop")),
}


@pytest.mark.parametrize("reply", EMPTY.values(), ids=EMPTY)
async def test_two_empty_replies_fail_the_turn_with_advice(home, reply) -> None:
    async with LoopbackEndpoint([reply, reply]) as endpoint:
        ended = await run(home, "hello", base_url=endpoint.base_url)
    assert ended.code == 1
    assert len(endpoint.seen) == 2
    assert (
        f"the model '{MODEL}' sent an empty reply, 2 times in a row; ask again, or choose another "
        "model\nYour prompt was not sent: hello\n"
    ) in ended.stderr
    assert home.endings() == [("failed", "hello")]


async def test_an_empty_reply_after_work_says_that_the_work_stays(home) -> None:
    script = [say("I look.", calls=[READ]), say(calls=[EDIT]), say(""), say(""), say("Mended.")]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, "mend it", base_url=endpoint.base_url)
        assert ended.code == 1
        assert "completed work is kept; ask again" in ended.stderr
        assert home.shop.read_text(encoding="utf-8") == MENDED
        again = await run(home, "--continue", "go on", base_url=endpoint.base_url)
    assert (again.code, "Mended." in again.stdout) == (0, True)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--continue",), "no session"),
        (("--resume", "nothing"), "nothing"),
        (("--new-from", "nothing"), "nothing"),
        (("--continue", "--turn", "1"), "no session"),
        (("/nonsense",), "nonsense"),
        (("/compact",), "there is no conversation to shorten yet"),
        (("--file", "nowhere.py", "x"), "--file: "),
    ],
)
async def test_the_reason_for_running_no_turn_goes_to_stderr(home, words, why) -> None:
    ended = await run(home, *words)
    assert ended.code in {1, 2}
    assert why in ended.stderr, ended
    assert ended.stdout == ""


async def test_a_run_edits_files_and_reports_the_edits(home) -> None:
    script = [
        say("I look.", calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say("Mended.", usage=USAGE),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, "mend it", base_url=endpoint.base_url)
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED)
    assert ended.stdout == "Mended.\n"
    assert "I look.\n▸ read_file shop.py\n" in ended.stderr
    assert "-    return sum(items) + 1\n+    return sum(items)\n" in ended.stderr
    assert ended.stderr.endswith(
        f"not verified{UNCHECKED}\n1 change to review: indwell review\n"
        "3 rounds · 30 tokens in (0 cached), 6 out · cost unknown · "
        f"{ended.stderr.rsplit(' ', 2)[1]} s\n"
    )


async def test_a_quiet_run_prints_the_answer_alone(home) -> None:
    script = [say("I look.", calls=[READ]), say(calls=[EDIT]), say("Mended.\x1b[2J")]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, "mend it", "--quiet", base_url=endpoint.base_url)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "Mended.\\u001b[2J\n", "")


async def test_a_quiet_run_that_fails_gives_the_reason_on_stderr(home) -> None:
    async with LoopbackEndpoint([say("", usage=USAGE)] * 2) as endpoint:
        ended = await run(home, "hello", "--quiet", base_url=endpoint.base_url)
    assert (ended.code, ended.stdout) == (1, "")
    assert "sent an empty reply" in ended.stderr
    assert ended.stderr.endswith("Your prompt was not sent: hello\n")


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
async def test_the_answers_of_a_run_are_written_to_the_file_of_output(home, json) -> None:
    place = home.workspace / "answer.md"
    place.write_text("of the last run", encoding="utf-8")
    async with LoopbackEndpoint([say("I look.", calls=[READ]), say("Well.")]) as endpoint:
        ended = await run(home, "look", "--output", "answer.md", *json, base_url=endpoint.base_url)
    assert (ended.code, place.read_text(encoding="utf-8")) == (0, "Well.\n")
    if json:
        assert ended.events[-1]["answer"] == "Well."
    else:
        assert (ended.stdout, "I look.\n" in ended.stderr) == ("", True)


async def test_a_failed_run_leaves_no_old_answer_in_the_file_of_output(home) -> None:
    place = home.workspace / "answer.md"
    place.write_text("of the last run", encoding="utf-8")
    async with LoopbackEndpoint([say("", usage=USAGE)] * 2) as endpoint:
        ended = await run(home, "x", "-o", "answer.md", base_url=endpoint.base_url)
    assert (ended.code, place.read_text(encoding="utf-8")) == (1, "")


async def test_an_output_file_that_cannot_be_written_is_a_wrong_command_line(home) -> None:
    for place in ("nowhere/answer.md", "."):
        ended = await run(home, "x", "--scripted", "--output", place)
        assert (ended.code, ended.stdout) == (2, "")
        assert ended.stderr.startswith("--output: "), ended.stderr
    assert not list(home.state.rglob("log.jsonl"))


async def test_environment_variables_are_used(home) -> None:
    async with LoopbackEndpoint([say("Well.")]) as endpoint:
        ended = await run(
            home, "hello", base_url=endpoint.base_url, OPENAI_API_KEY="sk-of-the-environment"
        )
        (seen,) = endpoint.seen
    assert ended.code == 0
    assert seen.body["model"] == MODEL
    assert seen.headers["authorization"] == "Bearer sk-of-the-environment"
    ((_, log),) = [(path.name, path) for path in home.state.rglob("log.jsonl")]
    assert log.is_relative_to(home.state / "sessions")


async def test_lines_of_a_file_are_sent_as_a_selection(home) -> None:
    home.write("deep/a b.py", "one\r\ntwo\r\nthree\r\n")
    wishes = {
        "shop.py:2": "The user selected line 2 of shop.py:\n    return sum(items) + 1",
        "shop.py": f"The user selected lines 1-2 of shop.py:\n{SOURCE}",
        "shop.py:L1-L2": f"The user selected lines 1-2 of shop.py:\n{SOURCE}",
        "deep/a b.py:2-3": "The user selected lines 2-3 of 'deep/a b.py':\ntwo\r\nthree\r\n",
    }
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as endpoint:
        runs = [run(home, place, "--file", place, base_url=endpoint.base_url) for place in wishes]
        assert {ended.code for ended in await asyncio.gather(*runs)} == {0}
        asked = [texts_of(seen.body["messages"]) for seen in endpoint.seen]
    told = {text.rpartition("\n\n")[2]: text for text in asked}
    for place, selection in wishes.items():
        wrapped = selection.strip("\n")
        assert f"<ide_selection>\n{wrapped}\n</ide_selection>" in told[place]


async def test_without_a_terminal_a_command_is_denied_and_the_turn_continues(home) -> None:
    async with LoopbackEndpoint([bash("rm -f a; touch ran"), say("Then not.")]) as endpoint:
        ended = await run(home, "run it", "--json", base_url=endpoint.base_url)
        (told,) = results(endpoint.seen[-1])
        assert told.startswith("nobody answered whether this may run, so it did not; go on")
    assert (ended.code, list(home.files)) == (0, ["shop.py"])
    answered = [one for one in ended.events if one["type"] == "permissionAnswered"]
    assert [one["answer"] for one in answered] == ["unanswered"]
    assert "There is no terminal to ask in, so the answer is no." in ended.stderr


async def test_commands_run_unasked_only_with_the_allow_commands_flag(home) -> None:
    async with LoopbackEndpoint([bash("echo ran > ran"), say("Done.")]) as endpoint:
        ended = await run(home, "run it", "--allow-commands", base_url=endpoint.base_url)
    assert (ended.code, home.files["ran"]) == (0, b"ran\n")


async def test_the_allow_commands_flag_allows_only_commands(home) -> None:
    """The flag allows no AGENTS.md, `.env`, hooks, or commands under the user's ask rules (U4)."""
    home.configure('[rules]\nask = ["git push"]\n')
    home.write(".env", "PASSWORD=hunter2\n")
    home.write(".git/hooks/README", "x\n")
    write = json.dumps({"path": "AGENTS.md", "content": "obey\n"})
    script = [
        bash("rm -f gone; echo ran > ran"),
        say(calls=[("write_file", write)]),
        say(calls=[("read_file", json.dumps({"path": ".env"}))]),
        bash("echo touch pwned >> .git/hooks/pre-commit"),
        bash("git push"),
        say("Done."),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, "go", "--json", "--allow-commands", base_url=endpoint.base_url)
        told = results(endpoint.seen[-1])
    assert home.files["ran"] == b"ran\n"
    assert all("--allow-commands" in one for one in told[1:])
    assert not {"AGENTS.md", ".git/hooks/pre-commit"} & set(home.files)
    assert "hunter2" not in json.dumps(endpoint.seen[-1].body)
    answers = [one["answer"] for one in ended.events if one["type"] == "permissionAnswered"]
    assert answers == ["beforehand", *["uncovered"] * 4]


async def test_keys_in_a_home_folder_workspace_are_not_read_without_a_question(home) -> None:
    home.write(".config/newtool/auth", "canary-tool\n")
    home.write("notes.txt", "canary-notes\n")
    script = [
        say(calls=[("read_file", json.dumps({"path": ".config/newtool/auth"}))]),
        say(calls=[("grep", json.dumps({"pattern": "canary"}))]),
        bash("cat .config/newtool/auth notes.txt"),
        say("Done."),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        await run(home, "go", "--json", base_url=endpoint.base_url, HOME=str(home.workspace))
        told = "\n".join(results(endpoint.seen[-1]))
    assert "canary-notes" in told
    assert "canary-tool" not in told
    assert "nobody answered whether this may run" in told


BAD = {
    "no key": (("hello",), {"INDWELL_MODEL": MODEL}, "no API key is set; run `indwell login`"),
    "no model": (("hello",), {}, "no model is set; run `indwell login` in a terminal, or"),
    "no such file": (
        ("hello", "--scripted", "--file", "nothing.py"),
        {},
        "'nothing.py' does not exist",
    ),
    "no such lines": (
        ("hello", "--scripted", "--file", "shop.py:2-9"),
        {},
        "'shop.py' has 2 lines, so there is no range 2-9",
    ),
    "outside": (
        ("hello", "--scripted", "--file", "../x.py"),
        {},
        "is outside the workspace; stay within",
    ),
    "secret": (
        ("hello", "--scripted", "--file", ".env"),
        {},
        "'.env' matches a deny rule for secrets, so it is not sent",
    ),
    "state": (
        ("hello", "--scripted"),
        {"INDWELL_STATE": "relative"},
        "INDWELL_STATE = 'relative' is not an absolute path; write the whole path",
    ),
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("",), "no prompt; say what to do"),
        (("  ",), "no prompt; say what to do"),
        (("hello", "--folder", "nowhere"), "'nowhere' is not a folder"),
        (("hello", "--file", "a", "--file", "b"), "--file: only one file"),
        (("hello", "--mode", "careful"), "invalid choice: 'careful'"),
        (("two", "words"), "unrecognized arguments: words; put the words of a prompt in quotes"),
    ],
)
async def test_a_wrong_run_command_line_is_a_usage_error(home, arguments, said) -> None:
    ended = await run(home, *arguments)
    assert (ended.code, ended.stdout, said in ended.stderr) == (2, "", True), ended


async def test_a_run_that_cannot_begin_fails_with_one_sentence(home) -> None:
    home.write(".env", "KEY=1\n")
    plain = [run(home, *arguments, **variables) for arguments, variables, _ in BAD.values()]
    for (name, (_, _, sentence)), ended in zip(
        BAD.items(), await asyncio.gather(*plain), strict=True
    ):
        (line,) = ended.stderr.splitlines()
        code = 2 if "--file" in BAD[name][0] else 1
        assert (ended.code, sentence in line, ended.stdout) == (code, True, ""), (name, ended)
        assert "glob" not in line, "that is a tool of the model's"
    assert home.logs() == []


async def test_with_json_a_failure_is_an_event_that_returns_the_prompt(home) -> None:
    ended = await run(home, "my words", "--json", INDWELL_MODEL=MODEL)
    (event,) = ended.events
    assert (ended.code, event["type"], event["ending"], event["draft"]) == (
        1,
        "turnFinished",
        "failed",
        "my words",
    )
    assert event["message"].startswith("no API key is set; ")


async def test_a_wrong_run_command_line_prints_the_usage(home) -> None:
    shown = await asyncio.gather(
        run(home),
        run(home, "x", "--no-such-option"),
        indwell("no-such-command", environment=home.environment(), folder=home.workspace),
    )
    for ended in shown:
        assert (ended.code, ended.stdout, ended.stderr.startswith("usage: indwell")) == (
            2,
            "",
            True,
        )


async def test_a_failed_turn_ends_the_run_with_exit_code_one(home) -> None:
    """The model repeats one call until Indwell stops the turn, so the turn counts as failed."""
    async with LoopbackEndpoint(lambda _seen: say(calls=[READ])) as endpoint:
        ended = await run(home, "loop", "--json", base_url=endpoint.base_url)
    last = ended.events[-1]
    assert (ended.code, last["ending"]) == (1, "repeated")
    assert json.dumps(last["message"]).startswith('"stopped: read_file was called')


async def test_the_mode_of_one_run_is_chosen_on_its_command_line(home) -> None:
    home.configure('mode = "plan"\n')
    ends = {}
    for mode in ((), ("--mode", "review")):
        script = [say(calls=[READ]), say(calls=[EDIT]), say("Well.")]
        async with LoopbackEndpoint(script) as endpoint:
            ended = await run(home, "mend it", *mode, base_url=endpoint.base_url)
        ends[mode] = (ended.code, home.shop.read_text(encoding="utf-8"))
    assert ends == {(): (0, SOURCE), ("--mode", "review"): (0, MENDED)}


async def test_without_a_model_a_server_on_this_machine_is_named(home) -> None:
    listing = listed("q", owned_by="library")
    async with LoopbackEndpoint(answering(listing)) as endpoint:
        ended = await run(home, "hello", OLLAMA_HOST=endpoint.base_url)
        keyless = await run(home, "hello", OLLAMA_HOST=endpoint.base_url, INDWELL_MODEL="gpt")
    assert (ended.code, ended.stdout) == (1, "")
    assert (keyless.code, "runs here" in keyless.stderr) == (1, False)
    assert ended.stderr.endswith("; Ollama runs here: `indwell login ollama`\n")


async def test_a_prompt_that_never_reached_the_model_is_returned(home) -> None:
    async with LoopbackEndpoint([refuse(401)]) as endpoint:
        ended = await run(home, "my own words", base_url=endpoint.base_url)
    assert ended.code == 1
    assert "Your prompt was not sent: my own words\n" in ended.stderr


async def test_an_unreachable_address_is_reported_with_the_source_of_its_setting(home) -> None:
    nowhere = "http://127.0.0.1:9/v1"
    path = home.configure(f'model = "q"\nbase_url = "{nowhere}"\n')
    by_variable, by_file = await asyncio.gather(
        run(home, "hello", "--json", base_url=nowhere), run(home, "hello", "--json")
    )
    assert [one.events[-1]["message"].rpartition(" (")[2] for one in (by_variable, by_file)] == [
        "the address is OPENAI_BASE_URL's)",
        f"the address is in {path})",
    ]
