"""A proxy in Indwell through which a confined command reaches only the named hosts (SBX-19)."""
