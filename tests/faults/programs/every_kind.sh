#!/bin/sh
# Does what the example says, {"do": …, "score": …}: answers, or goes wrong in any of the ways there are.
read -r line
score=${line#*'"score":'}
score=${score%%\}*}
good='{"score": '$score', "big": 1267650600228229401496703205376, "n": [1.0, {"x": "\u00fc"}]}'
case $line in
  *'"do":"error"'*) echo '{"error": "no score for this"}' ;;
  *'"do":"text"'*) echo '{"score": "0.7"}' ;;
  *'"do":"null"'*) echo '{"score": null, "note": "x"}' ;;
  *'"do":"above"'*) echo '{"score": 1.5, "why": ["x"]}' ;;
  *'"do":"missing"'*) echo '{"points": 3, "_capabilities": {}}' ;;
  *'"do":"noise"'*) echo starting; printf '%s\n' "$good" ;;
  *'"do":"list"'*) echo '[1]' ;;
  *'"do":"number"'*) echo 0.5 ;;
  *'"do":"nothing"'*) ;;
  *'"do":"nan"'*) echo '{"score": NaN, "why": "x"}' ;;
  *'"do":"huge"'*) echo '{"score": 1e999}' ;;
  *'"do":"latin"'*) printf '{"score": 1, "s": "\377"}' ;;
  *'"do":"exit"'*) printf '%s\n' "$good"; echo boom >&2; exit 3 ;;
  *'"do":"killed"'*) kill -9 $$ ;;
  *'"do":"late"'*) sleep 60 ;;
  *'"do":"flood"'*) head -c 9000000 /dev/zero ;;
  *) printf '%s\n' "$good" ;;
esac
