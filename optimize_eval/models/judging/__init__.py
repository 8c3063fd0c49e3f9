"""What is requested of a model that judges, and what its reply means: for judges and for tasks' scorers."""
