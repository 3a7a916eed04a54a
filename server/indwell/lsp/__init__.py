"""The protocol layer: the only package that knows pygls and lsprotocol. It translates."""
