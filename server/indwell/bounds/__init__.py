"""The limits of a session: trusted folders, secret files, permission rules, command sandboxes."""
