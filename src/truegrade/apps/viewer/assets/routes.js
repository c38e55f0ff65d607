// Which view the address asks for. A view owns #view until the next one opens.

const VIEWS = { "/": showRuns, "/run": showRun, "/compare": showCompare };
let openView = null, lastList = "#/";

function setHeading(title, subtitle) {
  byId("title").textContent = title;
  byId("subtitle").textContent = subtitle;
  document.title = `${title} – Truegrade`;
}

// The address says what is shown, without a new entry in the history for every key pressed.
function rememberQuery(path, values, usual) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== "" && one !== undefined && String(one) !== usual[name]) words.append(name, one);
  }
  const address = words.size ? `${path}?${words}` : path;
  if (path === "#/") lastList = address;
  history.replaceState(null, "", address);
}

function open() {
  const [path, words] = (location.hash.slice(1) || "/").split(/\?(.*)/s);
  const given = new URLSearchParams(words || "");
  if (openView) { openView.closed = true; openView.onclose.forEach((close) => close()); }
  if (!VIEWS[path]) { location.replace("#/"); return; }
  if (path === "/") lastList = location.hash || "#/";
  openView = { node: byId("view"), closed: false, onclose: [], onkey: () => {}, keys: [] };
  openView.node.replaceChildren();
  complain(null);
  VIEWS[path](openView, Object.fromEntries(given), given.getAll("run"));
  window.scrollTo(0, 0);
}

// The keys of the view that is open; the dialog itself is closed by Escape and gives the focus back.
function showKeys() {
  if (byId("keys-shown")) return;
  const close = put("button", { type: "button", onclick: () => shown.close() }, "Close");
  const shown = put("dialog", { id: "keys-shown", "aria-labelledby": "keys-title" }, put("h2", { id: "keys-title" }, "Keys"), facts(openView.keys), close);
  shown.addEventListener("close", () => shown.remove());
  document.body.append(shown);
  shown.showModal();
}

window.addEventListener("hashchange", open);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input:not([type=checkbox]), select, textarea")) { if (event.key === "Escape") event.target.blur(); return; }
  if (!openView || byId("keys-shown")) return;
  if (event.key === "?") { event.preventDefault(); showKeys(); }
  else openView.onkey(event);
});
open();
