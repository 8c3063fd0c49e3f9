"""HTTP as a client: POST over pooled connections, and headers with secrets in them."""
