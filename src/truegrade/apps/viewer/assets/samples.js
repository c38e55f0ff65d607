// The samples of one run. The server filters and sorts; rows exist while they are in sight, their texts when opened.

const SAMPLE_ROW_PX = 54, SAMPLE_PAGE = 100;

function showSamples(view, run, query) {
  const state = { profile: "", outcome: "", reason: "", q: "", order: "failing", ...query };
  const find = put("input", { type: "search", id: "find", placeholder: "problem or text", value: state.q });
  const profile = choice("filter-profile"), reason = choice("filter-reason");
  const outcome = choice("filter-outcome", ["", "any"], ["failed", "failed"], ["passed", "passed"], ["disputed", "profiles differ"], ["ungraded", "not graded"]);
  const order = choice("filter-order", ["failing", "failing first"], ["written", "as they came"], ["task", "task"], ["disputed", "profiles differ first"], ["longest", "longest reply first"], ["slowest", "slowest reply first"]);
  outcome.value = state.outcome;
  order.value = state.order;
  const form = put("form", { id: "filters", role: "search" }, labelled("Search texts", find), labelled("Profile", profile), labelled("Outcome", outcome), labelled("Reason", reason), labelled("Order", order), put("button", { type: "reset" }, "Clear"));
  const found = put("p", { id: "found", class: "note", role: "status" });
  const list = put("div", { id: "list", role: "listbox", tabindex: 0, "aria-label": "Samples" }), space = put("div", { class: "rows" });
  const article = put("article", { id: "sample", tabindex: -1, "aria-label": "Sample" });
  list.append(space);
  const section = put("section", { id: "samples", "aria-labelledby": "samples-title" }, put("h2", { id: "samples-title" }, "Samples"), form, found, put("div", { id: "split" }, list, article));
  let pages = new Map(), matching = 0, version = -1, current = -1, openKey = state.task ? `${state.task}#${state.sample}` : "", ticket = 0;

  const asked = () => ({ run, profile: state.profile, outcome: state.outcome, reason: state.reason, q: state.q, order: state.order, limit: SAMPLE_PAGE });
  const lineAt = (place) => { const page = pages.get(Math.floor(place / SAMPLE_PAGE)); return Array.isArray(page) ? page[place % SAMPLE_PAGE] : undefined; };

  // ------------------------------------------------------------------------------------ asking

  async function refresh(anew) {
    const mine = ++ticket;
    const page = await ask("/api/samples", { ...asked(), offset: 0 });
    if (mine !== ticket || view.closed) return;
    const grew = page.version !== version;
    if (!anew && !grew) return;
    version = page.version;
    matching = page.matching;
    pages = new Map([[0, page.samples]]);
    state.shown = page.profile;
    fillChoice(profile, "first", Object.fromEntries(page.profiles.map((name) => [name, null])), state.profile);
    profile.options[0].hidden = page.profiles.length > 0;
    profile.value = page.profile;
    fillChoice(reason, "any", Object.fromEntries(page.reasons.map((name) => [name, null])), state.reason);
    found.textContent = page.total ? `${whole(matching)} of ${whole(page.total)} samples` : "No sample is stored yet.";
    byId("split").hidden = !page.total;
    space.style.height = `${SAMPLE_ROW_PX * matching}px`;
    if (anew) { list.scrollTop = 0; current = -1; }
    if (!matching) article.replaceChildren(put("p", { class: "note" }, page.total ? "No sample fits these filters." : ""));
    draw();
    if (anew && matching) select(Math.max(0, page.samples.findIndex((one) => `${one.task}#${one.sample}` === openKey)));
  }

  async function fetchPage(number) {
    if (pages.has(number)) return;
    const mine = pages;
    mine.set(number, null);
    try {
      const page = await ask("/api/samples", { ...asked(), offset: number * SAMPLE_PAGE });
      mine.set(number, page.samples);
      if (mine === pages && !view.closed) draw();
    } catch (error) { mine.delete(number); complain(error); }
  }

  async function openSample(line) {
    openKey = `${line.task}#${line.sample}`;
    rememberQuery("#/run", { run, profile: state.profile, outcome: state.outcome, reason: state.reason, q: state.q, order: state.order, task: line.task, sample: line.sample }, { order: "failing" });
    const mine = openKey, one = await ask("/api/sample", { run, task: line.task, sample: line.sample });
    if (mine !== openKey || view.closed) return;
    const unfolded = new Set([...article.querySelectorAll("details[open] > summary")].map((node) => node.textContent));
    const choose = (name) => { state.profile = name; refresh(true).catch(complain); };
    article.replaceChildren(...viewNodes(one, state.shown, choose));
    for (const node of article.querySelectorAll("details > summary")) node.parentElement.open = unfolded.has(node.textContent);
  }

  // ------------------------------------------------------------------------------------ rows in sight

  function rowNode(place) {
    const line = lineAt(place);
    const row = put("div", { class: "row", id: `row-${place}`, "data-place": place, role: "option", "aria-selected": String(place === current), "aria-posinset": place + 1, "aria-setsize": matching });
    row.style.top = `${SAMPLE_ROW_PX * place}px`;
    if (!line) { row.append(put("div", { class: "line" }, "…")); return row; }
    const verdict = line.reason ? badge(line.reason) : put("span", { class: "dim" }, "not graded");
    row.append(put("div", { class: "name" }, `${line.task}#${line.sample}`), put("div", { class: "top" }, verdict, put("span", { class: "line" }, line.line || "")));
    return row;
  }

  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / SAMPLE_ROW_PX) - 5);
    const last = Math.min(matching, Math.ceil((list.scrollTop + list.clientHeight) / SAMPLE_ROW_PX) + 5);
    for (let number = Math.floor(first / SAMPLE_PAGE); number * SAMPLE_PAGE < last; number++) fetchPage(number);
    space.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, k) => rowNode(first + k)));
    if (current >= first && current < last) list.setAttribute("aria-activedescendant", `row-${current}`);
    else list.removeAttribute("aria-activedescendant");
  }

  async function select(place) {
    current = Math.min(Math.max(place, 0), matching - 1);
    const top = SAMPLE_ROW_PX * current;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + SAMPLE_ROW_PX > list.scrollTop + list.clientHeight) list.scrollTop = top + SAMPLE_ROW_PX - list.clientHeight;
    draw();
    const mine = current;
    for (let tries = 0; !lineAt(mine) && tries < 100 && !view.closed; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
    if (mine === current && lineAt(mine)) openSample(lineAt(mine)).catch(complain);
  }

  // ------------------------------------------------------------------------------------ events

  const steps = { j: () => current + 1, k: () => current - 1, ArrowDown: () => current + 1, ArrowUp: () => current - 1, PageDown: () => current + 10, PageUp: () => current - 10, Home: () => 0, End: () => matching - 1 };
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); article.focus(); }
    if (!steps[event.key] || !matching) return;
    event.preventDefault();
    event.stopPropagation();  // the view has the same keys, for where the list has no focus
    select(steps[event.key]());
  });
  const step = (by) => { list.focus({ preventScroll: true }); if (matching) select(current + by); };
  article.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); list.focus(); } });
  list.addEventListener("click", (event) => { const row = event.target.closest("[data-place]"); if (row) select(Number(row.dataset.place)); });
  list.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  const change = () => refresh(true).catch(complain);
  let waiting;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { state.q = find.value.trim(); change(); }, 200); });
  for (const [name, control] of [["profile", profile], ["outcome", outcome], ["reason", reason], ["order", order]]) control.addEventListener("change", () => { state[name] = control.value; if (name === "profile") state.reason = ""; change(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { Object.assign(state, { profile: "", outcome: "", reason: "", q: "", order: "failing" }); change(); }));
  return { section, start: change, refresh: () => refresh(version < 0), find, step };
}

// The report's own way of showing a sample (detail.js).
const viewNodes = (one, profile, choose) => (one.view.verdicts.length ? sampleNodes(one.view, one.prompt.length ? one.prompt : undefined, profile, choose) : ungradedNodes(one));

function ungradedNodes({ view, prompt }) {
  const nodes = [put("h3", {}, `${view.id} #${view.sample}`), put("p", { class: "note" }, ["not graded yet", sampleFacts(view)].filter(Boolean).join(" · "))];
  if (prompt.length) nodes.push(fold("Prompt", ...prompt.flatMap(([role, text]) => titled(role, cut(text), preformatted(text[0])))));
  if (view.thinking) nodes.push(fold("Thinking", ...titled("", cut(view.thinking), preformatted(view.thinking[0]))));
  if (view.reply) nodes.push(...replyBlock(view));
  return nodes;
}
