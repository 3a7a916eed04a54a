"""Tables of programs that only read, and of the options with which that is so."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.policy.commands.flags import Options, names, options

ANY_PATHS = names(
    "cat tac head tail wc nl ls dir vdir stat cut rev expand unexpand fold fmt paste join"
    " comm cmp od hexdump md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum md5"
    " b2sum cksum sum du df realpath readlink diff column pr tsort"
)
"""No option of theirs writes or runs anything (coreutils, util-linux, BSD, busybox)."""

ANY_TEXT = names(
    "echo basename dirname seq true false : yes whoami id groups pwd nproc uname uptime free"
    " tty logname users who expr tr numfmt factor sleep cal locale"
)
"""Neither does any of these, and their words are no paths to read."""

HERE = names("ls dir vdir du tree rg fd find df stat")
"""They read the folder in which they run."""

TABLE: Mapping[str, tuple[Options, int | None]] = {
    "sort": (
        options(
            "bdfgiMhnRrVcCmsuz",
            "ktS",
            "ignore-leading-blanks dictionary-order ignore-case"
            " general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort"
            " random-sort reverse version-sort check merge stable unique zero-terminated debug",
            "key field-separator buffer-size sort parallel batch-size",
        ),
        None,
    ),
    "uniq": (
        options(
            "cdDiuz#",
            "fsw",
            "count repeated all-repeated ignore-case unique group zero-terminated",
            "skip-fields skip-chars check-chars",
        ),
        1,
    ),
    "base64": (options("dDi", "wb", "decode ignore-garbage", "wrap break"), 1),
    "base32": (options("di", "w", "decode ignore-garbage", "wrap"), 1),
    "shuf": (options("erz", "n", "echo repeat zero-terminated", "head-count"), None),
    "file": (
        options(
            "bhikLNnprsv0",
            "FP",
            "brief mime mime-type mime-encoding extension dereference"
            " no-dereference no-pad keep-going raw",
            "separator",
        ),
        None,
    ),
    "tree": (
        options(
            "adlfxqNQpugshDFvtUrcCASnJX",
            "LPI",
            "noreport dirsfirst filesfirst du si inodes"
            " device gitignore prune nolinks matchdirs ignore-case sort",
            "filelimit charset",
        ),
        None,
    ),
    "which": (options("a", "", "all", ""), None),
    "whereis": (options("bmsu", "", "", ""), None),
    "ps": (
        options(
            "aAdefFHjlLmTwxcv",
            "CGgopqstuU",
            "forest no-headers headers",
            "pid ppid sort user format",
        ),
        1,
    ),
    "date": (options("uRI", "d", "utc universal rfc-email iso-8601 debug", "date rfc-3339"), 1),
    "hostname": (options("fisdIA", "", "fqdn long short", ""), 0),
    "man": (options("kfaw", "", "apropos whatis all where path", ""), None),
    "printenv": (options("0", "", "null", ""), None),
    "pgrep": (options("flaxnoiv", "uP", "", ""), 1),
    "ss": (options("tulnpaxosemH", "", "", ""), 0),
    "netstat": (options("tulnpaxr", "", "", ""), 0),
    "lsof": (options("nPlt", "ip", "", ""), None),
    "fd": (
        options(
            "HIsigpalLFuq01",
            "tedEcSj",
            "hidden no-ignore glob full-path absolute-path"
            " follow list-details case-sensitive ignore-case fixed-strings print0 unrestricted",
            "type extension max-depth min-depth exclude color size max-results changed-within",
        ),
        None,
    ),
    "rg": (
        options(
            "ceFgHhIilLnNopPqrSsUuvwx.a0",
            "",
            "count count-matches fixed-strings"
            " files-with-matches files-without-match files with-filename no-filename heading"
            " no-heading hidden ignore-case invert-match json line-number no-line-number"
            " line-regexp"
            " multiline multiline-dotall no-ignore no-ignore-vcs null only-matching passthru pcre2"
            " pretty quiet smart-case case-sensitive stats text trim type-list unrestricted vimgrep"
            " word-regexp column byte-offset debug no-messages no-config glob-case-insensitive"
            " follow one-file-system sort-files",
            "after-context before-context context color colors"
            " encoding glob iglob max-columns max-count max-depth max-filesize regexp replace sort"
            " sortr threads type type-not file context-separator",
        ),
        None,
    ),
    "gofmt": (options("desl", "", "", ""), None),
    "ldconfig": (options("p", "", "", ""), 0),
    "lscpu": (options("", "", "", ""), 0),
    "lsblk": (options("afl", "", "", ""), None),
    "findmnt": (options("l", "", "", ""), 0),
}
"""Options that are harmless, and how many operands there may be."""

TELL_OF_PROGRAMS = names(
    "ps pgrep pidof pstree pmap pwdx top htop atop btop glances w lsof fuser ss netstat"
    " sockstat tasklist"
)
"""They tell what else runs on the machine, with its words: passwords are often among these. They
need no question only where the sandbox shows no other program."""
