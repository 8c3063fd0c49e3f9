// @ts-check
// The runs of a folder: a line and a link for each, and two of them against each other.

let seen = ""; // which run the address is of
const ASKED_FOR = 400; // ms in which another tab may hand the token on

/** Keep the token of the address, and take it out of there; a tab that a link opened asks the one it came from. */
async function tokenOf() {
  const told = new URLSearchParams(location.search).get("token");
  if (told) {
    sessionStorage.setItem(TOKEN, told);
    history.replaceState(null, "", location.pathname + location.hash);
  }
  const tabs = new BroadcastChannel(TOKEN);
  const known = sessionStorage.getItem(TOKEN) || (await handedOn(tabs));
  if (known) {
    sessionStorage.setItem(TOKEN, known);
    tabs.onmessage = ({ data }) => data === "?" && tabs.postMessage(known); // this server's own pages alone hear it
  }
  return known;
}

/** @param {BroadcastChannel} tabs @returns {Promise<string>} */
function handedOn(tabs) {
  return new Promise((resolve) => {
    tabs.onmessage = ({ data }) => typeof data === "string" && data !== "?" && resolve(data);
    tabs.postMessage("?");
    setTimeout(() => resolve(""), ASKED_FOR);
  });
}

async function served() {
  const server = new Server(await tokenOf());
  const main = h("main", { id: "main", class: "tab" });
  document.body.append(main);
  window.addEventListener("popstate", () => {
    if (location.search !== seen) location.reload(); // else it is a look at the same run
  });
  seen = location.search;
  await new Shelf(server, main).look();
}

/** What the address names: a run, or two, as the server calls them. @returns {string} */
function namedRun() {
  const told = new URLSearchParams(location.search);
  const number = (name) => (/^\d{1,6}$/.test(told.get(name) || "") ? told.get(name) : null);
  if (number("run")) return `run/${number("run")}`;
  return number("a") && number("b") ? `diff/${number("a")}/${number("b")}${told.get("force") ? "/force" : ""}` : "";
}

class Shelf {
  /** @param {Server} server @param {HTMLElement} main */
  constructor(server, main) {
    this.server = server;
    this.main = main;
    /** @type {string[]} the runs that are marked, the first before the second */
    this.marked = [];
    /** @type {Map<string, Pace>} */
    this.paces = new Map();
    this.runs = [];
  }

  /** List the runs, or open the one that there is; look again while there is something to come. */
  async look() {
    const { runs, isOne } = await this.server.json("/runs");
    const name = isOne ? `run/${runs[0].id}` : namedRun();
    const isThere = name && (await this.open(name, runs, isOne));
    if (isThere) return;
    if (name) replace(this.main, h("p", { class: "note" }, "The run begins …"));
    else this.show(runs);
    if (name || !runs.length || runs.some((run) => run.state === "running")) setTimeout(() => this.look().catch(failing(this.main)), EVERY);
  }

  /** Follow a run; false where it cannot be read yet. */
  async open(name, runs, isOne) {
    const isRunning = runs.some((run) => name === `run/${run.id}` && run.state === "running");
    try {
      const head = await this.server.json(`/${name}/head`, true);
      this.main.remove();
      new Follower(this.server, name, head, !isOne);
      return true;
    } catch (error) {
      if (isRunning) return false;
      this.refuse(name, error instanceof Error ? error.message : String(error));
      return true;
    }
  }

  /** Say why two runs are not compared, and how they are all the same. */
  refuse(name, message) {
    const anyway = name.startsWith("diff/") && !name.endsWith("/force") && h("p", null, h("a", { href: `${location.search}&force=1` }, "Compare what both have anyway"));
    replace(this.main, h("section", { class: "card", role: "alert" }, h("h1", null, name.startsWith("diff/") ? "These two cannot be compared" : "This run cannot be read"), h("p", null, said(message)), anyway, h("p", null, h("a", { href: "?" }, "← All runs"))));
    document.documentElement.dataset.ready = "yes";
  }

  show(runs) {
    this.runs = runs;
    for (const run of runs) {
      if (!this.paces.has(run.id)) this.paces.set(run.id, new Pace());
      if (run.state === "running" && run.done !== null) this.paces.get(run.id)?.note(run.done);
    }
    const held = focusPath(document.activeElement);
    const heads = [["", "Compare"], ["", "Run"], ["", "State"], ["w3", "Size"], ["w2", "Begun"], ["of-run", "Verdict"]].map(([kind, name]) => h("th", { scope: "col", class: kind || null }, name));
    replace(this.main, h("section", { class: "card" },
      h("div", { class: "card-head" }, h("h1", null, "Runs"), runs.length > 1 && this.compareButton()),
      runs.length ? h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Runs" }, h("table", { class: "runs" }, h("thead", null, h("tr", null, heads)), h("tbody", null, runs.map((run) => this.line(run)))))
        : h("p", { class: "note" }, "No run is here yet: `optimize-eval run` makes them.")));
    if (held) focusAt(held);
    document.documentElement.dataset.ready = "yes";
  }

  compareButton() {
    const [b, a] = this.runs.filter((run) => this.marked.includes(run.id)).map((run) => run.id); // the newest is first
    const go = () => (location.search = `?a=${a}&b=${b}`);
    const text = this.marked.length === 2 ? "Compare these two" : "Mark two runs to compare them";
    return h("button", { type: "button", class: "copy compare", disabled: this.marked.length !== 2, on: { click: go } }, text);
  }

  line(run) {
    const isReadable = run.state !== "damaged";
    const toggle = () => {
      this.marked = this.marked.includes(run.id) ? this.marked.filter((one) => one !== run.id) : [...this.marked, run.id].slice(-2);
      this.show(this.runs);
    };
    return h("tr", null,
      h("td", null, isReadable && h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, checked: this.marked.includes(run.id), on: { change: toggle } })),
      h("th", { scope: "row" }, isReadable ? h("a", { href: `?run=${run.id}` }, said(run.name)) : said(run.name), run.note && below(said(run.note)), h("span", { class: "below in-narrow" }, said(run.reason || run.verdict || ""))),
      h("td", null, run.state.replaceAll("_", " "), below(this.progressOf(run))),
      h("td", { class: "w3" }, sizeOfRun(run)), h("td", { class: "w2" }, run.created_at ? moment(run.created_at) : ""), h("td", { class: "of-run" }, said(run.reason || run.verdict || "")));
  }

  progressOf(run) {
    if (run.done === null || run.calls === null || run.done === run.calls) return null;
    const left = run.state === "running" ? leftOf(this.paces.get(run.id) || null, run.calls - run.done) : "";
    return `${whole(run.done)} of ${count(run.calls, "call")}${left}`;
  }
}

function sizeOfRun(run) {
  const told = [run.compared && count(run.compared, run.is_bench ? "model" : "candidate"), run.examples > 1 && count(run.examples, "example"), run.calls && count(run.calls, "call")];
  return told.filter(Boolean).join(" · ");
}
