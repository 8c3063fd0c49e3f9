from collections import Counter


def compute_scores(samples):
    values = [sample.get("<< config.field >>") for sample in samples]
    counts = Counter(map(str, values))
    return [{"is_unique": value is None or counts[str(value)] == 1} for value in values]
