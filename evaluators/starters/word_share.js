#!/usr/bin/env node
// An evaluator in JavaScript: which share of the words the candidate and the example's `target` have in common.
//
// echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | node word_share.js

// A word is letters and digits in a row; only A to Z are made small.
function words(text) {
  const small = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return small.match(/[a-z0-9\u0080-\uffff]+/g) ?? [];
}

// Change this: answer a "score" from 0 to 1 and whatever explains it, or an "error", or a "skip".
function judge(candidate, example) {
  const wanted = typeof example?.target === "string" ? words(example.target) : [];
  if (wanted.length === 0) return { error: "the example needs a target, a text with a word in it" };
  const said = words(candidate), known = new Set(said);
  const found = wanted.filter((word) => known.has(word)).length;
  const longer = Math.max(wanted.length, said.length); // whoever says more than is wanted scores less
  return { score: found / longer, found, words: longer };
}

function reply(line) {
  const payload = JSON.parse(line);
  const answer = judge(payload.candidate, payload.example);
  answer._capabilities = { persistent: true }; // further payloads may come as further lines
  if ("_id" in payload) answer._id = payload._id;
  process.stdout.write(JSON.stringify(answer) + "\n");
}

// Not readline: it also ends lines at U+2028 and at a bare CR, which may stand inside a payload.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  lines.forEach(reply);
});
process.stdin.on("end", () => rest && reply(rest));
