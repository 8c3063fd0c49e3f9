#!/usr/bin/env perl
# A worker with one trait, named by its first argument; behaves well one-shot, where its payload has no _id.
#
# The candidate is a number; the score is a hundredth of it. The trait applies to candidates that are divisible
# by 5. Perl starts in a fifth of the time that Python takes, and this is started hundreds of times.

use strict;
use warnings;

my $trait       = shift;
my $concurrency = shift // 1;
my @held;

sub answer {
    my ($number, $id, @more) = @_;
    my $said = $number % 7 == 3 ? qq("error": "no score for $number") : qq("score": @{[$number / 100]}, "number": $number);
    my $capabilities = qq("_capabilities": {"persistent": true, "concurrency": $concurrency});
    return "{" . join(", ", $said, $capabilities, (defined $id ? qq("_id": "$id") : ()), @more) . "}\n";
}

sub say_at_once { $| = 1; print @_ }

sub padding { return '"padding": "' . "x" x $_[0] . '"' }

sub wait_for { select undef, undef, undef, $_[0] }

my %differs = (    # what an answer has, one-shot too
    "big-line"      => sub { padding(65_537) },
    "nan"           => sub { '"extra": NaN' },
    "overlong-line" => sub { padding(9_000_000) },
);
my %misbehaves = (
    "never-flushes"   => sub { $| = 0; print answer(@_) },
    "dies-mid-answer" => sub { say_at_once(answer(@_) =~ s/\n//r); exit },
    "dies"            => sub { print STDERR "out of luck\n"; exit 3 },
    "answers-twice"   => sub { say_at_once(answer(@_)); say_at_once(answer(@_)) },
    "wrong-id"        => sub { say_at_once(answer($_[0], "nobody")) },
    "no-id"           => sub { say_at_once(qq({"score": 1}\n)) },
    "noise"           => sub { say_at_once("progress: 50 %\n"); say_at_once(answer(@_)) },
    "hangs"           => sub { tell_who_listens($_) for @ARGV; sleep 600 },
    "closes-stdout"   => sub { close STDOUT; sleep 600 },
    "stderr-flood"    => sub { print STDERR "x" x 1_000_000; say_at_once(answer(@_)) },
    "grandchild"      => sub { leave_a_child(); say_at_once(answer(@_)); sleep 600 },
);

sub tell_who_listens {
    open my $up, ">", $_[0] or die;
    print $up "up";
    close $up;
}

sub leave_a_child {
    return if fork;
    require POSIX;
    POSIX::setsid();
    sleep 600;
}

while (my $line = <STDIN>) {
    my ($number) = $line =~ /"candidate":"(\d+)"/;
    my ($id)     = $line =~ /"_id":"([^"]*)"/;
    my $is_odd   = $number % 5 == 0;
    my @differing = $is_odd && $differs{$trait} ? $differs{$trait}->() : ();
    if (!defined $id) {
        sleep 600 if $trait eq "hangs" && $is_odd;
        wait_for(0.001) if $trait =~ /^(out-of-order|serial)$/;
        say_at_once(answer($number, $id, @differing));
    }
    elsif ($trait eq "out-of-order") {
        push @held, [$number, $id];
        if (@held == $concurrency || $id <= 2) {    # which are sent one by one
            say_at_once(answer(@$_)) for reverse @held;
            @held = ();
        }
    }
    elsif ($trait eq "serial") {
        wait_for($ARGV[0]);    # one after the other behind a declared window: the last in the queue is late
        say_at_once(answer($number, $id));
    }
    elsif ($is_odd && $misbehaves{$trait}) {
        $misbehaves{$trait}->($number, $id);
    }
    else {
        say_at_once(answer($number, $id, @differing));
    }
}
