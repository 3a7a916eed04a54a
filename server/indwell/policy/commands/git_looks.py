"""Tables of ``git``: which of its commands only look, and the options with which that is so."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.policy.commands.flags import Options, options

LOG = options(
    "pqsuzabcgimnwBCDMRWtrEUlX#",
    "GSnL",
    "oneline graph all stat shortstat numstat dirstat summary name-only name-status patch no-patch"
    " raw decorate no-decorate abbrev-commit no-abbrev-commit no-abbrev merges no-merges"
    " first-parent reverse topo-order date-order author-date-order follow no-color color cached"
    " staged branches"
    " tags remotes not left-right cherry-pick cherry-mark cherry left-only right-only boundary"
    " walk-reflogs source pickaxe-all pickaxe-regex ignore-all-space ignore-space-change"
    " ignore-blank-lines ignore-space-at-eol function-context word-diff color-words no-renames"
    " find-renames find-copies no-prefix full-index binary text quiet exit-code check no-index"
    " merge-base minimal patience histogram compact-summary root no-ext-diff no-textconv full-diff"
    " ancestry-path simplify-by-decoration dense sparse full-history children parents count"
    " objects all-match invert-grep regexp-ignore-case fixed-strings extended-regexp"
    " perl-regexp relative no-relative notes no-notes show-pulls tree use-mailmap mailmap"
    " clear-decorations ignore-submodules submodule bisect disk-usage pretty abbrev unified",
    "format pretty date since until after before author committer grep max-count skip"
    " decorate-refs decorate-refs-exclude diff-filter encoding exclude glob stat-width"
    " inter-hunk-context diff-algorithm anchored src-prefix dst-prefix line-prefix min-parents"
    " max-parents ignore-matching-lines",
)
LOOKS: Mapping[str, Options] = {
    **dict.fromkeys(
        [
            *("log", "show", "diff", "whatchanged", "diff-tree", "diff-index", "diff-files"),
            *("rev-list", "shortlog"),
        ],
        LOG,
    ),
    "status": options(
        "sbvuz",
        "",
        "short branch show-stash porcelain long verbose untracked-files"
        " ignored ignore-submodules column no-column ahead-behind no-ahead-behind renames"
        " no-renames find-renames null",
    ),
    "rev-parse": options(
        "q",
        "",
        "short abbrev-ref show-toplevel verify git-dir is-inside-work-tree"
        " symbolic-full-name absolute-git-dir show-prefix show-cdup all branches tags"
        " git-common-dir is-bare-repository sq-quote quiet symbolic is-inside-git-dir"
        " is-shallow-repository"
        " show-superproject-working-tree revs-only no-revs flags no-flags remotes",
        "git-path path-format default",
    ),
    "ls-files": options(
        "cdmoistukzvfr",
        "xX",
        "cached deleted modified others ignored stage"
        " unmerged killed directory no-empty-directory exclude-standard error-unmatch full-name"
        " abbrev deduplicate eol recurse-submodules",
        "exclude exclude-from format",
    ),
    "ls-tree": options(
        "drtlz", "", "name-only name-status full-name full-tree long abbrev", "format"
    ),
    "cat-file": options("tpse", "", "batch batch-check batch-all-objects unordered buffer", ""),
    "blame": options(
        "wlstefnpcbMCb",
        "L",
        "show-stats root porcelain line-porcelain incremental"
        " show-name show-number show-email color-lines",
        "date since ignore-rev abbrev",
    ),
    "describe": options(
        "",
        "",
        "tags always all long dirty contains first-parent exact-match",
        "abbrev match exclude candidates",
    ),
    "merge-base": options("a", "", "all octopus is-ancestor fork-point independent"),
    "name-rev": options("", "", "tags all name-only always", "refs exclude"),
    "for-each-ref": options(
        "", "", "ignore-case", "format sort count points-at merged no-merged contains no-contains"
    ),
    "show-ref": options("sqd", "", "heads tags head hash dereference verify quiet branches"),
    "show-branch": options("a", "", "all list"),
    "count-objects": options("vH", "", "verbose human-readable"),
    "check-ignore": options("qvzn", "", "verbose non-matching no-index quiet"),
    "check-attr": options("az", "", "all"),
    "grep": options(
        "nilcwvEFPGhHrqIzpWo#",
        "eABCfm",
        "line-number ignore-case files-with-matches"
        " name-only count word-regexp invert-match extended-regexp fixed-strings perl-regexp"
        " cached untracked no-index heading break show-function function-context and or not"
        " all-match no-color color only-matching full-name column text",
        "context after-context before-context max-depth max-count threads",
    ),
    "cherry": options("v", "", "abbrev verbose"),
    "range-diff": options("s", "", "no-color color no-patch", "creation-factor"),
    "var": options("l"),
    "version": options("", "", "build-options"),
    "fsck": options(
        "",
        "",
        "full no-dangling dangling unreachable connectivity-only no-reflogs"
        " strict verbose no-progress root tags cache",
    ),
    "verify-pack": options("vs", "", "verbose stat-only"),
}
"""Commands that only look, and the options with which that is so."""

LISTING: Mapping[str, tuple[Options, str]] = {
    "branch": (
        options(
            "avrlqi",
            "",
            "list all remotes verbose show-current no-color color column"
            " no-column ignore-case contains no-contains merged no-merged",
            "sort format points-at abbrev",
        ),
        "--list -l --contains --no-contains --merged --no-merged --points-at",
    ),
    "tag": (
        options(
            "lni#",
            "",
            "list contains no-contains merged no-merged column no-column color ignore-case",
            "sort format points-at",
        ),
        "--list -l --contains --no-contains --merged --no-merged --points-at -n",
    ),
    "remote": (options("v", "", "verbose"), ""),
    "config": (
        options(
            "lz",
            "",
            "list get get-all get-regexp get-urlmatch global local system worktree"
            " show-origin show-scope name-only null",
            "type default",
        ),
        "--get --get-all --get-regexp --get-urlmatch --list -l",
    ),
}
"""Commands that look if nothing but these options is given, or names with one of the second."""

SECOND: Mapping[str, frozenset[str]] = {
    "stash": frozenset(["list", "show"]),
    "worktree": frozenset(["list"]),
    "submodule": frozenset(["status", "summary"]),
    "remote": frozenset(["get-url"]),
    "reflog": frozenset(["show", "exists", "list"]),
    "notes": frozenset(["list", "show"]),
    "bisect": frozenset(["log"]),
    "config": frozenset(["get", "list"]),
    "bundle": frozenset(["list-heads"]),
}
"""Commands by whose second word it is known that they only look."""
