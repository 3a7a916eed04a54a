from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from indwell.context.compaction.presets import DEFAULT
from indwell.errors import SettingsError
from indwell.policy.call_facts import Ask, CallFacts, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules
from indwell.settings.credentials import SECRETS, Secret
from indwell.settings.load import WORKSPACE_FILE, Loaded, lacking, load, state_folder
from indwell.settings.model import Settings
from indwell.settings.tighten import ASK_ALL, STRICTEST, strictest
from indwell.settings.values import preset_of


def test_empty_settings_give_the_defaults() -> None:
    assert load({}) == Loaded(Settings())


def test_the_environment_overrides_the_file_and_the_file_overrides_the_defaults() -> None:
    loaded = load(
        {"INDWELL_MODEL": "from-env", "OPENAI_API_KEY": "k", "HOME": "/root"},
        'model = "from-file"\nround_limit = 7\nbase_url = "http://localhost:1/v1"\n',
    )
    assert loaded == Loaded(
        Settings(
            model="from-env",
            api_key=Secret("k"),
            base_url="http://localhost:1/v1",
            round_limit=7,
        )
    )


def test_an_empty_variable_counts_as_unset() -> None:
    environment = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": " ", "INDWELL_MODEL": "\n"}
    assert load(environment, 'model = "m"') == Loaded(Settings(model="m"))


def test_every_environment_variable_sets_its_setting() -> None:
    environment = {
        "OPENAI_API_KEY": "k\n",
        "OPENAI_BASE_URL": "https://h/v1",
        "INDWELL_MODEL": "m",
        "INDWELL_PROVIDER": "scripted",
    }
    assert load(environment) == Loaded(
        Settings(api_key=Secret("k"), base_url="https://h/v1", model="m", provider="scripted")
    )


def test_the_error_about_an_invalid_variable_names_the_variable() -> None:
    with pytest.raises(SettingsError) as caught:
        load({"OPENAI_BASE_URL": "localhost"})
    assert str(caught.value) == (
        "OPENAI_BASE_URL: base_url = 'localhost' is not an address, expected one like "
        "'https://host/v1'; correct it and try again"
    )


def test_the_error_about_a_broken_file_names_the_line() -> None:
    with pytest.raises(SettingsError, match=r"^mine.toml line 2: .*; correct it and try again$"):
        load({}, 'model = "m"\nmode = \n', "mine.toml")


def test_the_users_globs_are_added_to_the_defaults() -> None:
    assert load({}, 'deny = ["*.db", ".env", "!secrets.*"]') == Loaded(
        Settings(deny=(*SECRETS, "*.db", ".env", "!secrets.*"))
    )


def test_a_read_rule_denies_a_file_like_an_entry_in_deny() -> None:
    loaded = load({}, '[rules]\ndeny = ["read: private/**", "git push *"]\nask = ["make *"]')
    assert loaded == Loaded(
        Settings(
            deny=(*SECRETS, "private/**"),
            rules_deny=("read: private/**", "git push *"),
            rules_ask=("make *",),
        )
    )


@pytest.mark.parametrize("pattern", ["", " ", "edit:", "read: !.env", "git\u200b push", "a\nb"])
def test_an_empty_or_invalid_permission_rule_is_a_settings_error(pattern: str) -> None:
    with pytest.raises(SettingsError, match="is not a pattern"):
        load({}, f"[rules]\ndeny = [{json.dumps(pattern)}]")


