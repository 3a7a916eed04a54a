"""The wire: bytes and messages between the editor and the handlers, hardened on both ends."""
