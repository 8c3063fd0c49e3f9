#!/usr/bin/env bash
# An evaluator in bash with jq: which share of the words the candidate and the example's `target` have in common.
# jq reads payload after payload by itself; --unbuffered sends each answer at once.
#
# echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | bash word_share.sh
exec jq -c --unbuffered '
  # a word is letters and digits in a row; only A to Z are made small
  def in_words:
    if . >= 65 and . <= 90 then . + 32 elif (. >= 97 and . <= 122) or (. >= 48 and . <= 57) then . else 32 end;
  [range(128) | in_words] as $signs
  | def words:
      explode | map(if . > 127 then . else $signs[.] end) | implode | split(" ") | map(select(. != ""));

  # change this: answer a "score" from 0 to 1 and whatever explains it, or an "error", or a "skip"
  def judge:
    (.example.target | if type == "string" then words else [] end) as $wanted
    | if $wanted == [] then {error: "the example needs a target, a text with a word in it"}
      else
        (.candidate | words) as $said
        | ([$wanted, $said | length] | max) as $words  # whoever says more than is wanted scores less
        | (($wanted | length) - ($wanted - $said | length)) as $found
        | {score: ($found / $words), $found, $words}
      end;

  judge + {_capabilities: {persistent: true}} + (if has("_id") then {_id} else {} end)
'
