"""Programs that run already and that nothing here starts or ends: behind HTTP, or behind a Unix socket."""
