"""What all rests on: errors, the contract with evaluators, strict reading, secrets, what a call took."""
