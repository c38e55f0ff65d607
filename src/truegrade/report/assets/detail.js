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

const MAX_PIECES = 600;

// Two texts as pieces, [text, is it in both]: words, numbers and single signs, by the longest common subsequence.
function differing(one, other, piece = /\w+|\s+|[^\w\s]/g) {
  const [a, b] = [one, other].map((text) => text.match(piece) || []);
  if (a.length > MAX_PIECES || b.length > MAX_PIECES) return null;
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
    longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  }
  const left = [], right = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { left.push([a[i++], true]); right.push([b[j++], true]); }
    else if (j === b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) left.push([a[i++], false]);
    else right.push([b[j++], false]);
  }
  return [left, right];
}

// What only one text has is a <del> of the expected or an <ins> of what came, which is underlined or struck through.
function marked(pieces, tag) {
  const pre = preformatted(" ");
  const nodes = [];
  for (const [text, both] of pieces) {
    const last = nodes.at(-1);
    if (last && last.both === both) last.text += text;
    else nodes.push({ text, both });
  }
  pre.replaceChildren(...nodes.map(({ text, both }) => (both ? text : make(tag, "", text))));
  return pre;
}

function failureList(failure) {
  const list = make("dl", "failure");
  const pieces = failure.expected && failure.got ? differing(failure.expected, failure.got) : null;
  const shown = [["failing test", failure.test, null], ["expected", failure.expected, pieces && marked(pieces[0], "del")], ["got", failure.got, pieces && marked(pieces[1], "ins")]];
  for (const [title, text, node] of shown) {
    if (!text) continue;
    const value = make("dd");
    value.append(node || preformatted(text));
    list.append(make("dt", "", title), value);
  }
  if (pieces) list.append(make("dt", "", "difference"), make("dd", "note", "struck through: expected and not there; underlined: there and not expected"));
  return list;
}

const LINES = /[^\n]*\n|[^\n]+$/g;

// The data set's program; its lines that the answer lacks are marked where most of them are in both.
function referenceBlock([program, chars], answer) {
  const ended = (text) => text.replace(/\n*$/, "\n");
  const pieces = answer ? differing(ended(program), ended(answer), LINES) : null;
  const same = pieces ? pieces[0].filter(([, both]) => both).length : 0;
  const near = same > 0 && 2 * same >= pieces[0].length && same < pieces[0].length;
  const note = [cut([program, chars]), near ? "struck through: lines that the answer does not have" : ""].filter(Boolean).join(" · ");
  return titled("Reference program", note, near ? marked(pieces[0], "del") : preformatted(program));
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
  if (sample.reference && !verdict.passed) {
    const taken = answer && (answer.text ? answer.text[0] : sample.reply[0].slice(...answer.span.slice(0, 2)));
    nodes.push(...referenceBlock(sample.reference, taken));
  }
  return nodes;
}
