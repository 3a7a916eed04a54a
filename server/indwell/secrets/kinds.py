"""The forms of secrets that can be told from all other text by themselves. Pure.

Only forms that their makers gave a beginning (or a frame) of their own: a key without one looks
like a hash, and hiding hashes would wreck what the model reads. The forms are those of the rules of
gitleaks (MIT licence), which name the makers' documents, as of 2026.

No library does this here (November 2026): detect-secrets has had no release since May 2024 and
brings `requests`; kingfisher compiles its rules for 2.3 s into 40 MB and brings 36 MB that can also
send and revoke what it finds; betterleaks brings a second run-time system (Go), for one platform.
"""

from __future__ import annotations

import re
from functools import cache

import msgspec


class Kind(msgspec.Struct, frozen=True):
    """One form of secret.

    Attributes:
        name: For people and the model.
        needles: One of them stands in every text that holds such a secret; found quickly.
        form: A regular expression; its group ``secret`` is hidden, the whole if it has none.
        entropy: Bits a character that it has at least; what has less is an example.
    """

    name: str
    needles: tuple[str, ...]
    form: str
    entropy: float = 3.0

    @property
    def pattern(self) -> re.Pattern[str]:
        """The form, compiled when it is needed first; all of them take a tenth of a second."""
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
"""Needles stand in the same word as the secret, or a few characters before it."""
