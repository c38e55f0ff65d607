// Asking the server, and building what is shown. Texts enter the page as textContent only (theme.js).

async function ask(path, query) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== "" && one !== undefined) words.append(name, one);
  }
  const reply = await fetch(words.size ? `${path}?${words}` : path);
  const said = await reply.json();
  if (!reply.ok) throw new Error(said.detail || reply.statusText);
  return said;
}

// make() with children and attributes: put("a", { href: "#/" }, "text", node)
function put(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

function complain(error) {
  byId("trouble").textContent = error ? error.message : "";
  byId("trouble").hidden = !error;
}

// Repeats while the view is open and the window is looked at; a failure is shown and tried again.
function poll(view, seconds, look) {
  let waiting;
  const again = async () => {
    if (view.closed) return;
    if (document.visibilityState === "visible") {
      try { await look(); if (!view.closed) complain(null); }
      catch (error) { if (!view.closed) complain(error instanceof TypeError ? new Error("The viewer does not answer; is truegrade view still running?") : error); }
    }
    if (!view.closed) waiting = setTimeout(again, 1000 * seconds);
  };
  view.onclose.push(() => clearTimeout(waiting));
  return again();
}

// A select of names with their counts; keeps what is chosen even when it is gone.
function fillChoice(select, any, names, chosen) {
  const known = Object.entries(names);
  if (chosen && !names[chosen]) known.push([chosen, 0]);
  const wanted = JSON.stringify(known);
  if (select.dataset.names !== wanted) {
    select.replaceChildren(put("option", { value: "" }, any), ...known.map(([name, count]) => put("option", { value: name }, count === null ? name : `${name} (${count})`)));
    select.dataset.names = wanted;
  }
  select.value = chosen || "";
}

const labelled = (words, control) => put("label", {}, words, control);
const choice = (id, ...options) => put("select", { id }, ...options.map(([value, words]) => put("option", { value }, words)));
