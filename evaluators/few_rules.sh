#!/bin/sh
# Few rules: how few rules of a @routing candidate are read until one matches the message? 1 for one rule,
# 1 / (1 + 0.1 × (rules read - 1)) for more, 0 when none matches. Reads payloads, one a line, until stdin ends.
# Limits: "message" is the first key of that name; beyond ASCII, letters keep their case and end words, and \u
# escapes stay as they are; amounts are not compared: `refund, amount > 100 -> x` matches when "refund" does.
export LC_ALL=C
set -f # no file names for `*`
set -- $(printf '\001 \002 \003') # not in JSON: they stand for escapes
backslash=$1 quote=$2 newline=$3

text_of() { # the text under the key $1 of the JSON $line -> $text
  before='' last='' IFS='"'
  for text in $line; do
    case $last in :*[!\ ]*) ;; :*) [ "$before" != "$1" ] || return 0 ;; esac
    before=$last last=$text
  done
  return 1
}

matches() { # are all words of the rule $1 in $message?
  case $1 in *-\>*) IFS=, ;; *) return 1 ;; esac
  for word in ${1%->*}; do
    word=${word#"${word%%[! ]*}"} word=${word%"${word##*[! ]}"}
    case $word in '' | '*' | amount*\>*) continue ;; esac
    case " $message " in *[!a-z0-9_]"$word"[!a-z0-9_]*) ;; *) return 1 ;; esac
  done
}

small='y/ABCDEFGHIJKLMNOPQRSTUVWXYZ/abcdefghijklmnopqrstuvwxyz/'
plain=$small'; s/\\\\/'$backslash'/g; s/\\"/'$quote'/g; s/\\n/'$newline'/g; s/\\[bfrt]/ /g; s/\\\//\//g'
sed "$plain" | while IFS= read -r line || [ -n "$line" ]; do
  text_of message || { echo '{"error":"few_rules needs an example with a \"message\""}' && continue; }
  message=$text count=0 score=0
  text_of candidate
  IFS=$newline
  for rule in $text; do
    case ${rule#"${rule%%[! ]*}"} in '' | '#'*) continue ;; esac
    count=$((count + 1))
    if matches "$rule"; then score=$(((100000 + (9 + count) / 2) / (9 + count))) && break; fi
  done
  printf '{"score":%d.%04d,"rules_read":%d}\n' $((score / 10000)) $((score % 10000)) "$count"
done
