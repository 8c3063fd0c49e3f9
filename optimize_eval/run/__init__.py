"""The one place with time, retries and concurrency: how units are called and what becomes of them."""
