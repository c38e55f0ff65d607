// Tables sort by a click on a column's title: by the number that a cell carries, else by its text.
const valueOf = (row, column) => {
  const cell = row.cells[column];
  const carried = cell.querySelector("[data-value]");
  return carried ? Number(carried.dataset.value) : cell.textContent.trim();
};

const compared = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
};

function sortBy(table, title) {
  const column = title.cellIndex, body = table.tBodies[0];
  const first = body.rows[0] && typeof valueOf(body.rows[0], column) === "number" && column > 1 ? "descending" : "ascending";
  const now = title.getAttribute("aria-sort");
  const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  title.setAttribute("aria-sort", next);
  const sign = next === "ascending" ? 1 : -1;
  body.append(...[...body.rows].sort((a, b) => sign * compared(valueOf(a, column), valueOf(b, column))));
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const title of table.tHead.rows[0].cells) {
    const button = make("button");
    button.type = "button";
    button.append(...title.childNodes);
    title.append(button);
    button.addEventListener("click", () => sortBy(table, title));
  }
}
