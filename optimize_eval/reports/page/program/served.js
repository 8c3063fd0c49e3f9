// @ts-check
// The page while a run goes on: it asks the server it came from, every two seconds, and moves nothing under
// the cursor. A file asks for nothing: this is not begun there, and its policy would forbid it.

const EVERY = 2000; // ms
const TOKEN = "optimize-eval-token";

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

/** What the server holds of one run, or of two, by the names of its parts. */
class Served {
  /** @param {Server} server @param {string} run */
  constructor(server, run) {
    this.server = server;
    this.run = run;
  }

  /** @param {string} name */
  async bytes(name) {
    return name === "index" ? null : this.server.ask(`/${this.run}/${name}`);
  }
}

/** How fast calls are done, since they were looked at first. */
class Pace {
  constructor() {
    this.begun = 0;
    this.first = -1;
    this.rate = 0; // calls a second
  }

  /** @param {number} done */
  note(done) {
    const now = Date.now() / 1000;
    if (this.first < 0) [this.begun, this.first] = [now, done];
    else if (done > this.first && now > this.begun) this.rate = (done - this.first) / (now - this.begun);
  }
}

/** How long it takes about until all is done; nothing before that is known. @param {Pace | null} pace @param {number} owed */
function leftOf(pace, owed) {
  if (!pace?.rate || !owed) return "";
  const seconds = owed / pace.rate;
  const minutes = Math.round(seconds / 60);
  return ` · about ${seconds < 60 ? `${Math.max(1, Math.round(seconds))} s` : minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`} left`;
}

/** Follow one run as long as the page is open. */
class Follower {
  /** @param {Server} server @param {string} run @param {any} head @param {boolean} isListed whether there are others */
  constructor(server, run, head, isListed) {
    this.server = server;
    this.run = run;
    this.data = new Data(head);
    this.data.source = new Served(server, run);
    this.app = new App(this.data, isListed);
    this.news = 0;
    this.pace = new Pace();
    this.app.pace = this.pace;
    this.pill = h("button", { type: "button", class: "pill-news", hidden: true, on: { click: () => this.show() } });
    document.body.append(this.pill);
    this.app.read().catch((error) => this.lost(error));
    setTimeout(() => this.look(), EVERY);
  }

  async look() {
    try {
      const head = await this.server.json(`/${this.run}/head`, true);
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
    this.pace.note(data.summary.units.total - data.summary.units.owed);
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
  const next = live.state === "running" ? `${leftOf(app.pace, units.owed)} · no verdict before the end` : live.state === "done" || !units.owed ? "" : " · the same command again goes on with it";
  return h("div", { class: "live", role: "status" }, text && [h("b", null, text), ` ${whole(done)} of ${count(units.total, "call")} (${percent(share)})${next}`, bar], app.lost && h("span", { class: "failure" }, app.lost));
}
