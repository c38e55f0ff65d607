"use strict";
// Everything that comes from a model or a data set enters the page as textContent, never as HTML.

const data = JSON.parse(document.getElementById("samples-data").textContent);
const byId = (id) => document.getElementById(id);

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// ------------------------------------------------------------------------------------------ theme

const THEMES = ["system", "light", "dark"];

function applyTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
}

function storedTheme() {
  // pages opened as files may have no storage
  try { return localStorage.getItem("truegrade-theme") || "system"; } catch { return "system"; }
}

let theme = THEMES.includes(storedTheme()) ? storedTheme() : "system";
applyTheme(theme);
byId("theme").hidden = false;
byId("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  applyTheme(theme);
  try { localStorage.setItem("truegrade-theme", theme); } catch { /* the choice lasts as long as the page */ }
});

// ---------------------------------------------------------------------------------------- samples

const FAMILIES = { passed: "passed", grader_error: "grader", no_code: "unanswered", no_answer: "unanswered", truncated: "unanswered" };

const badge = (reason) => make("span", `badge ${FAMILIES[reason] || "failed"}`, reason);

function textBlock(title, [text, chars]) {
  const block = make("div");
  const shown = Array.from(text).length;
  const cut = shown < chars ? ` (the first ${shown.toLocaleString("en")} of ${chars.toLocaleString("en")} characters)` : "";
  const pre = make("pre", "", text || "(empty)");
  pre.tabIndex = 0;
  block.append(make("h4", "", title + cut), pre);
  return block;
}

function folded(title, blocks) {
  const fold = make("details");
  fold.append(make("summary", "", title), ...blocks);
  return fold;
}

function seconds(value) {
  return value < 0.9995 ? `${(1000 * value).toFixed(0)} ms` : `${value.toFixed(1)} s`;
}

function verdictLine(verdict) {
  const line = make("p");
  const facts = [verdict.profile, verdict.detail];
  if (verdict.found) facts.push(`answer found: ${verdict.found}`);
  if (verdict.cpu_s !== undefined) facts.push(`CPU ${seconds(verdict.cpu_s)}`);
  if (verdict.wall_s !== undefined) facts.push(`wall ${seconds(verdict.wall_s)}`);
  line.append(badge(verdict.reason), " ", facts.concat(verdict.notes || []).filter(Boolean).join(" · "));
  return line;
}

function replyFacts(sample) {
  const facts = [];
  if (sample.finish) facts.push(`finish reason ${sample.finish}`);
  if (sample.output_tokens !== undefined) facts.push(`${sample.output_tokens.toLocaleString("en")} output tokens`);
  if (sample.latency_s !== undefined) facts.push(`answered in ${seconds(sample.latency_s)}`);
  return facts.join(" · ");
}

function answerTitle(sample, index) {
  const whose = sample.verdicts.filter((verdict) => verdict.answer === index).map((verdict) => verdict.profile);
  return sample.answers.length > 1 ? `Extracted answer, ${whose.join(", ")}` : "Extracted answer";
}

function sampleBody(sample) {
  const body = make("div", "sample");
  body.append(make("h4", "", "Verdict"), ...sample.verdicts.map(verdictLine));
  const facts = replyFacts(sample);
  if (facts) body.append(make("p", "note", facts));
  const prompt = data.prompts[sample.id];
  if (prompt) body.append(folded("Prompt", prompt.map(([role, text]) => textBlock(role, text))));
  if (sample.thinking) body.append(folded("Thinking", [textBlock("Thinking", sample.thinking)]));
  const pair = make("div", "pair");
  if (sample.reply) pair.append(textBlock("Reply", sample.reply));
  const answers = make("div");
  answers.append(...sample.answers.map((answer, index) => textBlock(answerTitle(sample, index), answer)));
  if (!sample.answers.length) answers.append(make("h4", "", "Extracted answer"), make("p", "note", "none"));
  pair.append(answers);
  body.append(pair);
  return body;
}

function sampleRow(sample) {
  const row = make("details");
  const head = make("summary");
  const reasons = [...new Set(sample.verdicts.map((verdict) => verdict.reason))];
  const worst = sample.verdicts.find((verdict) => !verdict.passed) || sample.verdicts[0];
  head.append(make("span", "name", `${sample.id}#${sample.sample}`), ...reasons.map(badge), make("span", "line", worst.detail || ""));
  row.append(head);
  // built when first opened: three hundred long replies at once would make the page slow
  row.addEventListener("toggle", () => { if (row.open && row.childElementCount === 1) row.append(sampleBody(sample)); });
  return row;
}

function searchText(sample) {
  const texts = [sample.reply, sample.thinking, ...sample.answers].filter(Boolean).map(([text]) => text);
  const details = sample.verdicts.map((verdict) => `${verdict.detail || ""} ${verdict.found || ""}`);
  return [`${sample.id}#${sample.sample}`, ...texts, ...details].join("\n").toLowerCase();
}

const rows = data.samples.map((sample) => ({ sample, node: sampleRow(sample), text: searchText(sample) }));
byId("list").append(...rows.map((row) => row.node));

function matches({ sample, text }) {
  const profile = byId("filter-profile").value;
  const passed = byId("filter-passed").value;
  const reason = byId("filter-reason").value;
  const fits = (verdict) =>
    (!profile || verdict.profile === profile) && (!passed || verdict.passed === (passed === "yes")) && (!reason || verdict.reason === reason);
  return text.includes(byId("find").value.trim().toLowerCase()) && sample.verdicts.some(fits);
}

function filter() {
  let shown = 0;
  for (const row of rows) {
    row.node.hidden = !matches(row);
    shown += row.node.hidden ? 0 : 1;
  }
  byId("found").textContent = `${shown} of ${rows.length} samples shown`;
}

byId("filters").addEventListener("input", filter);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("reset", () => setTimeout(filter));
filter();

// a task's cell and a disagreement lead to their samples
document.addEventListener("click", (event) => {
  const origin = event.target.closest("[data-find]");
  if (!origin) return;
  byId("filters").reset();
  byId("find").value = origin.dataset.find;
  filter();
  byId("samples").scrollIntoView();
});
