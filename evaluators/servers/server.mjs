#!/usr/bin/env node
// An evaluator over HTTP, with node alone: exact match, as a start for your own.
//
//     node server.mjs 8000    listens at http://127.0.0.1:8000/; 0 takes a free port and prints it
//
// POST a payload, get {"score": …}. `evaluate` is the place to change things.

import { createServer } from "node:http";

const LARGEST = 16 * 1024 * 1024; // bytes in a body
const AT_ONCE = 4; // requests that are of use at a time

function evaluate({ candidate, example = {} }) {
  const targets = [example.targets ?? example.target ?? []].flat();
  if (targets.length === 0) {
    // where there is no score to give, say why: that is a failure, and not a zero
    return { error: `the example has no "targets"; it has ${Object.keys(example).join(", ") || "no field"}` };
  }
  const said = normal(candidate);
  return { score: targets.some((target) => normal(target) === said) ? 1 : 0, targets: targets.length };
}

const normal = (text) => text.toLowerCase().trim().split(/\s+/).join(" ");

const server = createServer((request, response) => {
  const pieces = [];
  let size = 0;
  request.on("data", (piece) => {
    size += piece.length;
    if (size <= LARGEST) pieces.push(piece);
  });
  request.on("end", () => {
    if (request.method !== "POST") return reply(response, 405, { error: "POST a payload" });
    if (size > LARGEST) return reply(response, 413, { error: `the body is larger than ${LARGEST} bytes` });
    try {
      const answer = evaluate(JSON.parse(Buffer.concat(pieces).toString("utf8")));
      return reply(response, 200, { ...answer, _capabilities: { concurrency: AT_ONCE } });
    } catch (error) {
      return reply(response, 400, { error: `not a payload: ${error.message}` });
    }
  });
});

function reply(response, status, answer) {
  const body = JSON.stringify(answer);
  const length = Buffer.byteLength(body); // with its length told, the connection is kept
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": length });
  response.end(body);
}

server.listen(Number(process.argv[2] ?? 8000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