def test_pol_15_a_workspace_adds_rules_that_ask_or_deny_and_none_that_allow() -> None:
    table = """
    mode = "auto"
    [rules]
    allow = ["*", "edit: **"]
    ask = ["npm *"]
    deny = ["git push *", "read: !.env"]
    """
    loaded = load({}, '[rules]\nallow = ["make *"]\ndeny = ["rm *"]', workspace_file=table)
    assert loaded.settings.rules_allow == ("make *",)
    # One of the entries is not a pattern, and may have forbidden something.
    assert loaded.settings.rules_ask == ("npm *", *ASK_ALL)
    assert loaded.settings.rules_deny == ("rm *", "git push *")
    assert [one.split(" ")[0] for one in loaded.notices] == [
        "mode",
        "'rules_allow'",
        ".indwell/config.toml:",
        ".indwell/config.toml",
    ]


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("", "https://api.openai.com:443/other"),
        ('base_url = "http://localhost:1/v1"', "http://LOCALHOST:1/v2"),
    ],
)
def test_a_key_is_sent_only_to_the_address_in_its_file(file: str, address: str) -> None:
    assert load({"OPENAI_BASE_URL": address}, f'api_key = "k"\n{file}') == Loaded(
        Settings(base_url=address, api_key=Secret("k"))
    )


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("", "https://evil.example/v1"),
        ("", "http://api.openai.com/v1"),
        ("", "https://api.openai.com:444/v1"),
        ('base_url = "http://localhost:1/v1"', "http://localhost:2/v1"),
    ],
)
def test_an_api_key_of_the_config_file_is_not_sent_to_another_address(
    file: str, address: str
) -> None:
    notice = (
        f"api_key of config.toml is not sent to {address!r}, which OPENAI_BASE_URL names; "
        "set OPENAI_API_KEY for that endpoint"
    )
    assert load({"OPENAI_BASE_URL": address}, f'api_key = "k"\n{file}') == Loaded(
        Settings(base_url=address), (notice,)
    )


def test_notices_about_every_settings_source_are_collected() -> None:
    loaded = load({}, "modle = 1", "config.toml", {"hooks": 1}, 'base_url = "https://evil"')
    assert loaded == Loaded(
        Settings(),
        (
            "unknown setting 'modle' in config.toml is ignored; did you mean 'model'?",
            "'hooks' in the editor's options is ignored: only your own settings can set it",
            "'base_url' in .indwell/config.toml is ignored: only your own settings can set it",
        ),
    )


@pytest.mark.parametrize(
    ("workspace", "notice"),
    [
        (
            "mode = ",
            ".indwell/config.toml line 1: invalid value; correct it and try again",
        ),
        (
            "a = " + "[" * 20_000,
            ".indwell/config.toml is nested too deep; correct it and try again",
        ),
        (
            "#" * 70_000,
            ".indwell/config.toml is longer than any settings need to be; make it shorter",
        ),
        (
            f"{'.'.join(['a'] * 32_000)} = 1",  # an earlier version took twelve seconds
            ".indwell/config.toml is longer than any settings need to be; make it shorter",
        ),
    ],
)
def test_a_broken_workspace_settings_file_makes_indwell_ask_about_everything(
    workspace: str, notice: str
) -> None:
    own = 'mode = "auto"\nredact_secrets = false\n[rules]\nask = ["npm *"]\nallow = ["make *"]'
    loaded = load({}, own, workspace_file=workspace)
    assert loaded == Loaded(
        strictest(Settings(rules_ask=("npm *",), rules_allow=("make *",))),
        (notice, STRICTEST.format(WORKSPACE_FILE)),
    )
    settings = loaded.settings
    assert (settings.mode, settings.rules_ask) == ("ask", ("npm *", *ASK_ALL))
    assert settings.redact_secrets
    assert not settings.memory
    assert not settings.check_edits
    assert not settings.attach_selection
    assert load({}, 'mode = "plan"', workspace_file=workspace).settings.mode == "plan"


def test_no_call_runs_without_a_question_if_the_workspaces_file_is_broken() -> None:
    settings = load({}, 'mode = "auto"', workspace_file="mode = ").settings
    rules = PatternRules(("*", "edit: **", "read: **", "tool: *"), settings.rules_ask)
    policy = Policy(mode=settings.mode, rules=rules, roots=("/w",))
    calls = (
        CallFacts("bash", "run", command="ls", cwd="/w"),
        CallFacts("read_file", "read", paths=("a",), resolved=("/w/a",)),
        CallFacts("edit_file", "edit", paths=("a",), resolved=("/w/a",)),
        CallFacts("web_fetch", "external", address="https://example.org/"),
    )
    assert [type(decide(one, policy)) for one in calls] == [Ask] * len(calls)


def test_the_readable_entries_of_a_newer_workspace_file_apply_and_the_rest_asks() -> None:
    text = 'version = 2\nfresh = 1\ndeny = ["*.db"]\n[rules]\ndeny = ["git push *"]\n'
    loaded = load({}, workspace_file=text)
    assert (loaded.settings.rules_deny, loaded.settings.rules_ask) == (("git push *",), ASK_ALL)
    assert (loaded.settings.deny, loaded.settings.mode) == ((*SECRETS, "*.db"), "ask")
    newer, unknown, asks = loaded.notices
    assert newer.startswith(".indwell/config.toml was written by a newer Indwell (version 2")
    assert "update Indwell" in newer
    assert unknown.startswith("unknown setting 'fresh'")
    assert asks == STRICTEST.format(WORKSPACE_FILE)


