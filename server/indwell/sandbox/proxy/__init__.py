"""A proxy in the server through which a confined command reaches only the named hosts (SBX-19)."""
