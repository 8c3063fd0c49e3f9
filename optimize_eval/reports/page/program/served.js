// @ts-check
// The page while a run goes on: it asks the server it came from, every two seconds, and moves nothing under
// the cursor. A file asks for nothing: this is not begun there, and its policy would forbid it.

const EVERY = 2000; // ms
let seen = ""; // which run the address is of
const TOKEN = "optimize-eval-token";

/** Keep the token of the address, and take it out of there. */
function tokenOf() {
  const told = new URLSearchParams(location.search).get("token");
  if (told) {
    sessionStorage.setItem(TOKEN, told);
    history.replaceState(null, "", location.pathname + location.hash);
  }
  return sessionStorage.getItem(TOKEN) || "";
}

class Server {
  /** @param {string} token */
  constructor(token) {
    this.token = token;
    this.tags = new Map();
  }

  /**
   * @param {string} path
   * @param {boolean} [again] whether an answer that is the same is worth nothing
   * @returns {Promise<ArrayBuffer | null>}
   */
  async ask(path, again = false) {
    const headers = { "X-Token": this.token, ...(again && this.tags.has(path) ? { "If-None-Match": this.tags.get(path) } : {}) };
    const reply = await fetch(path, { headers, cache: "no-store" });
    if (reply.status === 304) return null;
    if (!reply.ok) throw new Error((await reply.text()).trim());
    this.tags.set(path, reply.headers.get("ETag") || "");
    return reply.arrayBuffer();
  }

  /** @param {string} path @param {boolean} [again] */
  async json(path, again) {
    const bytes = await this.ask(path, again);
    return bytes && parsedText(new TextDecoder().decode(bytes));
  }
}

/** What the server holds of one run, by the names of its parts. */
class Served {
  /** @param {Server} server @param {string} run */
  constructor(server, run) {
    this.server = server;
    this.run = run;
  }

  /** @param {string} name */
  async bytes(name) {
    return name === "index" ? null : this.server.ask(`/run/${this.run}/${name}`);
  }
}

/** Follow one run as long as the page is open. */
class Follower {
  /** @param {Server} server @param {string} run @param {any} head */
  constructor(server, run, head) {
    this.server = server;
    this.run = run;
    this.data = new Data(head);
    this.data.source = new Served(server, run);
    this.app = new App(this.data);
    this.news = 0;
    this.pill = h("button", { type: "button", class: "pill-news", hidden: true, on: { click: () => this.show() } });
    document.body.append(this.pill);
    this.app.read().catch((error) => this.lost(error));
    setTimeout(() => this.look(), EVERY);
  }

  async look() {
    try {
      const head = await this.server.json(`/run/${this.run}/head`, true);
      if (head) await this.take(head);
      this.app.lost = "";
    } catch (error) {
      this.lost(error);
    }
    setTimeout(() => this.look(), EVERY);
  }

  /** @param {any} head */
  async take(head) {
    const { data } = this;
    if (head.run.kind !== data.run.kind) location.reload(); // a search has come to its final sweep
    const before = data.summary.units.total - data.summary.units.owed;
    const sizes = data.axes.sizes.join();
    const columns = await data.source.bytes("columns");
    const examples = head.axes.sizes.join() === sizes ? null : await data.source.bytes("examples");
    data.take(head);
    if (columns) data.takeColumns(columns);
    if (examples) data.takeExamples(JSON.parse(new TextDecoder().decode(examples)));
    data.open.clear();
    data.opened.clear();
    data.reasons.clear();
    this.news += data.summary.units.total - data.summary.units.owed - before;
    if (this.app.grid || this.app.drawer) this.tell();
    else this.show();
  }

  /** Say that there is more, where rows would jump. */
  tell() {
    drawHeader(this.app);
    replace(this.pill, this.news > 0 ? `${count(this.news, "new result")}: show` : "It has changed: show");
    this.pill.hidden = false;
  }

  show() {
    this.news = 0;
    this.pill.hidden = true;
    this.app.draw();
  }

