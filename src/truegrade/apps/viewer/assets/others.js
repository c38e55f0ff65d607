// Evolutions, other results and audits, below the list of runs.

async function showOthers(node, view) {
  const { evolutions, pages, audits } = await ask("/api/others").catch(() => ({ evolutions: [], pages: [], audits: [] }));
  if (view.closed) return;
  if (evolutions.length) node.append(put("section", {}, put("h2", {}, "Evolutions"), put("ul", { class: "others", id: "evolutions" }, ...evolutions.map(evolutionItem))));
  if (pages.length) node.append(put("section", {}, put("h2", {}, "Other results"), put("ul", { class: "others", id: "pages" }, ...pages.map(pageItem))));
  if (audits.length) node.append(put("section", {}, put("h2", {}, "Audits"), put("ul", { class: "others", id: "audits" }, ...audits.map(auditItem))));
}

function evolutionItem(one) {
  const name = one.has_report ? put("a", { href: `/evolution?${new URLSearchParams({ evolution: one.id })}` }, one.id) : put("b", {}, one.id);
  if (one.problem) return put("li", {}, name, put("p", { class: "trouble" }, one.problem));
  const result = one.final ? `selected ${percent(one.final.value)} ${bounds(one.final.low, one.final.high)}, base ${percent(one.base_final.value)} ${bounds(one.base_final.low, one.base_final.high)}` : "no final look yet";
  return put("li", {}, name, put("p", {}, `${one.base} on ${one.benchmark} · ${one.searches.join(", ")} · ${whole(one.evaluations)} evaluations · ${result} · ${when(one.changed)} UTC`));
}

function pageItem(one) {
  const name = one.has_page ? put("a", { href: `/page?${new URLSearchParams({ folder: one.id })}` }, one.id) : put("b", {}, one.id);
  return put("li", {}, name, put("p", {}, `${one.name}${one.has_page ? "" : ", not finished"} · ${when(one.changed)} UTC`));
}

function auditItem({ file, audit, clean, changed }) {
  const items = audit.findings.map((finding) => put("li", {}, put("b", { class: `severity ${finding.severity}` }, finding.severity), ` ${finding.sentence}`, put("small", {}, `${finding.code}: ${finding.rows.slice(0, 40).join(", ")}${finding.count > 40 ? ", …" : ""}`)));
  return put("li", {}, put("b", {}, file), put("span", { class: `state ${clean ? "finished" : "unreadable"}` }, clean ? "clean" : "not clean"), put("p", {}, `${audit.file} as ${audit.benchmark} under ${audit.profile} · ${whole(audit.samples)} samples · ${when(changed)} UTC`), fold(`${whole(audit.findings.length)} finding${audit.findings.length === 1 ? "" : "s"}`, put("ul", {}, ...items)));
}
