// One run: what it says, what it is, and its samples. Grows while the run does.

const REPORTS = {
  stored: ["Open the report", ""],
  rebuilt: ["Open the report", "written anew: the run was graded since its page was"],
  counted: ["Open the report", "counted anew from the journals as they are when it is opened"],
  older: ["Open the report", "of an earlier state: the data set that counting needs is not at hand here"],
  none: ["", "No report yet: nothing can be counted."],
};

function showRun(view, query) {
  const head = put("section", { id: "overview", "aria-label": "Overview" });
  const more = put("section", { id: "numbers", "aria-labelledby": "numbers-title" });
  const samples = showSamples(view, query.run, query);
  view.node.append(head, samples.section, more);
  setHeading(query.run, "");
  let shown = "";

  async function look() {
    const detail = await ask("/api/run", { run: query.run });
    if (view.closed) return;
    const text = JSON.stringify(detail);
    if (text !== shown) { shown = text; head.replaceChildren(...overviewNodes(detail)); more.replaceChildren(...numberNodes(detail)); }
    samples.section.hidden = detail.run.state === "unreadable";
    if (!samples.section.hidden) await samples.refresh();
  }

  view.onkey = (event) => {
    if (event.key === "/") { event.preventDefault(); samples.find.focus(); }
    else if (event.key === "j" || event.key === "k") samples.step(event.key === "j" ? 1 : -1);
    else if (event.key === "Escape") location.hash = lastList;
  };
  view.keys = [["j, ↓", "next sample"], ["k, ↑", "previous sample"], ["Enter", "go into the sample that is shown"], ["Escape", "from the sample to the list, from there to all runs"], ["/", "search"], ["Home, End", "first and last sample"]];
  poll(view, 4, look);
}

function overviewNodes({ run, profiles, warnings, report }) {
  setHeading(`${run.benchmark || run.id}${run.model ? ` · ${run.model}` : ""}`, run.id);
  const [words, note] = REPORTS[report];
  const link = words ? put("a", { class: "button", id: "report", href: `/report?${new URLSearchParams({ run: run.id })}` }, words) : null;
  const choose = put("button", { type: "button", onclick: () => { chosenRuns.add(run.id); location.hash = lastList; } }, "Choose for comparison");
  const nodes = [put("p", { class: "acts" }, put("a", { href: lastList }, "← All runs"), stateBadge(run.state), link, run.problem ? null : choose, note ? put("span", { class: "note" }, note) : null)];
  if (run.problem) nodes.push(put("p", { class: "trouble" }, run.problem));
  else nodes.push(progress(run));
  const told = profiles.map(({ profile, estimates: [first] }) => put("span", {}, `${profile} ${first.metric} `, put("b", {}, percent(first.value)), ` ${bounds(first.low, first.high)}`));
  const warned = warnings.length ? put("button", { type: "button", onclick: () => byId("warnings").scrollIntoView() }, `${whole(warnings.length)} ${warnings.length === 1 ? "warning" : "warnings"}`) : null;
  if (told.length) nodes.push(put("p", { class: "acts" }, ...told, warned));
  return nodes;
}

// Every number with its interval, what must be known of it, and what was asked.
function numberNodes({ profiles, warnings, facts: known }) {
  const nodes = [put("h2", { id: "numbers-title" }, "Result")];
  if (profiles.length) nodes.push(put("div", { class: "cards" }, ...profiles.map(profileCard)));
  const lines = warnings.map((one) => (one.profiles.length ? `${one.profiles.join(", ")}: ${one.sentence}` : one.sentence));
  if (lines.length) nodes.push(put("aside", { class: "warnings", id: "warnings", "aria-label": "Warnings" }, put("h3", {}, "Warnings"), put("ul", {}, ...lines.map((line) => put("li", {}, line)))));
  nodes.push(put("details", {}, put("summary", {}, "What was asked"), facts(known)));
  return nodes;
}

function progress(run) {
  const lines = [put("p", {}, `${whole(run.answered)} of ${whole(run.expected)} samples have a reply (${whole(run.tasks)} problems × ${run.samples_per_task}) · cost ${dollars(run.cost_usd)} · begun ${when(run.created)} · last written to ${when(run.changed)} UTC`)];
  if (run.answered < run.expected) lines.push(done(run.answered, run.expected, "replies"));
  for (const one of run.so_far) lines.push(put("p", { class: "note sofar" }, `${one.profile}: ${whole(one.graded)} graded so far, ${percent(one.graded ? one.passed / one.graded : 0)} of them passed; a count, not an estimate`), done(one.graded, run.expected, `graded under ${one.profile}`));
  return put("div", { class: "progress" }, ...lines);
}

function profileCard(profile) {
  const first = profile.estimates[0];
  const others = profile.estimates.slice(1).map((one) => [one.metric, `${percent(one.value)} ${bounds(one.low, one.high)}`]);
  const reasons = Object.entries(profile.reasons).map(([name, count]) => put("span", { class: "counted" }, badge(name), ` ${whole(count)}`));
  return put("article", { class: "card" },
    put("h3", {}, profile.profile, put("span", { class: "metric" }, first.metric)),
    put("p", { class: "value" }, percent(first.value)),
    put("p", { class: "interval-text" }, first.low === null ? `${100 * first.confidence} % CI: not available (one cluster)` : `${100 * first.confidence} % CI ${bounds(first.low, first.high)}`),
    drawn(first.value, first.low, first.high, 0, 1),
    scale("0", "50", "100 %"),
    others.length ? facts(others) : null,
    put("p", { class: "reasons-line" }, ...reasons));
}
