"""Objects in memory: metadata packed, bodies compressed, found by indexes; one writer, many readers. Pure."""
