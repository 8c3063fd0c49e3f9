"""Runs looked at in a browser while they go on: a server for this machine alone, which changes nothing.

What a run looks like at a moment is reports.page.live's; here is who may read what, and how it is sent.
"""
