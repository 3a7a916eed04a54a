"""A sandboxed command cannot read keys in the home folder, and builds still work."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from indwell.bounds.command_bounds import confiner
from indwell.bounds.home_view import HomeView, home_view, is_private
from indwell.policy.call_facts import Ask, CallFacts, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import Widening
from indwell.sandbox import Finished, spawn
from indwell.sandbox.confine.landlock import start_held
from indwell.sandbox.confinement import looked_up
from indwell.sandbox.program import run_program
from indwell.settings.model import Settings
from support.bubblewrap import needs_bubblewrap
from support.landlock import needs_landlock
from support.platforms import posix_only

_KEYS = """
.ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/a.key .aws/credentials .aws/sso/cache/a.json
.azure/msal_token_cache.json .kube/config .docker/config.json .password-store/a.gpg
.pki/nssdb/key4.db .config/gh/hosts.yml .config/glab-cli/config.yml .config/hub
.config/gcloud/credentials.db .config/op/config .config/rclone/rclone.conf .config/git/credentials
.git-credentials .netrc .npmrc .pypirc .pgpass .my.cnf .vault-token .cargo/credentials.toml
.gem/credentials .terraform.d/credentials.tfrc.json .bash_history .zsh_history .python_history
.psql_history .node_repl_history .local/share/fish/fish_history .claude.json
.claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json
.config/google-chrome/Default/Cookies .mozilla/firefox/a.default/logins.json
.thunderbird/a.default/key4.db .local/share/keyrings/login.keyring .config/sops/age/keys.txt
.config/github-copilot/apps.json .config/doctl/config.yaml .s3cfg .boto .huggingface/token
.cache/huggingface/token .kaggle/kaggle.json .config/pypoetry/auth.toml .gradle/gradle.properties
.m2/settings.xml .m2/settings-security.xml .composer/auth.json .local/share/kwalletd/kdewallet.kwl
.local/share/python_keyring/keyring_pass.cfg .config/pip/pip.conf .pip/pip.conf .config/uv/uv.toml
.local/share/uv/credentials/credentials.toml .config/stripe/config.toml
.config/netlify/config.json .netlify/config.json .local/share/com.vercel.cli/auth.json
.config/configstore/update.json .pulumi/credentials.json .config/argocd/config .databrickscfg
.databricks/token-cache.json .snowflake/config.toml .snowsql/config .dbt/profiles.yml
.step/secrets/root_ca_key .tsh/keys/a/b.pem .bitcoin/wallet.dat .ethereum/keystore/a
.config/solana/id.json .electrum/wallets/default_wallet .config/Signal/config.json
.config/Slack/Cookies .config/discord/Cookies .config/chromium/Default/Cookies
.config/Code/Cookies .config/Code/User/globalStorage/state.vscdb .config/Cursor/Cookies
.vscode-server/data/Machine/settings.json .vscode/argv.json .authinfo .authinfo.gpg .msmtprc
.mbsyncrc .offlineimaprc .muttrc passwords.kdbx Documents/passwords.kdbx
.config/keepassxc/keepassxc.ini .config/Bitwarden/data.json .wgetrc .curlrc .irbrc_history
.lesshst .viminfo .local/share/nvim/shada/a .fly/config.yml .oci/oci_api_key.pem
.config/hcloud/cli.toml .config/heroku/a .config/wrangler/a.toml .wrangler/config/default.toml
.railway/config.json .config/goose/secrets.yaml .ngrok2/ngrok.yml .config/ngrok/ngrok.yml
.config/sentry/a .sentryclirc .config/nix/nix.conf .config/containers/auth.json
.nuget/NuGet/NuGet.Config .config/NuGet/NuGet.Config .yarnrc.yml .yarnrc .bundle/config
.hex/hex.config .pub-cache/credentials.json .cabal/config .julia/servers/a/auth.toml
.android/adbkey .env .config/jgit/config .subversion/auth/svn.simple/a .config/1Password/a
snap/firefox/common/a .var/app/a/config/a work/other/.env work/other/secrets.yml Downloads/key.txt
.local/state/a/log .next-years-tool/token .config/next-years-tool/token .gitconfig
.cargo/config.toml
"""
KEYS = tuple(_KEYS.split())
"""Places of keys: those of before, those that issue 18 found readable, and some nobody lists."""

_OPEN = """
.cargo/bin/cargo .cargo/registry/index/a .rustup/toolchains/a .nvm/versions/node/v22/bin/node
.pyenv/versions/3.13/bin/python .local/bin/tool .local/lib/python3.13/site-packages/a.py
.local/share/uv/python/a .m2/repository/a.jar .gradle/caches/a .gradle/wrapper/dists/a
go/pkg/mod/a .npm/_cacache/a .cache/pip/a .cache/uv/a .cache/pre-commit/a .cache/ms-playwright/a
.volta/bin/node .sdkman/candidates/java/current/bin/java .asdf/shims/python .nuget/packages/a
.pub-cache/hosted/a .gem/ruby/3.4.0/a .config/git/config .gitconfig.work miniconda3/bin/python
tools/mine/bin/x tools/mine/lib/x data/mine/x work/repository/.git/HEAD
work/repository/shared/a.py
"""
OPEN = tuple(_OPEN.split())
"""What builds need, what PATH and a setting name, and the repository around the workspace."""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # The folder is outside of /tmp, because the sandbox has its own /tmp.
    with tempfile.TemporaryDirectory(prefix="made-up-", dir=Path(__file__).parent) as folder:
        home = Path(folder).resolve()
        monkeypatch.setenv("HOME", str(home))
        for number, name in enumerate(KEYS):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(f"token = canary-{number}-\n".encode())
        for name in OPEN:
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(b"open\n")
        (home / ".gitconfig").write_bytes(
            (
                "[user]\n\tname = Ada L\n\temail = ada@example.org\n"
                f'[url "https://ada:canary-{KEYS.index(".gitconfig")}-@example.org/"]\n'
            ).encode()
        )
        for one in ("objects", "refs"):
            (home / "work" / "repository" / ".git" / one).mkdir()
        (home / "work" / "repository" / "package").mkdir()
        yield home


def workspace_of(home: Path) -> Path:
    return home / "work" / "repository" / "package"


async def run(
    home: Path,
    root: Path,
    command: str,
    *,
    way: str = "bubblewrap",
    widening: Widening | None = None,
) -> Finished:
    settings = Settings(mode="auto", home_shown=("data/mine",))
    bounds = confiner((root,), lambda: settings, home=home)(widening or Widening())
    assert bounds is not None
    if way == "bubblewrap":
        return await spawn(command, cwd=root, timeout_s=120, confinement=bounds)
    with tempfile.TemporaryDirectory() as scratch:
        found = looked_up(bounds)
        start = partial(start_held, confinement=found, scratch=Path(scratch).resolve())
        words = ["/bin/bash", "-c", command]
        return await run_program(words, cwd=root, timeout_s=120, env=found.environment, start=start)


WAYS = [
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("landlock", marks=needs_landlock),
]


def reads(home: Path, names: Sequence[str]) -> str:
    words = " ".join(f"'{home / name}'" for name in names)
    return f"grep -rhs canary '{home}'; for one in {words}; do cat \"$one\"; done 2>/dev/null; true"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_project", [False, True])
async def test_no_sandboxed_command_can_read_files_with_keys(
    home: Path, way: str, *, is_project: bool
) -> None:
    root = home if is_project else workspace_of(home)
    command = reads(home, KEYS)
    seen = (await run(home, root, command, way=way)).output
    # If the home folder is the project, names without a leading dot belong to the project.
    plain = {name for name in KEYS if is_project and not name.startswith(".")} - {"passwords.kdbx"}
    found = {name for at, name in enumerate(KEYS) if f"canary-{at}-" in seen}
    assert found - plain - {"work/other/secrets.yml", "Downloads/key.txt"} == set()
    if not is_project:
        assert found == set()
    free = (await spawn(command, cwd=root, timeout_s=120, limit_b=1 << 20)).output
    assert [name for at, name in enumerate(KEYS) if f"canary-{at}-" not in free] == []


@pytest.mark.parametrize("way", WAYS)
async def test_builds_can_read_but_not_write_the_files_they_need(
    home: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{home}/tools/mine/bin:{home}/.local/bin:{os.environ['PATH']}")
    words = " ".join(f"'{home / name}'" for name in OPEN)
    command = (
        f"for one in {words}; do grep -q open $one || echo missing $one; "
        "echo x 2>/dev/null >$one && echo wrote $one; done; "
        f"echo made >made; cat made; ls '{home}/.ssh' '{home}/work/other' 2>/dev/null; true"
    )
    finished = await run(home, workspace_of(home), command, way=way)
    assert finished.output.splitlines() == ["made"]


@pytest.mark.parametrize("way", WAYS)
async def test_git_knows_the_committer_even_if_its_configuration_is_hidden(
    home: Path, way: str
) -> None:
    root = home / "work" / "own"
    root.mkdir()
    await spawn("git init -q", cwd=root, timeout_s=60)
    command = (
        "git config --get-regexp 'url.*'; touch a; git add a && git commit -qm x; "
        "git log -1 --format='%an %ae'"
    )
    finished = await run(home, root, command, way=way)
    assert "Ada L ada@example.org" in finished.output, finished.errors
    assert "canary" not in finished.output


@needs_bubblewrap
async def test_a_yes_to_secret_files_shows_the_home_folder(home: Path) -> None:
    if home.is_relative_to("/tmp"):
        pytest.skip("the checkout is in /tmp, and each command has a /tmp of its own")
    command = f"cat '{home}/.config/stripe/config.toml'"
    widening = Widening(shows_secrets=True)
    assert "canary" in (await run(home, workspace_of(home), command, widening=widening)).output


@needs_bubblewrap
async def test_a_virtual_environment_of_a_python_in_the_home_folder_works(home: Path) -> None:
    root = workspace_of(home)
    prefix = home / "opt" / "python"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    version = f"python3.{sys.version_info.minor}"
    (prefix / "lib" / version).mkdir(parents=True)
    (prefix / "lib" / version / "os.py").write_bytes(b"open")
    (root / ".venv").mkdir()
    (root / ".venv" / "pyvenv.cfg").write_bytes(f"home = {prefix}/bin\n".encode())
    finished = await run(home, root, f"cat {prefix}/lib/{version}/os.py")
    assert finished.output == "open"


def test_a_git_file_with_a_forged_repository_path_exposes_no_folder(home: Path) -> None:
    root = home / "work" / "own"
    root.mkdir()
    (root / ".git").write_bytes(f"gitdir: {home}/.aws\n".encode())
    assert str(home / ".aws") not in home_view([home], [root], {}).shown


@posix_only("folders")
def test_a_system_folder_is_not_hidden_as_a_home_folder() -> None:
    assert home_view([Path("/"), Path("/usr")], [Path("/work")], {}) == HomeView()


OURS = ("src/a.py", "work/x", "Documents/a.md", ".cargo/registry/a", ".git/HEAD", ".nvm/a")


def test_tools_need_permission_for_private_program_files_in_an_opened_home_folder() -> None:
    home = Path("/home/me")
    private = [one for one in KEYS if is_private(home / one, [home], [home])]
    known = [one for one in KEYS if one not in private]
    assert [one for one in known if one.startswith(".")] == []
    assert [one for one in OURS if is_private(home / one, [home], [home])] == []
    assert not is_private(home / ".ssh/id", [home / "work"], [home])


def test_an_existing_private_file_needs_a_question_each_time() -> None:
    asked = CallFacts("read_file", "read", (".config/a",), ("/home/me/.config/a",), is_private=True)
    decision = decide(asked, Policy("auto"))
    assert isinstance(decision, Ask)
    assert (decision.rule, decision.by) == ("", "secret: home")
