"""The one place with time, retries, concurrency and disk: how units are asked and what came of them."""
