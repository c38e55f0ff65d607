// Numbers as the reports write them, and an interval as a drawing.

const percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;
const points = (fraction) => `${fraction < 0 ? "-" : "+"}${Math.abs(100 * fraction).toFixed(1)}`;
const bounds = (low, high) => (low === null || high === null ? "[no interval]" : `[${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`);
const whole = (number) => number.toLocaleString("en");
const dollars = (amount) => (amount === null ? "–" : amount === 0 || amount >= 0.1 ? `$${amount.toFixed(2)}` : `$${Number(amount.toPrecision(2))}`);
const chance = (p, floor = 0.0001) => (p < floor ? `< ${floor}` : p.toPrecision(2));

function when(iso) {
  if (!iso) return "–";
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? iso : `${time.toISOString().slice(0, 10)} ${time.toISOString().slice(11, 16)}`;
}

// A bar from 0 to 100 % (or -100 to +100 points) with the interval as a band and the value as a mark.
function drawn(value, low, high, from, to) {
  const place = (number) => `${(100 * (Math.min(Math.max(number, from), to) - from)) / (to - from)}%`;
  const bar = put("span", { class: "drawn", "aria-hidden": "true" });
  if (from < 0) bar.append(put("i", { class: "middle" }));
  if (low !== null && high !== null) {
    const band = put("i", { class: "between" });
    band.style.left = place(low);
    band.style.right = `calc(100% - ${place(high)})`;
    bar.append(band);
  }
  const mark = put("i", { class: "at" });
  mark.style.left = place(value);
  bar.append(mark);
  return bar;
}

function done(part, all, label) {
  const bar = put("span", { class: "done", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": all, "aria-valuenow": part });
  const filled = put("i", {});
  filled.style.width = `${all ? Math.min(100, (100 * part) / all) : 0}%`;
  bar.append(filled);
  return bar;
}

const scale = (...words) => put("div", { class: "scale", "aria-hidden": "true" }, ...words.map((word) => put("span", {}, word)));

// A difference on the narrowest scale that holds its interval.
function drawnDifference(value, low, high) {
  const widest = Math.max(Math.abs(value), Math.abs(low || 0), Math.abs(high || 0));
  const end = [0.1, 0.25, 0.5, 1].find((one) => one >= widest) || 1;
  return put("div", { class: "difference" }, drawn(value, low, high, -end, end), scale(`-${100 * end}`, "0", `+${100 * end} points`));
}

const stateBadge = (state) => put("span", { class: `state ${state}` }, state);
const facts = (pairs) => put("dl", { class: "facts" }, ...pairs.map(([name, value]) => put("div", {}, put("dt", {}, name), put("dd", {}, value))));
