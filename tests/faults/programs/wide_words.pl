#!/usr/bin/env perl
# Side info and stderr that would break a table.

print STDERR "x" x 500, " \x1b[31m ", "語" x 100, "\n";
print '{"score": 0.5, "', "k" x 200, '": 1, "', '\u001b[2J' x 20, '": 2, "', "語" x 60, qq(": 3}\n);
