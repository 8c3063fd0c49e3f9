// A model that takes its time, and a generator of load for it.
//   node slow_model.js serve MILLISECONDS     prints its base URL; GET /span: seconds from the first request to
//                                             the last reply since the former GET
//   node slow_model.js load BASE CALLS SLOTS  as many calls, so many at once, over connections that are kept
const http = require("http");

const VERDICT = JSON.stringify({ reasoning: "r", score: 0.5, better: "first" });
const REPLY = JSON.stringify({
  model: "m",
  choices: [{ message: { role: "assistant", content: VERDICT }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 9 },
});

function serve(wait) {
  let first = null, last = null;
  const reply = (response, body) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  };
  const server = http.createServer((request, response) => {
    if (request.method === "GET") {
      reply(response, String((last - first) / 1000));
      first = last = null;
      return;
    }
    first ??= performance.now();
    request.resume().on("end", () =>
      setTimeout(() => { reply(response, REPLY); last = performance.now(); }, wait));
  });
  server.keepAliveTimeout = 60000;
  server.listen(0, "127.0.0.1", 1024, () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
}

function load(base, calls, slots) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: slots });
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(1500) }] });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  let left = calls;
  const next = () => {
    if (left-- <= 0) return;
    const request = http.request(`${base}/chat/completions`, { method: "POST", agent, headers }, (response) => {
      response.resume().on("end", next);
    });
    request.end(body);
  };
  for (let slot = 0; slot < slots; slot += 1) next();
}

const [mode, ...words] = process.argv.slice(2);
if (mode === "serve") serve(Number(words[0]));
else load(words[0], Number(words[1]), Number(words[2]));
