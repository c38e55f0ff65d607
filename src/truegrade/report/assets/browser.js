// The list of samples. Rows exist only while they are in sight, so ten thousand of them cost nothing.

const ROW_PX = 54;

function startBrowser(index) {
  const list = byId("list"), article = byId("sample"), find = byId("find");
  const control = (name) => byId(`filter-${name}`);
  const space = make("div", "rows");
  list.append(space);
  const count = index.task.length;
  let shown = [], current = -1, matching = null, ticket = 0;

  const nameOf = (i) => `${index.tasks[index.task[i]]}#${index.sample[i]}`;
  const profileNumber = () => Math.max(0, index.profiles.indexOf(control("profile").value));
  const passed = (code) => code % 2 === 1;
  const reasonOf = (code) => index.reasons[code >> 1];
  const outcomes = (i) => new Set(index.verdict.map((column) => column[i]).filter((code) => code >= 0).map(passed));

  // ------------------------------------------------------------------------------------ filter and order

  function fits(i, profile, outcome, reason) {
    const code = index.verdict[profile][i];
    if (outcome === "disputed" ? outcomes(i).size < 2 : outcome && (code < 0 || passed(code) !== (outcome === "passed"))) return false;
    return (!reason || (code >= 0 && reasonOf(code) === reason)) && (!matching || matching.has(i));
  }

  function keyOf(order, profile) {
    const keys = {
      failing: (i) => (index.verdict[profile][i] >= 0 && !passed(index.verdict[profile][i]) ? 0 : 1),
      disputed: (i) => (outcomes(i).size > 1 ? 0 : 1),
      longest: (i) => -index.size[i],
      slowest: (i) => -index.latency_ms[i],
    };
    return keys[order];
  }

  function filter() {
    const profile = profileNumber(), outcome = control("outcome").value, reason = control("reason").value;
    const kept = [];
    for (let i = 0; i < count; i++) if (fits(i, profile, outcome, reason)) kept.push(i);
    const key = keyOf(control("order").value, profile);
    shown = key ? kept.map((i) => [key(i), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((pair) => pair[1]) : kept;
    byId("found").textContent = `${shown.length.toLocaleString("en")} of ${count.toLocaleString("en")} samples`;
    space.style.height = `${ROW_PX * shown.length}px`;
    list.scrollTop = 0;
    current = -1;
    if (shown.length) move(0);
    else { draw(); article.replaceChildren(make("p", "note", "No sample fits these filters.")); }
  }

  // Names and lines of detail at once; then every text, block by block.
  async function search() {
    const mine = ++ticket, words = find.value.trim().toLowerCase();
    matching = null;
    if (words) {
      const lines = index.lines.map((line) => line.toLowerCase().includes(words));
      matching = new Set();
      for (let i = 0; i < count; i++) {
        if (nameOf(i).toLowerCase().includes(words) || index.line.some((column) => column[i] >= 0 && lines[column[i]])) matching.add(i);
      }
    }
    filter();
    const named = index.tasks.some((task) => `${task.toLowerCase()}#`.startsWith(words));
    if (!words || named) return;
    for (let start = 0; start < count; start += index.samples_a_block) {
      const texts = await block(`samples-${start / index.samples_a_block}`);
      if (mine !== ticket) return;
      byId("found").textContent = `searching the texts: ${Math.round((100 * start) / count)} %`;
      texts.forEach((sample, offset) => { if (holds(sample, words)) matching.add(start + offset); });
    }
    if (mine === ticket) filter();
  }

  function holds(sample, words) {
    const texts = [sample.reply, sample.thinking, ...sample.answers.map((answer) => answer.text)].filter(Boolean).map(([text]) => text);
    return [...texts, ...sample.verdicts.map((verdict) => verdict.detail || "")].some((text) => text.toLowerCase().includes(words));
  }

  // ------------------------------------------------------------------------------------ rows in sight

  function rowNode(place) {
    const i = shown[place], profile = profileNumber(), code = index.verdict[profile][i], line = index.line[profile][i];
    const row = make("div", "row"), top = make("div", "top");
    row.id = `row-${place}`;
    row.style.top = `${ROW_PX * place}px`;
    row.dataset.place = place;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(place === current));
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", shown.length);
    top.append(code < 0 ? make("span", "dim", "not graded") : badge(reasonOf(code)), make("span", "line", line < 0 ? "" : index.lines[line]));
    row.append(make("div", "name", nameOf(i)), top);
    return row;
  }

  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW_PX) - 5);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_PX) + 5);
    space.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, k) => rowNode(first + k)));
    if (current >= first && current < last) list.setAttribute("aria-activedescendant", `row-${current}`);
    else list.removeAttribute("aria-activedescendant");
  }

  function move(place) {
    current = Math.min(Math.max(place, 0), shown.length - 1);
    const top = ROW_PX * current;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + ROW_PX > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_PX - list.clientHeight;
    draw();
    open(shown[current]);
  }

  async function open(i) {
    const samples = await block(`samples-${Math.floor(i / index.samples_a_block)}`);
    const task = index.task[i];
    const prompts = index.prompted ? await block(`prompts-${Math.floor(task / index.prompts_a_block)}`) : {};
    if (shown[current] !== i) return;
    const unfolded = new Set([...article.querySelectorAll("details[open] > summary")].map((node) => node.textContent));
    const choose = (profile) => { control("profile").value = profile; draw(); open(i); };
    article.replaceChildren(...sampleNodes(samples[i % index.samples_a_block], prompts[index.tasks[task]], control("profile").value, choose));
    // what was unfolded for one sample stays unfolded for the next
    for (const node of article.querySelectorAll("details > summary")) node.parentElement.open = unfolded.has(node.textContent);
  }

  // ------------------------------------------------------------------------------------ events

  const steps = { j: () => current + 1, k: () => current - 1, ArrowDown: () => current + 1, ArrowUp: () => current - 1, PageDown: () => current + 10, PageUp: () => current - 10, Home: () => 0, End: () => shown.length - 1 };
  list.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); article.focus(); }
    if (!steps[event.key] || !shown.length) return;
    event.preventDefault();
    move(steps[event.key]());
  });
  article.addEventListener("keydown", (event) => { if (event.key === "Escape") list.focus(); });
  list.addEventListener("click", (event) => {
    const row = event.target.closest("[data-place]");
    if (row) move(Number(row.dataset.place));
  });
  list.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  let waiting;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 150); });
  byId("filters").addEventListener("change", (event) => { if (event.target !== find) filter(); });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(search));
  // a task's cell and a disagreement lead to their samples
  document.addEventListener("click", (event) => {
    const origin = event.target.closest("[data-find]");
    if (!origin) return;
    event.preventDefault();
    byId("filters").reset();
    find.value = origin.dataset.find;
    setTimeout(() => { search(); byId("samples").scrollIntoView(); list.focus({ preventScroll: true }); });
  });

  byId("browser").hidden = byId("split").hidden = false;
  search();
}

if (canUnpack) {
  block("index").then(startBrowser).catch((error) => { byId("browser-problem").textContent = `The samples cannot be shown: ${error.message}`; });
} else {
  byId("browser-problem").textContent = "This browser cannot unpack the samples (it has no DecompressionStream); any browser of 2023 or later can.";
}
