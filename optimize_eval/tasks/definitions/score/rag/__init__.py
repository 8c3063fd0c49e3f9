"""RAGChecker (Ru et al. 2024): claims of a reply and of a target, checked against each other and passages."""
