"""Task files with the verdict that the pages give: valid, or which rules are broken at which places."""

from pathlib import Path

import pytest

from optimize_eval.base.errors import Problem
from optimize_eval.run.preflight.files_checked import check_definition
from tests.tasks.yaml.judged import Judged, judged

DOCUMENTS = judged()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_the_verdict_is_the_one_written_beside_the_lines(document: Judged, tmp_path: Path) -> None:
    checked = check_definition(document.write(tmp_path))
    assert {(*_place(one, tmp_path), one.rule, one.field) for one in checked.problems} == document.problems
    assert document.notes <= {(*_place(one, tmp_path), one.field) for one in checked.notes}
    for *place, said in document.said:
        assert [one for one in checked.problems if said in one.reason and [*_place(one, tmp_path)] == place]
    for *place, word in document.words:
        assert [one for one in checked.problems if _suggests(one, word) and [*_place(one, tmp_path)] == place]


def test_no_two_documents_have_one_name() -> None:
    assert len({document.name for document in DOCUMENTS}) == len(DOCUMENTS)


def _place(problem: Problem, folder: Path) -> tuple[str, int]:
    return str(Path(problem.path).relative_to(folder)), problem.line or 0


def _suggests(problem: Problem, word: str) -> bool:
    return f"did you mean {word!r}?" in problem.reason or problem.reason.endswith(
        (f"mean {word}?)", f"/{word}?")
    )
