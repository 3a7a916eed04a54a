"""Finds secrets in a text by patterns, and hides them; 4 ms for 100,000 characters. Pure."""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Protocol
from urllib.parse import quote

import msgspec

from indwell.lazy_pattern import lazy_pattern

PRIVATE_KEY = "private key"
PASSWORD = "password in an address"  # noqa: S105 - the name of a kind
_BEGIN = lazy_pattern(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_MOST_KEY = 20_000  # A private key has at most this many characters, including line prefixes.
# Headers such as `Proc-Type: 4,…` may come between a key's first line and the key.
_MOST_HEADERS = 160
_MOST_BETWEEN = 40  # Other text, such as a line number, may come between two lines.
_LAST_LINE = 64  # The last line of a key may be short.
# A key without an end must have 100 characters, because one line could be anything.
_LEAST_CUT = 100
_KEY_LINE = lazy_pattern(r"[A-Za-z0-9+/=]{40,}")
_ADDRESS = lazy_pattern(
    r"://[^\s/:@\"'`<>{}()$]{0,60}:(?P<secret>[^\s/:@\"'`<>{}()$]{8,200})@(?!sha\d)[\w.\[-]"
)
_WORD = lazy_pattern(r"[\w+/=.~:@-]{20,}")  # at least as long as the shortest kind of secret
# A secret needs a digit: only 1 of 500 random words of 36 letters and digits has none.
_DIGIT = lazy_pattern(r"[0-9]")
_PIECE = 100_000  # A search of one part locks all threads for 4 ms.
_OVERLAP = 1_000  # Two parts overlap by 1,000 characters; every secret is shorter.
_BEFORE = 60  # The secret's name may be in the 60 characters before a word.
_LEAST_ENTROPY = 2.8  # The unit is bits per character of a password in an address, which is short.
_EXAMPLES = lazy_pattern(
    r"example|placeholder|redacted|dummy|changeme|xxxx|your[-_]|\*\*\*|\.\.\.|01234567|abcdefgh",
    re.IGNORECASE,
)
# Tools refuse to write a text with this mark, so this file has the mark only in two parts.
MARK = "[secret " + "hidden:"
KNOWN = "of this machine's environment"  # the kind of a secret whose value is known
_LEAST = 12  # Shorter secrets, in characters, may be ordinary words.
_LEAST_OWN = 8
_PASSWORD_ENTROPY = 3.0  # The unit is bits per character; natural language has about as many.
_ASSIGNED = lazy_pattern(r"[=:][ \t]{0,4}[\"']?([^\s\"',;]+)")
_PLAIN = lazy_pattern(r"[a-z]+|[A-Z]+|[0-9.]+")
_PATH = lazy_pattern(r"[~./]|[A-Za-z]:[\\/]|[a-z]+://[^@]*\Z")


class FoundSecret(msgspec.Struct, frozen=True, order=True):
    """A secret in a text, from ``start`` to ``stop``, and its kind."""

    start: int
    stop: int
    kind: str


def find(text: str) -> tuple[FoundSecret, ...]:
    """Find the secrets in a text, in order, without overlaps."""
    found: list[FoundSecret] = []
    for start in range(0, len(text), _PIECE):
        found += _in_piece(text, max(start - _OVERLAP, 0), start + _PIECE)
    if "://" in text:
        found += _passwords(text)
    if "PRIVATE KEY" in text:
        found += _private_keys(text)
    return _apart(found)


def _in_piece(text: str, start: int, stop: int) -> list[FoundSecret]:
    spans = tuple(_spans(text, start, stop))
    looked_at = "\n".join(text[first:last] for first, last in spans)
    return [
        one
        for kind in KINDS
        if any(map(looked_at.__contains__, kind.needles))
        for first, last in spans
        for one in _of(kind, text, first, last)
    ]


def _spans(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield each long word with a digit, and the text before it; other words are no secret."""
    start = stop = -1
    for word in _WORD.finditer(text, first, last):
        if not _DIGIT.search(word[0]):
            continue
        if stop < 0 or word.start() - _BEFORE > stop:
            if stop >= 0:
                yield start, stop
            start = max(word.start() - _BEFORE, 0)
        stop = word.end() + 1
    if stop >= 0:
        yield start, stop


def _of(kind: Kind, text: str, start: int, stop: int) -> Iterator[FoundSecret]:
    pattern = kind.pattern
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text, start, stop):
        secret = match[group]
        if entropy(secret) >= kind.entropy and not _EXAMPLES.search(secret):
            yield FoundSecret(*match.span(group), kind.name)


def _passwords(text: str) -> Iterator[FoundSecret]:
    """Yield passwords in addresses, which may contain any character; the user name may be empty."""
    at = -1
    while (at := text.find("://", at + 1)) >= 0:
        match = _ADDRESS.match(text, at)
        if match is None:
            continue
        secret = match["secret"]
        is_mixed = _DIGIT.search(secret) and any(map(str.isalpha, secret))
        if is_mixed and entropy(secret) >= _LEAST_ENTROPY and not _EXAMPLES.search(secret):
            yield FoundSecret(*match.span("secret"), PASSWORD)


def _private_keys(text: str) -> Iterator[FoundSecret]:
    """Yield private keys between their two lines; a truncated key ends at the text's end."""
    for match in _BEGIN.finditer(text):
        start = stop = match.end()
        most = text.find("-----", start, start + _MOST_KEY)
        is_whole = most >= 0 and text.startswith("-----END", most)
        n_chars, gap = 0, _MOST_HEADERS
        for line in _KEY_LINE.finditer(text, start, most if most >= 0 else start + _MOST_KEY):
            if line.start() - stop > gap:
                break
            n_chars, stop, gap = n_chars + len(line[0]), line.end(), _MOST_BETWEEN
        is_whole = is_whole and n_chars > 0 and most - stop <= _MOST_BETWEEN + _LAST_LINE
        if is_whole or n_chars >= _LEAST_CUT:
            yield FoundSecret(start, most if is_whole else stop, PRIVATE_KEY)


def open_key(text: str) -> int | None:
    """Return where an incomplete private key at the end of the text begins."""
    if "PRIVATE KEY" not in text[-_MOST_KEY:]:
        return None
    begins = tuple(_BEGIN.finditer(text, max(len(text) - _MOST_KEY, 0)))
    match = begins[-1] if begins else None
    if match is None or "-----" in text[match.end() :]:
        return None
    stop, gap = match.end(), _MOST_HEADERS
    for line in _KEY_LINE.finditer(text, match.end()):
        if line.start() - stop > gap:
            return None
        stop, gap = line.end(), _MOST_BETWEEN
    return match.start() if len(text) - stop <= gap + _LAST_LINE else None


def entropy(text: str) -> float:
    """Return the Shannon entropy of a text, in bits per character."""
    n = len(text)
    return -sum(k / n * math.log2(k / n) for k in Counter(text).values()) if n else 0.0


def _apart(found: list[FoundSecret]) -> tuple[FoundSecret, ...]:
    """Sort the secrets and merge overlaps; the earlier or longer secret covers both."""
    apart: list[FoundSecret] = []
    for one in sorted(found, key=lambda one: (one.start, -one.stop)):
        if apart and one.start < apart[-1].stop:
            last = apart[-1]
            apart[-1] = FoundSecret(last.start, max(last.stop, one.stop), last.kind)
        else:
            apart.append(one)
    return tuple(apart)


class Kind(msgspec.Struct, frozen=True):
    """A kind of secret.

    Attributes:
        name: The name for the user and the model.
        needles: Short texts for a fast search; every secret of this kind contains one of them.
        form: A regular expression; its group ``secret`` is hidden, or the whole match.
        entropy: The minimum in bits per character; a text with less is only an example.
    """

    name: str
    needles: tuple[str, ...]
    form: str
    entropy: float = 3.0

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled form, on demand, because compiling all forms takes 0.1 s."""
        return _compiled(self.form)


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)


def _kind(name: str, needle: str, pattern: str, entropy: float = 3.0) -> Kind:
    end = "" if pattern.endswith(")") else "(?![A-Za-z0-9])"
    whole = f"(?<![A-Za-z0-9])(?:{pattern}){end}"
    return Kind(name, tuple(needle.split()), whole, entropy)


KINDS = (
    _kind("AWS access key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _kind(
        "AWS secret key",
        "secret_access_key SecretAccessKey SECRET_ACCESS_KEY",
        r"(?i:aws_)?(?i:secret_?access_?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})",
        4.0,
    ),
    _kind("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    _kind("GitHub token", "github_pat_", r"github_pat_\w{60,}"),
    _kind("GitLab token", "glpat- gldt- glrt- glptt- glcbt-",
          r"gl(?:pat|dt|rt|ptt|cbt)-[\w.-]{20,}"),
    _kind("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe",
          r"xox[abeprs](?:\.xox[bp])?-[\w-]{20,}"),
    _kind("Slack token", "xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}"),
    _kind(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{20,})",
    ),
    _kind(
        "Discord webhook", "/api/webhooks/", r"/api/webhooks/\d{10,}/(?P<secret>[\w-]{60,})"
    ),
    _kind("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_ whsec_",
          r"(?:(?:sk|rk)_(?:live|test|prod)_|whsec_)[A-Za-z0-9]{16,}"),
    _kind("Anthropic key", "sk-ant-", r"sk-ant-[a-z]+\d\d-[\w-]{32,}"),
    _kind("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", r"sk-(?:proj|svcacct|admin)-[\w-]{32,}"),
    _kind("OpenRouter key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    _kind("API key", "sk-", r"sk-[A-Za-z0-9]{32,}", 3.5),
    _kind("Google API key", "AIza", r"AIza[\w-]{35}"),
    _kind("Google secret", "GOCSPX-", r"GOCSPX-[\w-]{28}"),
    _kind("Google token", "ya29.", r"ya29\.[\w-]{40,}"),
    _kind("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _kind("PyPI token", "pypi-AgE", r"pypi-AgE[\w-]{50,}"),
    _kind("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _kind("Docker token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{27,}"),
    _kind("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{34,40}", 3.5),
    _kind("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    _kind("xAI key", "xai-", r"xai-[A-Za-z0-9]{70,}"),
    _kind("Replicate token", "r8_", r"r8_[A-Za-z0-9]{37}", 3.5),
    _kind("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    _kind("SendGrid key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    _kind("Mailgun key", "key-", r"key-[0-9a-f]{32}"),
    _kind("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    _kind("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _kind("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _kind("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _kind("Doppler token", "dp.pt. dp.st. dp.ct. dp.sa.", r"dp\.(?:pt|st|ct|sa)\.[\w.]{40,}"),
    _kind("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _kind("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{43,}"),
    _kind("Postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _kind("Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}"),
    _kind("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    _kind("Grafana token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _kind("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _kind("Sentry token", "sntryu_", r"sntryu_[a-f0-9]{64}"),
    _kind("Sentry token", "sntrys_eyJ", r"sntrys_eyJ[\w+/=-]{60,}"),
    _kind("Supabase token", "sbp_", r"sbp_[a-f0-9]{40}"),
    _kind("Atlassian token", "ATATT3", r"ATATT3[\w=-]{150,}"),
    _kind("1Password token", "ops_eyJ", r"ops_eyJ[\w+/=-]{200,}"),
    _kind("Telegram token", ":AA", r"\d{8,10}:AA[\w-]{33}"),
    _kind("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _kind("Azure storage key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)", 4.0),
    _kind("Azure client secret", "Q~", r"[\w~.]{3}\dQ~[\w~.-]{31,34}", 3.5),
    _kind("JSON web token", "eyJ", r"eyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{20,}"),
    _kind(
        "Authorization header",
        "earer EARER",
        r"(?i:bearer)\s{1,3}(?P<secret>(?=[\w.~+/=-]*\d)[A-Za-z0-9][\w.~+/=-]{23,})",
        3.5,
    ),
    _kind(
        "Authorization header",
        "uthorization UTHORIZATION",
        r"(?i:authorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?i:basic|token)\s{1,3}"
        r"(?P<secret>(?=[\w.~+/=-]*\d)[A-Za-z0-9][\w.~+/=-]{19,})",
        3.2,
    ),
    _kind(
        "API key in a header",
        "x-api- X-Api- X-API- x-auth- X-Auth- X-AUTH-",
        r"(?i:x-(?:api-key|auth-token|api-token))[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?P<secret>(?=[A-Za-z0-9+/=-]*\d)[A-Za-z0-9][A-Za-z0-9+/=-]{19,}(?![\w.(\[]))",
        3.2,
    ),
    _kind(
        "npm token",
        "_authToken _auth _password",
        r"_(?:authToken|auth|password)\s{0,3}=\s{0,3}[\"']?"
        r"(?P<secret>(?=[\w+/=-]*\d)[A-Za-z0-9][\w+/=-]{19,}(?![\w.(\[]))",
        3.2,
    ),
)  # fmt: skip
"""The kinds of secrets. A needle is in the same word as the secret, or shortly before it."""


class Hider:
    """Hides secrets in texts by known patterns and by known values.

    Args:
        own: Indwell's own keys, which are always hidden.
        known: Values of secret variables, which are hidden unless they look like a word or path.
        knows_forms: Whether to hide secrets by pattern.
    """

    def __init__(
        self, own: Iterable[str] = (), known: Iterable[str] = (), *, knows_forms: bool = True
    ) -> None:
        self._knows_forms = knows_forms
        kept = {one for one in own if len(one) >= _LEAST_OWN}
        kept |= {one for one in known if _is_telling(one)}
        self._plain = frozenset(kept)
        spelled = {spelling for one in kept for spelling in spellings(one)}
        self._known = tuple(sorted(spelled, key=len, reverse=True))

    def with_own(self, own: Iterable[str]) -> Hider:
        """Return a hider that also hides these keys."""
        return Hider((*self._plain, *own), knows_forms=self._knows_forms)

    def hide(self, text: str) -> str:
        """Replace each secret with a mark; return the same object if there is no secret."""
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, mark(KNOWN))
        found = find(text) if self._knows_forms else ()
        if not found:
            return text
        parts, at = [], 0
        for one in found:
            parts += [text[at : one.start], mark(one.kind)]
            at = one.stop
        return "".join([*parts, text[at:]])

    def find(self, text: str) -> tuple[FoundSecret, ...]:
        """Find the secrets in a text, in order, without overlaps."""
        found = list(find(text)) if self._knows_forms else []
        for secret in self._known:
            at = -1
            while (at := text.find(secret, at + 1)) >= 0:
                found.append(FoundSecret(at, at + len(secret), KNOWN))
        return _apart(found)


def spellings(secret: str) -> frozenset[str]:
    """Return a secret as it is, in an address, in JSON, and inside a text in Base64."""
    in_json = json.dumps(secret)[1:-1]
    found = {secret, quote(secret, safe=""), in_json, in_json.replace("/", "\\/")}
    data = secret.encode("utf-8", "surrogatepass")
    for n_before in range(3):  # Base64 encodes three bytes at a time
        rest = (n_before + len(data)) % 3
        text = base64.b64encode(bytes(n_before) + data).decode()
        # The characters at both ends also depend on the bytes beside the secret.
        core = text[(0, 2, 3)[n_before] : len(text) - (0, 3, 2)[rest]]
        found |= {core, core.translate(_IN_ADDRESSES)}
    return frozenset(one for one in found if len(one) >= _LEAST_OWN)


_IN_ADDRESSES = str.maketrans("+/", "-_")  # Base64 in addresses has two other characters


def mark(kind: str) -> str:
    """Return the mark for a secret of this kind."""
    return f"{MARK} {kind}]"


def kinds_in(text: str) -> tuple[str, ...]:
    """Return the kinds of secrets that a text seems to contain, for a question (SEC-07)."""
    return tuple(dict.fromkeys(one.kind for one in find(text)))


def values_in(text: str) -> frozenset[str]:
    """Return values that a file assigns (``NAME=value``), except words, numbers and paths."""
    values = {match[1] for match in _ASSIGNED.finditer(text)}
    return frozenset(
        one for one in values if len(one) >= _LEAST_OWN and not _PLAIN.fullmatch(one)
        and not _PATH.match(one)
    )  # fmt: skip


def has_mark(text: str) -> bool:
    """Return whether a text contains a mark; writing such a text would overwrite a secret."""
    return MARK in text


def _is_telling(value: str) -> bool:
    is_word = not any(map(str.isdigit, value)) or not any(map(str.isalpha, value))
    return (
        len(value) >= _LEAST
        and not is_word
        and not _PATH.match(value)
        and not any(map(str.isspace, value))
        and entropy(value) >= _PASSWORD_ENTROPY
    )


_SECRET_NAME = lazy_pattern(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:PASS|PAT|PWD|DSN)$"
    r"|^OTEL_EXPORTER_OTLP_(?:TRACES_)?HEADERS$",
    re.IGNORECASE,
)


_OTHER_NAME = lazy_pattern(r"KEYRING|KEYLOG|KEYCHAIN|KEYBOARD|KEYMAP|KEYTIMEOUT|^PWD$|^OLDPWD$")


_PROXY = lazy_pattern(r"_proxy$", re.IGNORECASE)


_LEAST_CHARACTERS = 8  # Shorter values are words like "true".


def is_secret(name: str) -> bool:
    """Return whether a variable's name suggests a secret."""
    return bool(_SECRET_NAME.search(name)) and not _OTHER_NAME.search(name)


def is_proxy(name: str) -> bool:
    """Return whether a variable may contain an address with a password that libraries need."""
    return bool(_PROXY.search(name))


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables with secret names, longest first."""
    found = {
        value.strip()
        for name, value in environment.items()
        if is_secret(name) and len(value.strip()) >= _LEAST_CHARACTERS
    }
    return tuple(sorted(found, key=len, reverse=True))


class RevealedKey(Protocol):
    """A key whose value is shown only on request."""

    def reveal(self) -> str:
        """Return the value."""
        ...


class RedactionSettings(Protocol):
    """The settings that decide which secrets are hidden."""

    @property
    def redact_secrets(self) -> bool:
        """Whether to hide texts that look like secrets, and not only known keys."""
        ...

    @property
    def api_key(self) -> RevealedKey | None:
        """The key of the user's endpoint, if the settings have one."""
        ...


class Secrecy:
    """Removes secrets from texts; a session has one object, which knows all keys.

    Args:
        settings: Returns the settings; they may turn off all but the keys (INJ-17).
        keys: The keys of the endpoints, and other secrets in their requests.
        environment: Variables of the process.
    """

    def __init__(
        self,
        settings: Callable[[], RedactionSettings],
        keys: Iterable[str],
        environment: Mapping[str, str],
    ) -> None:
        self._settings = settings
        self._known = secrets_of(environment)
        own = settings().api_key
        self._keys = frozenset((*keys, *((own.reveal(),) if own is not None else ())))
        self._learn(self._keys)

    def hide(self, text: str) -> str:
        """Return the text without secrets; the same object if it contains no secret."""
        by_form, ours = self._hiders
        return (by_form if self._settings().redact_secrets else ours).hide(text)

    def also_hide(self, key: str) -> None:
        """Hide the key of another endpoint, too, from now on."""
        if key not in self._keys:
            self._learn(self._keys | {key})

    def _learn(self, keys: frozenset[str]) -> None:
        self._keys = keys
        by_form = Hider(own=keys, known=self._known)
        self._hiders = by_form, Hider(own=keys, knows_forms=False)