def test_the_entries_before_the_broken_line_of_a_workspace_file_apply() -> None:
    text = 'mode = "plan"\n[rules]\ndeny = ["git push *"]\n<<<<<<< HEAD\nask = ["npm *"]\n'
    settings = load({}, workspace_file=text).settings
    assert (settings.mode, settings.rules_deny) == ("plan", ("git push *",))
    assert settings.rules_ask == ASK_ALL


@pytest.mark.parametrize("options", [[], "auto", 3, True])
def test_editor_options_that_are_not_a_table_are_reported(options: object) -> None:
    assert load({}, editor_options=options) == Loaded(
        Settings(), ("the editor's options are ignored: expected a table of settings",)
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (Settings(model="m", api_key=Secret("k")), ""),
        (Settings(model="m", base_url="http://localhost:1"), ""),
        (Settings(provider="scripted"), ""),
        (
            Settings(api_key=Secret("k")),
            (
                'no model is set; run `indwell login` in a terminal, or write model = "…" in '
                "config.toml or set INDWELL_MODEL"
            ),
        ),
        (
            Settings(model="m"),
            (
                "no API key is set; run `indwell login` in a terminal, or set OPENAI_API_KEY or "
                "write api_key in config.toml (an editor started from the desktop does not see "
                "the variables of a shell), or set base_url to an endpoint that needs none"
            ),
        ),
    ],
)
def test_a_missing_setting_is_reported_in_one_sentence_with_the_next_step(
    settings: Settings, sentence: str
) -> None:
    assert lacking(settings) == sentence


def test_the_state_folder_is_that_of_the_platform_or_set_by_the_user() -> None:
    default = Path("/platform")
    assert state_folder({}, default) == default
    assert state_folder({"INDWELL_STATE": ""}, default) == default
    mine = Path("/mine").absolute()
    assert state_folder({"INDWELL_STATE": str(mine)}, default) == mine


@pytest.mark.parametrize("text", ["state", "./state", "~/state"])
def test_a_relative_state_folder_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not an absolute path; write the whole path"):
        state_folder({"INDWELL_STATE": text}, Path("/platform"))


@pytest.mark.skipif(sys.platform == "win32", reason="the paths are POSIX paths")
@pytest.mark.parametrize(
    "text", ["/", "/home", "/home/jo", "/home/x/../jo", "/home/jo/.local/state"]
)
def test_a_folder_of_other_programs_cannot_be_the_state_folder(text: str) -> None:
    default = Path("/home/jo/.local/state/indwell")
    with pytest.raises(SettingsError, match="name a folder that only Indwell uses"):
        state_folder({"INDWELL_STATE": text, "HOME": "/home/jo"}, default)
    for own in (str(default), "/home/jo/mine"):
        assert state_folder({"INDWELL_STATE": own, "HOME": "/home/jo"}, default) == Path(own)


def test_a_table_for_compaction_names_the_preset_and_its_thresholds() -> None:
    text = '[compaction]\npreset = "ladder-50-70-90"\nthresholds = [0.4]\nkeep_turns = 3\n'
    loaded = load({}, text)
    assert loaded.notices == ()
    preset = preset_of(loaded.settings)
    assert preset.label == "ladder-a, keeps the newest 3 turns"
    assert [one.at for one in preset.rungs] == [0.4, 0.7, 0.9]
    assert load({}, 'compaction = "slide"').settings.compaction == "slide"


def test_senseless_thresholds_are_reported_and_the_presets_own_apply() -> None:
    loaded = load({}, "[compaction]\nthresholds = [0.9, 0.5]\nkeep_tokens = 500\n")
    (notice,) = loaded.notices
    assert notice.endswith("of compaction_thresholds; the preset's own values apply")
    assert preset_of(loaded.settings) == msgspec.structs.replace(DEFAULT, keep_tokens=500)
    (range_notice,) = load({}, "[compaction]\naim = 1.5\n").notices
    assert "compaction_aim" in range_notice
