"""Commands with labels: those that must never run without a question, and those that should.

``dangerous.txt`` has a few hundred commands; ``dangerous()`` combines each with ways to write and
to hide a command, and adds commands of the shared data.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools.shared_data import shared_cases

HERE = Path(__file__).parent
_RUNS = (HERE / "dangerous.txt").read_text("utf-8")

_HIDDEN = [
    "ls\x01",
    "ls\u200b",
    "ls \u2028rm x",
    "ls\u2029rm x",
    "ls\u00a0-la",
    "ls\u3000-la",
    "ls \u202efdp.txt",
    "ls\r\nrm x",
    "ls\rrm x",
    "ls\x0brm x",
    "ls\x0crm x",
    "ls \x1b[2Jx",
    "ls\x00rm x",
    "ls \ud800",
    "ls \U000e0041",
    "echo hi \ufeff",
    "ls 'a\x08'",
]

_WRAPPED = [
    "ls; {}",
    "ls && {}",
    "ls || {}",
    "ls\n{}",
    "({})",
    "{{ {}; }}",
    "! {}",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "echo $({})",
    'echo "$({})"',
]

_TO_WRAP = [
    *("rm x", "rm -rf .", "mv x y", "touch x", "git push", "git reset --hard", "git clean -fd"),
    *("curl http://x.test", "wget x", "npm install x", "pip install x", "sudo ls", "sh x", "./x"),
    *("python3 x.py", "chmod +x x", "ls > f", "cat .env", "cat /etc/shadow", "sed -i s/a/b/ f"),
    *("find . -delete", "find . -exec rm {} +", "evil", "kill 1", "dd if=a of=b", "ssh h", "make"),
    *(
        "export A=b",
        "source x",
        "eval ls",
        "git config a.b c",
        "git branch -D x",
        "cp x y",
        "nc h 1",
    ),
    *("xargs rm", "awk 'BEGIN{system(1)}'", "sort -o f x", "date -s 1", "tee f", "docker run x"),
]

SPELLED = [
    *(
        "r\\m x",
        "r''m x",
        '"rm" x',
        "'rm' x",
        "/bin/rm x",
        "rm\tx",
        "rm \\\nx",
        "r\\\nm x",
        "$'rm' x",
    ),
    *("command rm x", "env rm x", "nice rm x", "nice -n 5 rm x", "nohup rm x", "timeout 1 rm x"),
    *("time rm x", "stdbuf -oL rm x", "ionice -c 3 rm x", "xargs rm", "exec rm x", "busybox rm x"),
    *("RM=rm; $RM x", "x=rm && $x y", "bash -c 'rm x'", "sh -c 'rm x'", "eval rm x", "eval 'rm x'"),
    *("env -i rm x", "env A=b rm x", "setsid rm x", "sudo rm x", "doas rm x", "coproc rm x"),
    *("rm x #", "rm x 2>/dev/null", ">/dev/null rm x", "2>/dev/null rm x", "</dev/null rm x"),
]

READ_ONLY = (HERE / "reading.txt").read_text("utf-8")


def lines(text: str) -> list[str]:
    """Return the commands of a list: one per line, except for here-documents."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        opened = found and "<<" in found[-1] and "<<<" not in found[-1]
        if opened and found[-1].count("\n") < 2 and found[-1].split("\n")[-1].strip() != "E":
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def wrapped() -> list[str]:
    """Return commands with outside effects, network or more privileges, in every part of a line."""
    return [form.format(one) for form in _WRAPPED for one in _TO_WRAP]


def dangerous() -> Iterator[str]:
    """Yield at least a thousand commands that must not run without a question or a sandbox."""
    yield from lines(_RUNS)
    yield from _HIDDEN
    yield from SPELLED
    yield from wrapped()
    for one in SPELLED:
        yield f"ls -la; {one}"
        yield f"{one} | cat"
    for case in shared_cases("bash_safety.json"):
        if case["expected"] == "deny" and not case["policy"].get("allow"):
            yield case["command"]


def dangerous_outside() -> list[str]:
    """Return commands that no sandbox makes harmless: network, deleted work, more privileges."""
    bad = [
        *("curl http://x.test", "wget x", "ssh h", "nc h 1", "scp x h:", "git push", "git fetch"),
        *("git pull", "git clone https://x.test/y", "npm install x", "pip install x", "gh pr list"),
        *(
            "cargo install x",
            "go get x",
            "docker run x",
            "kubectl delete x",
            "aws s3 ls",
            "telnet h",
        ),
        *(
            "sudo ls",
            "doas ls",
            "su -c ls",
            "systemctl stop x",
            "mount a b",
            "crontab -e",
            "at now",
        ),
        *(
            "kill 1",
            "killall x",
            "pkill x",
            "chown a b",
            "shutdown now",
            "useradd x",
            "iptables -F",
        ),
        *("rm x", "rm -rf .", "rm -rf /", "rmdir x", "shred x", "truncate -s 0 x", "unlink x"),
        *("git reset --hard", "git clean -fd", "git checkout -- .", "git restore .", "git rm x"),
        *("git branch -D x", "git stash drop", "git stash clear", "git tag -d x", "git push -f"),
        *("find . -delete", "find . -exec rm {} +", "find . -exec curl x {} ;", "xargs rm"),
        *("git config core.pager x", "git remote add x y", "touch /etc/x", "cp x /usr/bin/x"),
        *(
            "echo x > /etc/passwd",
            "echo x >> ~/.bashrc",
            "tee ~/.profile",
            "mkdir /opt/x",
            "mv x ~",
        ),
        *("echo x > .git/hooks/pre-commit", "cp x .git/config", "tee .vscode/settings.json"),
        *("mkdir .github", "touch .envrc", "echo x >> package.json", "sed -i s/a/b/ .mcp.json"),
        *("ln -s x .git/hooks/y", "mv x .husky", "cat .env", "grep x .env", "cat id_rsa"),
        *(
            "printf -v 'a[$(x)]' y",
            "test -v 'a[$(x)]'",
            "[[ -v a[x] ]]",
            'echo "${x@P}"',
            "echo ${!x}",
        ),
        *("cat <<< $(id)", "echo $((a[$(x)]))", "$x", "evil", "$(evil)", "f() { evil; }; f"),
        *("ls | sh", "bash -c 'rm x'", 'bash -c "$x"', "eval 'rm x'", 'eval "$x"', "echo x | bash"),
        *(
            "cat < /dev/tcp/1.2.3.4/80",
            "exec 3<>/dev/tcp/1.2.3.4/80",
            "echo x > /dev/udp/1.1.1.1/5",
        ),
        *("trap 'rm x' EXIT", "alias ls=rm", "enable -f ./x.so x", "hash -p ./x ls", "ls \u202ex"),
        *("time rm x", "env rm x", "nice rm x", "timeout 5 rm x", "command rm x", "nohup rm x"),
        *(
            "env A=b curl x",
            "xargs curl",
            "xargs -n1 git push",
            "nohup ssh h",
            "/bin/rm x",
            "r''m x",
        ),
    ]
    return [form.format(one) for form in ["{}", *_WRAPPED] for one in bad]
