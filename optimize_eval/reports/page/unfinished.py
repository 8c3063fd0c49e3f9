"""What the page of a search is made from that has no run yet: its candidates so far, and how it stands."""

import shlex

from optimize_eval.reports.page.source import PageSource, without_records
from optimize_eval.reports.searched import unfinished_on_a_page
from optimize_eval.store.listing import StoredSearch

SEARCH = "search"  # a kind of pages


def search_source(stored: StoredSearch, *, is_running: bool) -> PageSource:
    """Say it from the search's own journal."""
    search = unfinished_on_a_page(stored, is_running=is_running)
    owed = max(0, stored.budget - stored.calls)
    return without_records(
        SEARCH,
        search["verdict"],
        {
            "commands": {
                "report": f"optimize-eval report {shlex.quote(str(stored.folder))}",
                "resume": stored.command,
            }
        },
        units={"total": stored.calls + owed, "owed": owed},
        search=search,
        created_at=stored.started_at,
    )
