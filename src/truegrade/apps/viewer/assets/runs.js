// The list of runs: filters in the address, so that going back finds them; a selection that survives filtering.

const COLUMNS = [["", "Run", ""], ["state", "State", "state"], ["benchmark", "Benchmark", "benchmark"], ["model", "Model", "model"], ["value", "Result", "value"], ["n", "Samples", "n"], ["cost", "Cost", "cost"], ["created", "Begun", "created"]];
const TEXT_COLUMNS = ["benchmark", "model", "state", "profile"];
const PAGE = 100;
const chosenRuns = new Set();

function showRuns(view, query) {
  const state = { q: "", benchmark: "", model: "", profile: "", state: "", sort: "created", descending: "true", offset: "0", ...query };
  const find = put("input", { type: "search", id: "find", placeholder: "name, model, benchmark", value: state.q });
  const controls = Object.fromEntries(["benchmark", "model", "profile", "state"].map((name) => [name, choice(`filter-${name}`)]));
  const sort = choice("sort", ["created", "newest first"], ["changed", "last written to first"], ["value", "best first"], ["n", "most samples first"], ["cost", "dearest first"], ["benchmark", "benchmark"], ["model", "model"], ["state", "state"]);
  const form = put("form", { id: "filters", role: "search" }, labelled("Search", find), labelled("Benchmark", controls.benchmark), labelled("Model", controls.model), labelled("Profile", controls.profile), labelled("State", controls.state), labelled("Order", sort), put("button", { type: "reset" }, "Clear"));
  const found = put("p", { id: "found", class: "note", role: "status" });
  const head = put("tr", {}, put("th", { scope: "col" }, put("span", { class: "unseen" }, "Choose")), ...COLUMNS.map(([key, words]) => header(key, words)));
  const body = put("tbody", { id: "runs" });
  const table = put("table", { class: "runs", "aria-describedby": "keys" }, put("thead", {}, head), body);
  const pager = put("nav", { class: "pager", "aria-label": "Pages" });
  const bar = put("div", { id: "chosen", hidden: true });
  const keys = put("p", { class: "note", id: "keys" }, "j and k or arrow keys go through the list, Enter opens, Space chooses, c compares what is chosen, / searches, ? lists all keys.");
  const others = put("div", { id: "others" });
  view.node.append(form, found, bar, table, pager, keys, others);
  setHeading("Runs", "");
  let shown = "";

  function header(key, words) {
    if (!key) return put("th", { scope: "col" }, words);
    const press = () => {
      const same = state.sort === key;
      state.descending = String(same ? state.descending !== "true" : !TEXT_COLUMNS.includes(key));
      state.sort = key;
      change();
    };
    return put("th", { scope: "col", "data-sort": key, class: key === "n" || key === "cost" ? "right" : undefined }, put("button", { type: "button", class: "sorter", onclick: press }, words));
  }

  // ------------------------------------------------------------------------------------ asking

  function change(offset) {
    state.offset = String(offset || 0);
    rememberQuery("#/", state, { sort: "created", descending: "true", offset: "0" });
    return look().catch(complain);
  }

  let ticket = 0;
  async function look() {
    const mine = ++ticket;
    const page = await ask("/api/runs", { ...state, limit: PAGE });
    if (mine !== ticket || view.closed) return;
    fillChoice(controls.benchmark, "any", page.benchmarks, state.benchmark);
    fillChoice(controls.model, "any", page.models, state.model);
    fillChoice(controls.profile, "any", page.profiles, state.profile);
    fillChoice(controls.state, "any", page.states, state.state);
    sort.value = state.sort;
    for (const cell of head.querySelectorAll("[data-sort]")) {
      const on = cell.dataset.sort === state.sort;
      if (on) cell.setAttribute("aria-sort", state.descending === "true" ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    found.textContent = page.total ? `${whole(page.matching)} of ${whole(page.total)} runs` : "No run lies here yet. Make one: truegrade run humaneval";
    table.hidden = keys.hidden = !page.matching;
    const rows = JSON.stringify(page.runs);
    if (rows !== shown) { shown = rows; fill(page.runs); }
    fillPager(page);
  }

  function fill(runs) {
    const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.run : null;
    body.replaceChildren(...runs.map(row));
    const first = [...body.rows].find((one) => one.dataset.run === focused) || body.rows[0];
    if (first) first.tabIndex = 0;
    if (focused && first) first.focus();
  }

  function row({ run, headline, so_far }) {
    const box = put("input", { type: "checkbox", "aria-label": `Choose ${run.id}`, tabindex: -1, disabled: run.state === "unreadable" });
    box.checked = chosenRuns.has(run.id);
    box.addEventListener("change", () => { if (box.checked) chosenRuns.add(run.id); else chosenRuns.delete(run.id); drawBar(); });
    const cell = (name, ...children) => put("td", { "data-name": name, class: `of-${name.toLowerCase()}` }, ...children);
    const agent = run.agent ? put("small", {}, `with ${run.agent}`) : null;
    const more = run.profiles.length > 1 ? ` and ${run.profiles.length - 1} more` : "";
    const shownUnder = headline || so_far;
    const rules = shownUnder ? `${headline ? `${headline.metric} · ` : ""}${shownUnder.profile}${state.profile ? "" : more}` : run.profiles.join(", ");
    if (run.problem) return put("tr", { "data-run": run.id, tabindex: -1 }, put("td", { class: "box" }, box), put("th", { scope: "row" }, put("a", { href: runAddress(run.id), tabindex: -1 }, run.id)), cell("State", stateBadge(run.state)), put("td", { colspan: 6, class: "problem" }, run.problem));
    return put("tr", { "data-run": run.id, tabindex: -1 },
      put("td", { class: "box" }, box),
      put("th", { scope: "row" }, put("a", { href: runAddress(run.id), tabindex: -1 }, run.id)),
      cell("State", stateBadge(run.state)),
      cell("Benchmark", run.benchmark),
      cell("Model", run.model, agent),
      cell("Result", ...result(run, headline, so_far), put("small", {}, rules)),
      cell("Samples", ...amount(run)),
      cell("Cost", dollars(run.cost_usd)),
      cell("Begun", put("time", { datetime: run.created, title: `${run.created}; last written to ${run.changed}` }, when(run.created))));
  }

  function fillPager(page) {
    const from = Number(state.offset), to = from + page.runs.length;
    pager.hidden = page.matching <= PAGE && from === 0;
    pager.replaceChildren(
      put("button", { type: "button", disabled: from === 0, onclick: () => change(Math.max(0, from - PAGE)) }, "Previous"),
      put("span", { class: "note" }, `${whole(Math.min(from + 1, to))} to ${whole(to)}`),
      put("button", { type: "button", disabled: to >= page.matching, onclick: () => change(from + PAGE) }, "Next"));
  }

  function drawBar() {
    bar.hidden = chosenRuns.size === 0;
    const names = [...chosenRuns];
    const words = names.length === 1 ? `${names[0]} is chosen; choose another to compare it with` : `${names.length} runs chosen; the others are compared with ${names[0]}`;
    bar.replaceChildren(put("span", {}, words), put("button", { type: "button", id: "compare", disabled: names.length < 2, onclick: compareChosen }, "Compare"), put("button", { type: "button", onclick: () => { chosenRuns.clear(); drawBar(); for (const box of body.querySelectorAll("input")) box.checked = false; } }, "Choose none"));
  }

  const compareChosen = () => { if (chosenRuns.size > 1) location.hash = `#/compare?${new URLSearchParams([...chosenRuns].map((id) => ["run", id]))}`; };

  // ------------------------------------------------------------------------------------ events

  function step(by) {
    const rows = [...body.rows], at = rows.findIndex((one) => one === document.activeElement.closest("tr"));
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!next) return;
    for (const one of rows) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  }

  body.addEventListener("keydown", (event) => {
    const on = event.target.closest("tr"), steps = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 };
    if (steps[event.key]) { event.preventDefault(); step(steps[event.key]); }
    else if (event.key === "Enter" && event.target === on) location.hash = runAddress(on.dataset.run);
    else if (event.key === " " && event.target === on) { event.preventDefault(); on.querySelector("input").click(); }
  });
  view.onkey = (event) => {
    if (event.key === "/") { event.preventDefault(); find.focus(); }
    else if (event.key === "c") compareChosen();
    else if (["ArrowDown", "j"].includes(event.key) && !body.contains(document.activeElement) && body.rows[0]) { event.preventDefault(); body.rows[0].focus(); }
  };
  view.keys = [["j, ↓", "next run"], ["k, ↑", "previous run"], ["Enter", "open the run"], ["Space", "choose it for comparison"], ["c", "compare what is chosen"], ["/", "search"], ["Escape", "leave the search"]];
  let waiting;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { state.q = find.value.trim(); change(); }, 150); });
  for (const [name, control] of Object.entries(controls)) control.addEventListener("change", () => { state[name] = control.value; change(); });
  sort.addEventListener("change", () => { state.sort = sort.value; state.descending = String(!TEXT_COLUMNS.includes(sort.value)); change(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { Object.assign(state, { q: "", benchmark: "", model: "", profile: "", state: "", sort: "created", descending: "true" }); change(); }));

  drawBar();
  poll(view, 4, look);
  showOthers(others, view);
}

const runAddress = (id) => `#/run?${new URLSearchParams({ run: id })}`;

// The number with its interval; without one, what was counted so far, which is no estimate.
function result(run, headline, soFar) {
  if (headline) {
    const grown = run.grown ? put("small", { class: "grown" }, "the run has grown since") : null;
    return [put("b", {}, percent(headline.value)), ` ${bounds(headline.low, headline.high)}`, drawn(headline.value, headline.low, headline.high, 0, 1), grown];
  }
  if (soFar && soFar.graded) return [put("span", { class: "dim" }, `${percent(soFar.passed / soFar.graded)} of ${whole(soFar.graded)} so far`)];
  return [put("span", { class: "dim" }, "not graded")];
}

function amount(run) {
  if (run.answered >= run.expected) return [whole(run.answered), put("small", {}, `${whole(run.tasks)} × ${run.samples_per_task}`)];
  return [`${whole(run.answered)} of ${whole(run.expected)}`, done(run.answered, run.expected, `replies of ${run.id}`)];
}
