"""What people and machines read, made by pure functions: values → text, no printing."""
