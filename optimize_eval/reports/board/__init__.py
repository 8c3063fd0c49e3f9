"""A bench's leaderboards as other programs take them: Markdown, CSV and JUnit XML; pure functions."""
