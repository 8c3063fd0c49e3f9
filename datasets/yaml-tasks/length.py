def compute_scores(sample, solver_output):
    words = solver_output.output.split()
    return {
        "scores": {"words": len(words), "is_short": len(words) <= 8},
        "metadata": {"question": sample["question"]},
    }