  /** @param {any} error */
  lost(error) {
    this.app.lost = error instanceof TypeError ? "The server is gone: these are the last results that it gave." : error.message;
    drawHeader(this.app);
  }
}

/** @param {Server} server */
async function served(server) {
  const main = h("main", { id: "main", class: "tab" });
  document.body.append(main);
  window.addEventListener("popstate", () => {
    if (location.search !== seen) location.reload(); // else it is a look at the same run
  });
  seen = location.search;
  await listed(server, main);
}

/**
 * List the runs, or open the one that there is; where there is none yet, look again.
 * @param {Server} server
 * @param {HTMLElement} main
 */
async function listed(server, main) {
  const { runs, isOne } = await server.json("/runs");
  const chosen = isOne ? runs[0] : runs.find((run) => run.id === new URLSearchParams(location.search).get("run"));
  if (chosen && (await opened(server, main, chosen))) return;
  replace(main, chosen ? h("p", { class: "note" }, "The run begins …") : runsCard(server, main, runs));
  if (!chosen) document.documentElement.dataset.ready = "yes";
  if (chosen || !runs.length) setTimeout(() => listed(server, main).catch(failing(main)), EVERY);
}

/** Follow a run; false where it cannot be read yet. */
async function opened(server, main, run) {
  const head = await server.json(`/run/${run.id}/head`, true).catch((error) => (run.state === "running" ? null : Promise.reject(error)));
  if (!head) return false;
  main.remove();
  new Follower(server, run.id, head);
  return true;
}

function runsCard(server, main, runs) {
  const go = (run) => {
    history.pushState(null, "", `?run=${run.id}`);
    seen = location.search;
    opened(server, main, run).catch(failing(main));
  };
  const line = (run) => h("tr", null,
    h("th", { scope: "row" }, run.state === "damaged" ? said(run.name) : h("button", { type: "button", class: "as-link", on: { click: () => go(run) } }, said(run.name))),
    h("td", null, run.state.replaceAll("_", " ")), h("td", { class: "w3" }, run.created_at ? moment(run.created_at) : ""), h("td", null, said(run.reason || run.verdict || "")));
  const heads = ["Run", "State", "Begun", "Verdict"].map((name) => h("th", { scope: "col", class: name === "Begun" ? "w3" : null }, name));
  return h("section", { class: "card" }, h("h1", null, "Runs"),
    runs.length ? h("table", { class: "runs" }, h("thead", null, h("tr", null, heads)), h("tbody", null, runs.map(line))) : h("p", { class: "note" }, "No run is here yet: `optimize-eval run` makes them."));
}

const STANDS = {
  running: "Running:", unfinished: "Killed after", interrupted: "Interrupted after", too_many_failures: "Too many failures: stopped after",
  out_of_time: "Time was over (--max-time): stopped after", over_budget: "Money was spent (--max-cost): stopped after",
};

/** How a run stands that is followed; nothing of one that is over. */
function progressOf(app) {
  const { data } = app;
  const live = data.head.live;
  if (!live) return null;
  const { units } = data.summary;
  const done = units.total - units.owed;
  const share = units.total ? done / units.total : 1;
  const text = STANDS[live.state] || "";
  if (!text && !app.lost) return null;
  const bar = h("span", { class: "progress", role: "progressbar", "aria-valuenow": Math.round(share * 100), "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": "calls done" }, h("span", { class: "progress-done" }));
  /** @type {HTMLElement} */ (bar.firstElementChild).style.setProperty("width", `${round(share * 100)}%`);
  const next = live.state === "running" ? " · no verdict before the end" : live.state === "done" || !units.owed ? "" : " · the same command again goes on with it";
  return h("div", { class: "live", role: "status" }, text && [h("b", null, text), ` ${whole(done)} of ${count(units.total, "call")} (${percent(share)})${next}`, bar], app.lost && h("span", { class: "failure" }, app.lost));
}
