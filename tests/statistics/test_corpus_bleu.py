"""Corpus BLEU from pooled counts is sacrebleu's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.statistics.rates import corpus_bleu

texts = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", ","]), max_size=12).map(" ".join)
pairs = st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=6)


@given(pairs)
def test_it_is_sacrebleus_corpus_score(corpus: list[tuple[str, str, str]]) -> None:
    from sacrebleu.metrics.bleu import BLEU

    said, *references = zip(*corpus, strict=True)
    scorer = BLEU(effective_order=True)
    sentences = []
    for one, *refs in corpus:
        found = scorer.sentence_score(one, refs)
        sentences.append([found.sys_len, found.ref_len, *found.counts, *found.totals])
    expected = BLEU().corpus_score(list(said), [list(one) for one in references]).score / 100
    assert corpus_bleu(sentences) == pytest.approx(expected, abs=1e-12)


def test_no_sentence_has_no_bleu() -> None:
    assert corpus_bleu([]) is None
