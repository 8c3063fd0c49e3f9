"""The one place with time, retries and concurrency: how units are asked and what came of them."""
