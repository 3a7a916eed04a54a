"""All settings, as one frozen value; a field's description is its line in ``docs/settings.md``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from indwell.messages import Effort, Verbosity
from indwell.settings.credentials import SECRETS, Secret
from indwell.settings.table_types import Hook, LanguageServerSetting, TraceSettings

Mode: TypeAlias = Literal["ask", "review", "auto", "plan"]
ProviderName: TypeAlias = Literal["openai", "scripted"]
WireSetting: TypeAlias = Literal["auto", "chat", "responses", "messages"]
Profile: TypeAlias = Literal["auto", "full", "lean"]
CacheLifeSetting: TypeAlias = Literal["5m", "1h"]
CommandShellName: TypeAlias = Literal["auto", "bash", "pwsh", "powershell"]
InstructionKind: TypeAlias = Literal[
    "agents", "claude", "gemini", "copilot", "cursor", "windsurf", "conventions"
]
"""Kinds of instruction files; ``prompt.instruction_files`` has the files' names."""

ChangeKind: TypeAlias = Literal["delete", "rename", "rewrite", "unnamed"]
CompactionName: TypeAlias = Literal[
    "default", "ladder-a", "ladder-50-70-90", "auto-b", "regions-d", "slide", "none"
]
"""Names in ``context.compaction.presets``, ``PRESETS`` and ``ALIASES``; a test compares them."""

FREEDOM: tuple[Mode, ...] = ("plan", "ask", "review", "auto")  # from the strictest to the freest

DAY_S = 86_400  # the longest time that a setting can have; the limit also excludes `inf`

_Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=DAY_S)]
_Price: TypeAlias = Annotated[float, Meta(ge=0, le=1e6)]
_Share: TypeAlias = Annotated[float, Meta(gt=0, lt=1)]
_Tokens: TypeAlias = Annotated[int, Meta(ge=1, le=10**9)]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's settings. Times are in seconds, sizes in tokens, prices in US dollars."""

    model: Annotated[
        str, Meta(description="The endpoint's name of the model; there is no default")
    ] = ""
    models: Annotated[
        tuple[str, ...],
        Meta(
            description="Other models that an editor's settings may choose; by hand you may "
            "choose any offered model"
        ),
    ] = ()
    base_url: Annotated[
        str | None,
        Meta(description="Address of an OpenAI-compatible endpoint; OpenAI's own if not set"),
    ] = None
    api_key: Annotated[
        Secret | None, Meta(description="Key for the endpoint; never shown, logged or stored")
    ] = None
    api_key_variable: Annotated[
        str, Meta(description="Environment variable that holds the key for the endpoint")
    ] = ""
    key_header: Annotated[
        str,
        Meta(
            description="Header that carries the key alone, such as `api-key`; the usual one if "
            "not set"
        ),
    ] = ""
    headers: Annotated[
        dict[str, Secret],
        Meta(
            description="More headers for the endpoint, as a table; a value such as `$TEAM` is "
            "taken from that environment variable"
        ),
    ] = {}
    query: Annotated[
        dict[str, str],
        Meta(
            description="Query parameters for the endpoint's addresses, as a table: `api-version`"
        ),
    ] = {}
    proxy: Annotated[
        str, Meta(description="Address of the proxy to the endpoint; the system's if not set")
    ] = ""
    endpoints: Annotated[
        dict[str, dict[str, Any]],
        Meta(
            description="Named endpoints, as `[endpoints.NAME]` tables; `MODEL@NAME` is a model "
            "there; [more](providers.md#several-endpoints)"
        ),
    ] = {}
    fallback: Annotated[
        str,
        Meta(
            description="The model, as `MODEL@NAME`, that continues a turn when the endpoint is "
            "down or over its limit; the turn says so, with both prices"
        ),
    ] = ""
    counts_as: Annotated[
        str,
        Meta(
            description="The public name of the model, for its window, prices and abilities, if "
            "a gateway or deployment uses another name"
        ),
    ] = ""
    provider: Annotated[
        ProviderName, Meta(description="`openai`, or `scripted` for the demo without a network")
    ] = "openai"
    mode: Annotated[
        Mode,
        Meta(
            description="`plan` changes nothing, `ask` confirms each edit, `review` applies edits "
            "that wait for your verdict, `auto` just applies them"
        ),
    ] = "review"
    window: Annotated[
        _Tokens | None,
        Meta(
            description="Size of the model's context window in tokens; looked up by its name if "
            "not set"
        ),
    ] = None
    max_output: Annotated[
        _Tokens,
        Meta(description="Token limit of one reply; models that think get 24,000 more for it"),
    ] = 8_192
    effort: Annotated[
        Effort,
        Meta(
            description="How much the model thinks before it answers; the model decides if not "
            "set. An endpoint that does not support the value gets the nearest one"
        ),
    ] = ""
    verbosity: Annotated[
        Verbosity,
        Meta(description="How long answers are, for OpenAI's newer models"),
    ] = ""
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None,
        Meta(
            description="How freely the model chooses words; `0.2` for a model on this machine, "
            "elsewhere the endpoint decides if not set"
        ),
    ] = None
    top_p: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="Share of likely words that the model chooses from"),
    ] = None
    seed: Annotated[
        int | None,
        Meta(description="Number that makes replies repeatable, if the endpoint supports that"),
    ] = None
    extra_body: Annotated[
        dict[str, Any],
        Meta(description="More fields of each request's body, as a table; they replace ours"),
    ] = {}
    wire: Annotated[
        WireSetting,
        Meta(
            description="The API of the endpoint: `chat` completions, OpenAI's `responses`, "
            "Anthropic's `messages`; `auto` chooses by address and model, and learns from refusals"
        ),
    ] = "auto"
    profile: Annotated[
        Profile,
        Meta(
            description="How much a new session tells the model: `full`, or `lean` for small "
            "models, with six short tools and a short prompt; `auto` is lean for windows under "
            "16,000 tokens and for models of under 10 billion parameters"
        ),
    ] = "auto"
    compaction: Annotated[
        CompactionName,
        Meta(
            description="Preset for compaction, which keeps a long conversation inside the window; "
            "`[compaction] preset` is the same; [more](context.md#your-own-thresholds)"
        ),
    ] = "default"
    compaction_thresholds: Annotated[
        tuple[_Share, ...],
        Meta(
            description="Shares of the prompt's limit above which the steps of the preset may run, "
            "such as `[0.5, 0.7, 0.9]`; steps without a value keep the preset's"
        ),
    ] = ()
    compaction_aim: Annotated[
        _Share | None,
        Meta(description="Share of the prompt's limit down to which the steps shorten"),
    ] = None
    compaction_keep_turns: Annotated[
        Annotated[int, Meta(ge=0, le=1_000)],
        Meta(
            description="Number of newest turns that stay unchanged as long as the prompt fits, in "
            "at most half of its limit"
        ),
    ] = 0
    compaction_keep_tokens: Annotated[
        Annotated[int, Meta(ge=0, le=10**9)],
        Meta(
            description="Number of newest tokens that stay unchanged as long as the prompt fits, "
            "in at most half of its limit"
        ),
    ] = 0
    small_model: Annotated[
        str,
        Meta(
            description="A cheaper model that may write summaries, perhaps at a named endpoint; "
            "the main model does if not set, or if that costs less"
        ),
    ] = ""
    hooks: Annotated[
        tuple[Hook, ...],
        Meta(
            description="Your own commands that run at certain events, as `[[hooks]]` tables; "
            "[more](hooks.md)"
        ),
    ] = ()
    language_servers: Annotated[
        dict[str, LanguageServerSetting],
        Meta(
            description="Language servers that answer questions about code where the editor "
            "cannot, as `[language_servers.NAME]` tables; [more](navigation.md)"
        ),
    ] = {}
    mcp: Annotated[
        dict[str, dict[str, Any]],
        Meta(
            description="Servers of the Model Context Protocol, as `[mcp.NAME]` tables; "
            "[more](mcp.md)"
        ),
    ] = {}
    traces: Annotated[
        TraceSettings,
        Meta(description="Traces by OpenTelemetry, as `[traces]`; [more](session-data.md#traces)"),
    ] = TraceSettings()
    agent_model: Annotated[
        str,
        Meta(
            description="A cheaper model for sub-agents, perhaps at a named endpoint; the main "
            "model if not set"
        ),
    ] = ""
    agent_rounds: Annotated[
        Annotated[int, Meta(ge=1, le=1_000)],
        Meta(description="Limit of model calls for one sub-agent"),
    ] = 20
    agent_budget_tokens: Annotated[
        _Tokens | None, Meta(description="Limit of input and output tokens for one sub-agent")
    ] = 500_000
    memory: Annotated[
        bool,
        Meta(
            description="Let the model propose facts to remember, and send it the facts that fit "
            "a prompt"
        ),
    ] = True
    round_limit: Annotated[
        Annotated[int, Meta(ge=1, le=100_000)],
        Meta(description="Limit of model calls for one turn; then it asks whether to continue"),
    ] = 100
    attach_selection: Annotated[
        bool, Meta(description="Tell the model what is selected in the editor")
    ] = True
    attach_opened_file: Annotated[
        bool, Meta(description="Tell the model which file you look at (its name, not its text)")
    ] = True
    attach_diagnostics: Annotated[
        bool, Meta(description="Tell the model the errors that the editor shows")
    ] = True
    review_hints: Annotated[
        bool,
        Meta(
            description="Mark each pending change in the editor as a hint, so that `next problem` "
            "finds it"
        ),
    ] = True
    deny: Annotated[
        tuple[str, ...],
        Meta(
            description="Globs of files whose contents never go to the model. The defaults "
            "below, which only need a question, come first; `!glob` takes files out "
            "again"
        ),
    ] = SECRETS
    rules_allow: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of what runs without a question: commands (`npm test`, `git "
            "fetch *`), files (`edit: docs/**`, `read: .env.test`) and tools (`tool: "
            "bash`)"
        ),
    ] = ()
    rules_ask: Annotated[
        tuple[str, ...],
        Meta(
            description="Patterns of what Indwell asks about each time, even if something else "
            "allows it"
        ),
    ] = ()
    rules_deny: Annotated[
        tuple[str, ...],
        Meta(description="Patterns of what never runs, in any mode and with any answer"),
    ] = ()
    redact_secrets: Annotated[
        bool,
        Meta(
            description="Remove keys and tokens of known forms from tool output for the model "
            "and from the session's log; a mark replaces each"
        ),
    ] = True
    trusted: Annotated[
        tuple[str, ...],
        Meta(
            description="Folders that are trusted with all their contents, without a question; "
            "absolute or with `~`"
        ),
    ] = ()
    home_shown: Annotated[
        tuple[str, ...],
        Meta(
            description="Files and folders of your home folder that commands in the sandbox may "
            "read in addition to toolchains and build caches, such as "
            "`src/shared-library`"
        ),
    ] = ()
    harmless_names: Annotated[
        tuple[str, ...],
        Meta(
            description="Names beginning with a dot that no tool loads, such as `.acme-cache` or "
            "`.acme-*`: Indwell does not ask about them at the root of a repository. "
            "Protected names stay protected"
        ),
    ] = ()
    check_edits: Annotated[
        bool,
        Meta(
            description="After edits, look for new errors with the editor or a check of the "
            "project, and ask the model once a turn to fix them"
        ),
    ] = True
    check_command: Annotated[
        str,
        Meta(
            description="Command that checks the project, such as `mypy && ruff check`; it runs "
            "without a question, in the sandbox. Detected from the project's files "
            "if not set"
        ),
    ] = ""
    check_timeout_s: Annotated[
        _Seconds, Meta(description="Time limit for all checks of a turn together, in seconds")
    ] = 60
    instructions: Annotated[
        str, Meta(description="Your instructions to the model, for every session")
    ] = ""
    web_fetch: Annotated[
        bool,
        Meta(
            description="Give the model the tool `web_fetch`, which reads a web page; Indwell asks "
            "about each page of a host that `web_hosts` does not name; [more](web.md)"
        ),
    ] = False
    web_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts whose pages need no question, such as `docs.python.org`, "
            "`*.readthedocs.io` or `localhost:8000`"
        ),
    ] = ()
    instruction_files: Annotated[
        tuple[InstructionKind, ...],
        Meta(
            description="Which agents' instruction files of a project count, in this order. Where "
            "`agents` comes first, a folder with `AGENTS.md` needs no other; `[]` sends none; "
            "[more](instructions.md#files-of-other-agents)"
        ),
    ] = ("agents", "claude", "gemini", "copilot", "cursor", "windsurf", "conventions")
    apply_edit_timeout_s: Annotated[
        _Seconds, Meta(description="Time limit for the editor's answer to an edit, in seconds")
    ] = 10
    answer_timeout_s: Annotated[
        _Seconds, Meta(description="Seconds after which an unanswered permission question means no")
    ] = 300
    question_pause_s: Annotated[
        Annotated[float, Meta(ge=0, le=60)],
        Meta(
            description="Seconds without typing before the editor shows a question, so that no "
            "key meant for a file answers it; `0` shows it at once"
        ),
    ] = 2
    confirm_edits: Annotated[
        tuple[ChangeKind, ...],
        Meta(
            description="Kinds of changes that the editor asks about in mode `auto`; "
            "[more](review.md#when-the-editor-asks)"
        ),
    ] = ("delete", "rename", "rewrite", "unnamed")
    tasks_at_once: Annotated[
        Annotated[int, Meta(ge=1, le=3)],
        Meta(description="Number of tasks that may run at once; [more](tasks.md)"),
    ] = 2
    command_shell: Annotated[
        CommandShellName,
        Meta(
            description="On Windows, the shell for commands: `auto` takes the bash of Git for "
            "Windows, else PowerShell 7 (`pwsh`), else Windows PowerShell (`powershell`); applies "
            "from the next start on"
        ),
    ] = "auto"
    command_timeout_s: Annotated[
        _Seconds,
        Meta(description="Time limit for a command, in seconds; the model may ask for less"),
    ] = 120
    stall_timeout_s: Annotated[
        _Seconds,
        Meta(description="Seconds without data from the endpoint after which a call fails"),
    ] = 60
    first_token_timeout_s: Annotated[
        _Seconds | None,
        Meta(
            description="Seconds within which a reply must begin; 300 if not set, and no limit "
            "for an endpoint on this machine, which may read a long prompt for "
            "minutes"
        ),
    ] = None
    keep_sessions_days: Annotated[
        Annotated[int, Meta(ge=1, le=36_500)] | None,
        Meta(description="Days after which a session is deleted; sessions are kept if not set"),
    ] = None
    keep_sessions_mb: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000_000,
            description="Disk limit for sessions in megabytes; above it, the oldest closed and "
            "reviewed sessions are deleted; 0 means no limit",
        ),
    ] = 2_000
    cache_marks: Annotated[
        bool, Meta(description="Send `cache_control` marks, for endpoints that support them")
    ] = False
    cache_life: Annotated[
        CacheLifeSetting,
        Meta(
            description="How long Anthropic's prompt cache keeps what no request uses: `5m`, or "
            "`1h`, which costs more to write and pays if you often pause; "
            "[more](tokens-and-cost.md#five-minutes-or-an-hour)"
        ),
    ] = "5m"
    pictures: Annotated[
        bool | None,
        Meta(
            description="Send the model the pictures that it reads; looked up by model if not set"
        ),
    ] = None
    price_in: Annotated[
        _Price | None,
        Meta(description="Dollars for a million prompt tokens; looked up by model if not set"),
    ] = None
    price_out: Annotated[
        _Price | None,
        Meta(description="Dollars for a million reply tokens; looked up by model if not set"),
    ] = None
    price_cached: Annotated[
        _Price | None,
        Meta(
            description="Dollars for a million prompt tokens read from a cache; looked up by model "
            "if not set, else as `price_in`"
        ),
    ] = None
    price_cache_write: Annotated[
        _Price | None,
        Meta(
            description="Dollars for a million prompt tokens written to a cache; looked up by "
            "model if not set, else as `price_in`"
        ),
    ] = None
    budget_turn: Annotated[
        _Price | None,
        Meta(
            description="Limit in dollars for one turn; it stops before a call that could exceed it"
        ),
    ] = None
    budget_session: Annotated[
        _Price | None, Meta(description="Limit in dollars for one session")
    ] = None
    budget_day: Annotated[
        _Price | None,
        Meta(description="Limit in dollars for all sessions together in a calendar day"),
    ] = None
    budget_turn_tokens: Annotated[
        _Tokens | None,
        Meta(description="Limit of input and output tokens for one turn; works without a price"),
    ] = None
