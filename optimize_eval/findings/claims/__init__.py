"""What a summary may claim: families of comparisons, failures, the choice of a winner, what carries over."""
