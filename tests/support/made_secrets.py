"""Generates secrets of every form from a seed, which keeps secrets out of the files."""

from __future__ import annotations

import base64
import random
import string

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"


class Maker:
    """Makes words of random characters; each word contains a digit."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def word(self, n: int, alphabet: str = ALNUM) -> str:
        digits = [one for one in alphabet if one.isdigit()]
        made = [self._random.choice(alphabet) for _ in range(n)]
        made[n // 2] = self._random.choice(digits)
        return "".join(made)

    def private_key(self) -> str:
        body = base64.b64encode(self._random.randbytes(800)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return "\n".join([*_FRAME[:1], *lines, *_FRAME[1:]])


_FRAME = [f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END")]


def made_secrets(seed: int = 7) -> dict[str, tuple[str, str]]:
    """Return, by name, a text as in files and outputs, and the secret part of the text."""
    make = Maker(seed)
    word = make.word
    plain = {
        "aws id": "AKIA" + word(16, UPPER),
        "github": "ghp_" + word(36),
        "github fine": "github_pat_" + word(22) + "_" + word(59),
        "gitlab": "glpat-" + word(20),
        "slack": f"xoxb-{word(12, string.digits)}-{word(12, string.digits)}-{word(24)}",
        "stripe": "sk_live_" + word(24),
        "anthropic": "sk-ant-api03-" + word(90),
        "openai": "sk-proj-" + word(100),
        "openrouter": "sk-or-v1-" + word(64, HEX),
        "old openai": "sk-" + word(48),
        "google": "AIza" + word(35),
        "google oauth": "GOCSPX-" + word(28),
        "npm": "npm_" + word(36),
        "pypi": "pypi-AgEIcHlwaS5vcmc" + word(80),
        "docker": "dckr_pat_" + word(27),
        "hugging face": "hf_" + word(34),
        "groq": "gsk_" + word(52),
        "sendgrid": f"SG.{word(22)}.{word(43)}",
        "digitalocean": "dop_v1_" + word(64, HEX),
        "databricks": "dapi" + word(32, HEX),
        "shopify": "shpat_" + word(32, HEX),
        "vault": "hvs." + word(24),
        "telegram": f"{word(10, string.digits)}:AA{word(33)}",
        "age": "AGE-SECRET-KEY-1" + word(58, string.ascii_uppercase + string.digits),
        "jwt": f"eyJ{word(30)}.eyJ{word(60)}.{word(43)}",
    }
    texts = {name: (f"export TOKEN={secret}\n", secret) for name, secret in plain.items()}
    in_context = {
        "aws secret": ("aws_secret_access_key = {}", word(40)),
        "bearer": ("> Authorization: Bearer {}\n", word(40)),
        "address": ("DATABASE_URL=postgres://app:{}@db.internal:5432/app", word(16)),
        "address without a name": ("redis://:{}@cache:6379/0", word(16)),
        "address with signs": ("amqp://app:{}@mq/x", f"{word(5)}!%40;{word(5)}"),
        "basic": ("Authorization: Basic {}", word(28)),
        "old GitHub header": ('-H "Authorization: token {}"', word(40, HEX)),
        "key in a header": ("x-api-key: {}", word(40, HEX)),
        "npmrc": ("//npm.example.com/:_authToken={}", f"{word(8, HEX)}-{word(27, HEX)}"),
        "webhook": ("https://hooks.slack.com/services/{}", f"T{word(8)}/B{word(8)}/{word(24)}"),
        "azure": ("DefaultEndpointsProtocol=https;AccountKey={}", word(86) + "=="),
    }
    texts |= {name: (text.format(one), one) for name, (text, one) in in_context.items()}
    key = make.private_key()
    texts["private key"] = (key, key.splitlines()[3])
    return texts
