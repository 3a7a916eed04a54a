"""``indwell logout``: forgets the key of one endpoint, or of all."""

from __future__ import annotations

import sys

from indwell.cli.json_line import json_line
from indwell.errors import UserError
from indwell.service.endpoint.addresses import address_of
from indwell.service.stored_keys import key_store
from indwell.settings.origins import origin_of


def logout(wanted: str | None, *, as_json: bool) -> int:
    """Forget keys; 0 done, 1 if there is none of that endpoint or it cannot be forgotten."""
    store = key_store()
    try:
        origins = tuple(store.origins()) if wanted is None else (origin_of(address_of(wanted)),)
        gone = tuple(origin for origin in origins if store.forget(origin))
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    if as_json:
        sys.stdout.write(json_line({"forgotten": gone}) + "\n")
    elif gone:
        print("forgotten: " + ", ".join(gone))
    else:
        print("nothing is stored" + ("" if wanted is None else f" for {origins[0]}"))
    return 0 if gone or wanted is None else 1
