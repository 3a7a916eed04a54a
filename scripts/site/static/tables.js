// Makes tables fit a narrow window; site.css has the look. Without this script, a wide table scrolls.
const LONG_CELL = 40; // characters; such a cell holds a sentence
const SHORT_CELL = 8;
const LONG_NAME = 20; // characters; a longer name may break after its dots and lines

/** Let a long name of code break, as `api.example.com` after each dot. A copied name has no breaks. */
function breakName(code) {
  const parts = code.textContent.split(/(?<=[./_=:-])/);
  if (code.textContent.length <= LONG_NAME || code.children.length > 1) return;
  (code.firstElementChild ?? code).replaceChildren(
    ...parts.flatMap((part, at) => (at > 0 ? [document.createElement("wbr"), part] : [part])),
  );
}

for (const table of document.querySelectorAll("article table.docutils")) {
  const columns = [...table.querySelectorAll("thead th")].map((one) => one.textContent.trim());
  const cells = [...table.querySelectorAll("tbody td")];
  for (const cell of cells) {
    // A figure and its unit stay on one line.
    if (cell.textContent.length <= SHORT_CELL) cell.style.whiteSpace = "nowrap";
    for (const code of cell.querySelectorAll("code")) breakName(code);
  }
  const isLong = (cell) => cell.textContent.length > LONG_CELL || cell.querySelector("img") !== null;
  if (columns.length < 3 || !cells.some(isLong)) continue;
  // In a narrow window each row becomes a block, and each cell begins with the name of its column.
  table.classList.add("rows-as-blocks");
  // As blocks, these elements are a table only by their roles.
  table.setAttribute("role", "table");
  for (const group of table.querySelectorAll("thead, tbody")) group.setAttribute("role", "rowgroup");
  for (const row of table.querySelectorAll("tr")) row.setAttribute("role", "row");
  for (const head of table.querySelectorAll("th")) head.setAttribute("role", "columnheader");
  for (const cell of cells) {
    cell.setAttribute("role", "cell");
    cell.dataset.column = columns[cell.cellIndex] ?? "";
    cell.classList.toggle("is-empty", cell.textContent.trim() === "" && cell.querySelector("img") === null);
  }
}
