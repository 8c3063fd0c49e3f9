"""What is made of a scorer's fields over all samples, as tasks write it down: plain data."""

from optimize_eval.frozen import frozen


@frozen
class PythonMetric:
    """Code over all scores: `compute_metrics(scores)`."""

    snippet: str
    key: str = ""


@frozen
class Binary:
    """Accuracy, precision, recall and F1 of a field that has one of two answers."""

    field_gt: str
    field_pred: str
    positive_answer: str
    negative_answer: str
    key: str = ""


@frozen
class Multiclass:
    """Accuracy, and precision and recall of each class."""

    field_gt: str
    field_pred: str
    key: str = ""


@frozen
class Number:
    """One number of a field's values."""

    type: str  # mean, max, min, std_dev
    field: str
    name: str = ""  # empty: {field}_{type}
    key: str = ""


@frozen
class Frequency:
    """The share of each value of a field."""

    field: str
    key: str = ""


@frozen
class Counted:
    """A rate of counts that are summed over all samples first."""

    type: str  # recall, precision, f1_score
    num_true_positives_field: str
    num_false_negatives_field: str = ""
    num_false_positives_field: str = ""
    name: str = ""  # empty: its type
    key: str = ""


Metric = PythonMetric | Binary | Multiclass | Number | Frequency | Counted
