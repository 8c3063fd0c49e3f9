#!/usr/bin/env ruby
# An evaluator in Ruby: which share of the words the candidate and the example's `target` have in common.
#
# echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | ruby word_share.rb
require "json"

# A word is letters and digits in a row; only A to Z are made small.
def words(text)
  text.downcase(:ascii).scan(/[a-z0-9\u{80}-\u{10ffff}]+/)
end

# Change this: answer a score from 0 to 1 and whatever explains it, or an error, or a skip.
def judge(candidate, example)
  target = example["target"]
  wanted = target.is_a?(String) ? words(target) : []
  return { error: "the example needs a target, a text with a word in it" } if wanted.empty?

  said = words(candidate)
  known = said.to_h { |word| [word, true] }
  found = wanted.count { |word| known[word] }
  longer = [wanted.size, said.size].max # whoever says more than is wanted scores less
  { score: found.fdiv(longer), found: found, words: longer }
end

$stdin.set_encoding("UTF-8") # whatever the locale is
$stdout.sync = true # send each answer at once
$stdin.each_line do |line|
  payload = JSON.parse(line, max_nesting: false)
  answer = judge(payload["candidate"], payload.fetch("example", {}))
  answer[:_capabilities] = { persistent: true } # further payloads may come as further lines
  answer[:_id] = payload["_id"] if payload.key?("_id")
  puts JSON.generate(answer)
end
