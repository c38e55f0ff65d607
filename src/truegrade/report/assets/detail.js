// One sample: verdicts, what failed, the reply with the answer marked in it, prompt and thinking.

const FAMILIES = { passed: "passed", grader_error: "grader", no_code: "unanswered", no_answer: "unanswered", truncated: "unanswered", extraction_limit: "unanswered" };

const badge = (reason) => make("span", `badge ${FAMILIES[reason] || "failed"}`, reason);
const seconds = (value) => (value < 0.9995 ? `${(1000 * value).toFixed(0)} ms` : `${value.toFixed(1)} s`);

function preformatted(text, className) {
  const pre = make("pre", className || "", text || "(empty)");
  pre.tabIndex = 0;
  return pre;
}

function titled(title, note, node) {
  const head = make("h4", "", title);
  if (note) head.append(make("span", "", note));
  return [head, node];
}

const cut = ([text, chars]) => {
  const shown = Array.from(text).length;
  return shown < chars ? `the first ${shown.toLocaleString("en")} of ${chars.toLocaleString("en")} characters` : "";
};

function fold(title, ...nodes) {
  const node = make("details");
  node.append(make("summary", "", title), ...nodes);
  return node;
}

function verdictButton(verdict, chosen, choose) {
  const item = make("li"), button = make("button", "", verdict.profile);
  button.type = "button";
  button.setAttribute("aria-pressed", String(verdict.profile === chosen));
  button.addEventListener("click", () => choose(verdict.profile));
  item.append(button, badge(verdict.reason));
  return item;
}

function verdictFacts(verdict) {
  const facts = verdict.failure || !verdict.detail ? [] : [verdict.detail];
  if (verdict.found) facts.push(`answer found: ${verdict.found}`);
  if (verdict.cpu_s !== undefined) facts.push(`CPU ${seconds(verdict.cpu_s)}`);
  if (verdict.wall_s !== undefined) facts.push(`wall ${seconds(verdict.wall_s)}`);
  return facts.concat(verdict.notes || []).join(" · ");
}

function failureList(failure) {
  const list = make("dl", "failure");
  for (const [title, text] of [["failing test", failure.test], ["expected", failure.expected], ["got", failure.got]]) {
    if (!text) continue;
    const value = make("dd");
    value.append(preformatted(text));
    list.append(make("dt", "", title), value);
  }
  return list;
}

function replyBlock(sample, answer) {
  const pre = preformatted(sample.reply[0]);
  let note = cut(sample.reply);
  if (answer && answer.span) {
    const [start, end, times] = answer.span;
    const text = sample.reply[0];
    pre.replaceChildren(text.slice(0, start), make("mark", "", text.slice(start, end)), text.slice(end));
    const marked = times > 1 ? `marked: the answer (the last of ${times} places that read so)` : "marked: the extracted answer";
    note = [note, marked].filter(Boolean).join(" · ");
  }
  return titled("Reply", note, pre);
}

function sampleFacts(sample) {
  const facts = [];
  if (sample.finish) facts.push(`finish reason ${sample.finish}`);
  if (sample.output_tokens !== undefined) facts.push(`${sample.output_tokens.toLocaleString("en")} output tokens`);
  if (sample.latency_s !== undefined) facts.push(`answered in ${seconds(sample.latency_s)}`);
  if (sample.cost_usd !== undefined) facts.push(`cost $${sample.cost_usd.toPrecision(2)}`);
  return facts.join(" · ");
}

// The nodes of a sample under a profile; `choose` is called with the name of another one.
function sampleNodes(sample, prompt, profile, choose) {
  const verdict = sample.verdicts.find((one) => one.profile === profile) || sample.verdicts[0];
  const list = make("ul", "verdicts");
  list.append(...sample.verdicts.map((one) => verdictButton(one, verdict.profile, choose)));
  const nodes = [make("h3", "", `${sample.id} #${sample.sample}`), list, make("p", "note", verdictFacts(verdict))];
  if (verdict.failure) nodes.push(failureList(verdict.failure));
  const facts = sampleFacts(sample);
  if (facts) nodes.push(make("p", "note", facts));
  if (prompt) nodes.push(fold("Prompt", ...prompt.flatMap(([role, text]) => titled(role, cut(text), preformatted(text[0])))));
  if (sample.thinking) nodes.push(fold("Thinking", ...titled("", cut(sample.thinking), preformatted(sample.thinking[0]))));
  const answer = verdict.answer === undefined ? undefined : sample.answers[verdict.answer];
  if (sample.reply) nodes.push(...replyBlock(sample, answer));
  if (!answer) nodes.push(...titled("Extracted answer", "", make("p", "note", "none")));
  else if (answer.text) nodes.push(...titled("Extracted answer", cut(answer.text) || "not in the reply word for word", preformatted(answer.text[0])));
  return nodes;
}
