#!/usr/bin/env php
<?php
// An evaluator in PHP: which share of the words the candidate and the example's `target` have in common.
//
// echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | php word_share.php

const DEEPEST = 1024; // levels of nesting; PHP's own limit is 512

// A word is letters and digits in a row; of bytes, so that only A to Z are made small.
function words(string $text): array
{
    $small = strtr($text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz');
    preg_match_all('/[a-z0-9\x80-\xff]++/', $small, $found);
    return $found[0];
}

// Change this: answer a "score" from 0 to 1 and whatever explains it, or an "error", or a "skip".
function judge(string $candidate, array $example): array
{
    $target = $example['target'] ?? null;
    $wanted = is_string($target) ? words($target) : [];
    if (!$wanted) {
        return ['error' => 'the example needs a target, a text with a word in it'];
    }
    $said = words($candidate);
    $known = array_flip($said);
    $found = count(array_filter($wanted, fn($word) => isset($known[$word])));
    $longer = max(count($wanted), count($said)); // whoever says more than is wanted scores less
    return ['score' => $found / $longer, 'found' => $found, 'words' => $longer];
}

ini_set('serialize_precision', '-1'); // all digits of a score
while (($line = fgets(STDIN)) !== false) {
    $payload = json_decode($line, true, DEEPEST, JSON_THROW_ON_ERROR);
    $answer = judge($payload['candidate'], $payload['example'] ?? []);
    $answer['_capabilities'] = ['persistent' => true]; // further payloads may come as further lines
    if (isset($payload['_id'])) {
        $answer['_id'] = $payload['_id'];
    }
    fwrite(STDOUT, json_encode($answer, JSON_THROW_ON_ERROR) . "\n");
}
