"""The interactive session that ``indwell`` without arguments starts in a terminal."""
