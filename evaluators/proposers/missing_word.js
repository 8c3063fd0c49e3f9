#!/usr/bin/env node
// A proposer in JavaScript: adds a word that the worst example's `target` has and the candidate lacks.
//
// echo '{"candidate":"hello","records":[{"score":0.5,"example":{"target":"hello Ada"}}]}' | node missing_word.js

const words = (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

// Change this: answer with a better candidate, or "skip" where there is none to propose.
function propose(candidate, records) {
  const known = new Set(words(candidate.toLowerCase()));
  for (const record of [...records].sort((a, b) => (a.score ?? 0) - (b.score ?? 0))) {
    const missing = words(String(record.example?.target ?? "")).find((word) => !known.has(word.toLowerCase()));
    if (missing) return { candidate: `${candidate} ${missing}`.trim(), note: `added ${missing}` };
  }
  return { skip: "no example wants a word that the candidate lacks" };
}

function reply(line) {
  const request = JSON.parse(line);
  const answer = propose(request.candidate, request.records);
  answer._capabilities = { persistent: true }; // further requests may come as further lines
  if ("_id" in request) answer._id = request._id;
  process.stdout.write(JSON.stringify(answer) + "\n");
}

// Not readline: it also ends lines at U+2028 and at a bare CR, which may stand inside a request.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  lines.forEach(reply);
});
process.stdin.on("end", () => rest && reply(rest));
