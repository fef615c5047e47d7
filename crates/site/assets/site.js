"use strict";
// Filters: each choice holds the place of a fact; a row or an answer has all its facts in one attribute.
for (const form of document.querySelectorAll("form.filters")) {
  const target = document.getElementById(form.dataset.for);
  const items = [...target.querySelectorAll("[data-facts]")].map(item => [item, item.dataset.facts.split("|")]);
  const selects = [...form.querySelectorAll("select")];
  const apply = () => {
    const asked = selects.filter(select => select.value).map(select => [Number(select.dataset.fact), select.value]);
    let shown = 0;
    for (const [item, facts] of items) {
      item.hidden = !asked.every(([at, value]) => facts[at] === value);
      if (!item.hidden) shown += 1;
    }
    form.querySelector(".count").textContent = `${shown} of ${items.length} shown`;
  };
  form.addEventListener("change", apply);
  form.addEventListener("submit", event => event.preventDefault());
  apply();
}
// A column is sorted by its figure where it has one, else by its text; once more: the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const key = row => {
      const cell = row.cells[at];
      const figure = parseFloat(cell.dataset.value);
      return cell.dataset.value === undefined ? cell.textContent : Number.isNaN(figure) ? Infinity : figure;
    };
    const rows = [...body.rows].map(row => [key(row), row]);
    rows.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
    if (down) rows.reverse();
    body.append(...rows.map(([, row]) => row));
  }));
}
const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  theme.textContent = isDark ? "Dark" : "Light";
  theme.setAttribute("aria-pressed", String(!isDark));
});
