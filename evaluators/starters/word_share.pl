#!/usr/bin/env perl
# An evaluator in Perl: which share of the words the candidate and the example's `target` have in common.
#
# echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | perl word_share.pl
use strict;
use warnings;
use JSON::PP;    # comes with Perl; Cpanel::JSON::XS is faster and is used in the same way

my $json = JSON::PP->new->utf8->allow_nonref;

# A word is letters and digits in a row; only A to Z are made small.
sub words {
    my ($text) = @_;
    $text =~ tr/A-Z/a-z/;
    return $text =~ /[a-z0-9\x{80}-\x{10ffff}]+/g;
}

# Perl tells "5" from 5 only when it writes them.
sub is_text { return defined $_[0] && !ref $_[0] && $json->encode($_[0]) =~ /^"/ }

# Change this: answer a score from 0 to 1 and whatever explains it, or an error, or a skip; the values are JSON.
sub judge {
    my ($candidate, $example) = @_;
    my @wanted = is_text($example->{target}) ? words($example->{target}) : ();
    return (error => '"the example needs a target, a text with a word in it"') unless @wanted;
    my @said  = words($candidate);
    my %known = map { $_ => 1 } @said;
    my $found = grep { $known{$_} } @wanted;
    my $words = @said > @wanted ? @said : @wanted;    # whoever says more than is wanted scores less
    my $score = sprintf "%.17g", $found / $words;     # all digits: JSON::PP would write 15
    return (score => $score, found => $found, words => $words);
}

$| = 1;    # send each answer at once
while (my $line = <STDIN>) {
    my $payload = $json->decode($line);
    my @answer = judge($payload->{candidate}, $payload->{example});
    push @answer, _capabilities => '{"persistent":true}';    # further payloads may come as further lines
    push @answer, _id => $json->encode($payload->{_id}) if exists $payload->{_id};
    my @pairs;
    while (my ($key, $value) = splice @answer, 0, 2) { push @pairs, qq("$key":$value) }
    print '{', join(',', @pairs), "}\n";
}
