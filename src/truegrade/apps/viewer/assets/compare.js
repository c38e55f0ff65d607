// Chosen runs against the first of them, and the tasks on which they differ, side by side.

function showCompare(view, query, runs) {
  const state = { profile: query.profile || "", force: query.force || "" };
  const profile = choice("filter-profile"), force = put("input", { type: "checkbox", id: "force" });
  force.checked = state.force === "true";
  const form = put("form", { id: "filters" }, labelled("Profile", profile), put("label", { class: "check" }, force, " compare runs that are not comparable"));
  const table = put("div", { id: "compared" }), sides = put("section", { id: "sides", hidden: true, tabindex: -1, "aria-label": "Both replies" });
  view.node.append(put("p", { class: "acts" }, put("a", { href: lastList }, "← All runs")), form, table, sides);
  setHeading("Comparison", runs.length ? `with ${runs[0]}` : "");
  form.addEventListener("submit", (event) => event.preventDefault());

  async function look() {
    if (runs.length < 2) throw new Error("Two runs at least are needed: choose them in the list.");
    const found = await ask("/api/compare", { run: runs, profile: state.profile, force: state.force });
    if (view.closed) return;
    setHeading("Comparison", `${found.benchmark}, with ${runs[0]}, paired by problem`);
    fillChoice(profile, found.profiles.length ? "first" : "none in common", Object.fromEntries(found.profiles.map((name) => [name, null])), state.profile);
    profile.options[0].hidden = found.profiles.length > 0;
    profile.value = state.profile || found.profiles[0] || "";
    table.replaceChildren(...found.contenders.map((one) => contender(found.first, one)));
    complain(null);
  }

  function contender(first, one) {
    const title = put("h2", {}, put("a", { href: runAddress(one.run) }, one.run), put("span", { class: "dim" }, " minus "), put("a", { href: runAddress(first) }, first));
    if (one.problem) return put("section", { class: "contender" }, title, put("p", { class: "trouble" }, one.problem));
    const verdict = one.low === null ? "No interval is available (one cluster), so significance is not assessed." : one.low <= 0 && one.high >= 0 ? "The interval includes 0: the difference is not statistically significant." : `The interval excludes 0: ${one.difference > 0 ? one.run : first} is significantly better on these problems.`;
    const rows = [["first", percent(one.rate_first)], ["this one", percent(one.rate)], ["problems", `${whole(one.tasks)} in ${whole(one.clusters)} clusters`], ["p, sign-flip test", chance(one.permutation_p, 0.0002)], ["interval by", one.method]];
    if (one.mcnemar_p !== null) rows.push(["p, McNemar test", chance(one.mcnemar_p)]);
    if (one.only_first) rows.push(["only in the first", whole(one.only_first)]);
    if (one.only_here) rows.push(["only in this one", whole(one.only_here)]);
    for (const part of one.parts) rows.push([part.metric, `${points(part.difference)} ${bounds(part.low, part.high)}`]);
    return put("section", { class: "contender" }, title,
      put("p", { class: "value" }, `${points(one.difference)} `, put("span", { class: "unit" }, "points")),
      put("p", { class: "interval-text" }, `${100 * one.confidence} % interval ${bounds(one.low, one.high)} under ${one.profile}`),
      drawnDifference(one.difference, one.low, one.high),
      put("p", { class: "conclusion" }, verdict), facts(rows),
      taskList("Better", one.wins, first, one), taskList("Worse", one.losses, first, one), put("p", { class: "note" }, `${whole(one.ties)} problems are the same in both.`));
  }

  function taskList(words, tasks, first, one) {
    const more = tasks.count - tasks.tasks.length;
    const buttons = tasks.tasks.map((task) => put("button", { type: "button", class: "task", onclick: () => sideBySide(task, first, one).catch(complain) }, task));
    return put("details", { open: tasks.count > 0 && tasks.count <= 40 }, put("summary", {}, `${words}: ${whole(tasks.count)}`), put("p", { class: "tasks" }, ...buttons, more > 0 ? `and ${whole(more)} more` : ""));
  }

  async function sideBySide(task, first, one) {
    const held = await Promise.all([first, one.run].map(async (run) => new Map((await ask("/api/samples", { run, profile: one.profile, q: `${task}#`, order: "task" })).samples.filter((line) => line.task === task).map((line) => [line.sample, Boolean(line.passed)]))));
    // one that passes here and fails there, else the first that both hold
    const common = [...held[0].keys()].filter((number) => held[1].has(number)), differing = common.find((number) => held[0].get(number) !== held[1].get(number));
    const sample = differing === undefined ? common[0] : differing, numbers = held.map((own) => (sample === undefined ? [...own.keys()][0] : sample));
    const shown = await Promise.all([first, one.run].map((run, k) => ask("/api/sample", { run, task, sample: numbers[k] }).catch((error) => error)));
    const columns = [first, one.run].map((run, k) => {
      const inner = shown[k] instanceof Error ? [put("p", { class: "trouble" }, shown[k].message)] : viewNodes(shown[k], one.profile, () => { location.hash = `#/run?${new URLSearchParams({ run, task, sample: numbers[k], q: `${task}#` })}`; });
      return put("article", { class: "side" }, put("h3", { class: "dim" }, put("a", { href: `#/run?${new URLSearchParams({ run, q: `${task}#` })}` }, run)), ...inner);
    });
    sides.replaceChildren(put("h2", {}, task), put("p", { class: "note" }, `Sample ${[...new Set(numbers)].join(" and ")}; the names lead to all samples of this problem.`), put("div", { class: "sides" }, ...columns));
    sides.hidden = false;
    sides.focus({ preventScroll: true });
    sides.scrollIntoView();
  }

  const change = () => { rememberQuery("#/compare", { run: runs, ...state }, {}); sides.hidden = true; look().catch(complain); };
  profile.addEventListener("change", () => { state.profile = profile.value; change(); });
  force.addEventListener("change", () => { state.force = force.checked ? "true" : ""; change(); });
  view.onkey = (event) => { if (event.key === "Escape") location.hash = lastList; };
  look().catch(complain);
}
