"""Search tools, which run ripgrep on the disk and on unsaved buffers."""
