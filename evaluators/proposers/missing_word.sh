#!/usr/bin/env bash
# A proposer in bash with jq: adds a word that the worst example's `target` has and the candidate lacks.
# jq reads request after request by itself; --unbuffered sends each reply at once.
#
# echo '{"candidate":"hello","records":[{"score":0.5,"example":{"target":"hello Ada"}}]}' | bash missing_word.sh
exec jq -c --unbuffered '
  def words: [scan("\\w+")];

  # change this: answer with a better candidate, or "skip" where there is none to propose
  def propose:
    .candidate as $candidate
    | ($candidate | ascii_downcase | words) as $known
    | [.records | sort_by(.score // 0)[] | .example.target // "" | words[]
       | select(ascii_downcase as $word | $known | index($word) | not)] as $missing
    | if $missing == [] then {skip: "no example wants a word that the candidate lacks"}
      else {candidate: ("\($candidate) \($missing[0])" | ltrimstr(" ")), note: "added \($missing[0])"}
      end;

  propose + {_capabilities: {persistent: true}} + (if has("_id") then {_id} else {} end)
'
