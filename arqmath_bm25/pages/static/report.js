// What a report's pages can do beyond being read: filter, sort, compare two runs, show one run at
// a time on a phone, and open the post that a link leads to. Without scripts all is shown, and the style
// sheet leaves out what does nothing.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// `<form data-filter="NAME">` shows and hides what stands in `data-filtered="NAME"` and has
// data-item: by words of a text field, or by ticked boxes.
for (const form of all("form[data-filter]")) {
  const items = all(`[data-filtered="${form.dataset.filter}"] [data-item]`);
  const text = form.querySelector("input[type=search]");
  const boxes = all("input[type=checkbox]", form);

  const fits = item => {
    if (text) {
      const words = text.value.toLowerCase().split(/\s+/);
      return words.every(word => item.dataset.item.toLowerCase().includes(word));
    }
    return boxes.some(box => box.checked && box.value === item.dataset.item);
  };
  const apply = () => {
    let shown = 0;
    for (const item of items) {
      item.hidden = !fits(item);
      shown += item.hidden ? 0 : 1;
    }
    form.querySelector("output").textContent =
      shown === items.length ? "" : `${shown} of ${items.length} shown`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  apply(); // a browser that goes back keeps what was typed
}

// A long table begins with its first rows; a button, a filter or sorting shows all of them.
for (const table of all("table.begun")) {
  const more = document.createElement("button");
  more.type = "button";
  more.textContent = `Show all ${table.tBodies[0].rows.length}`;
  const showAll = () => {
    table.classList.remove("begun");
    more.remove();
  };
  more.addEventListener("click", showAll);
  table.tHead.addEventListener("click", showAll);
  document.querySelector(`form[data-filter="${table.dataset.filtered}"]`).addEventListener("input", showAll);
  table.parentElement.after(more);
}

// A chart can be saved as a file of its own, with what the style sheet says of its looks.
const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor"];
const alone = chart => {
  const copy = chart.cloneNode(true);
  const copied = all("*", copy);
  all("*", chart).forEach((element, at) => {
    const looks = getComputedStyle(element);
    copied[at].removeAttribute("class");
    copied[at].removeAttribute("href");
    for (const name of LOOKS) copied[at].setAttribute(name, looks.getPropertyValue(name));
  });
  return new XMLSerializer().serializeToString(copy);
};
for (const figure of all("figure.chart")) {
  const chart = figure.querySelector("svg");
  const save = document.createElement("button");
  save.type = "button";
  save.textContent = "Save as SVG";
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = `data:image/svg+xml,${encodeURIComponent(alone(chart))}`;
    link.download = `${chart.ariaLabel.replace(/[^A-Za-z0-9]+/g, "-")}.svg`;
    link.click();
  });
  figure.append(save);
}

// Heads of tables sort: numbers by size, ranks best first, what is missing always last.
const GRADES = all("input[name=grade]").map(box => box.parentElement.textContent.trim());
const MOVES = { new: 1e6, gone: -1e6, "=": 0 };
const key = cell => {
  const text = cell.textContent.trim();
  if (GRADES.includes(text)) return GRADES.indexOf(text);
  if (text in MOVES) return MOVES[text];
  const number = /^([▲▼])?\s*([-+−<]?\s*[\d.]+)/.exec(text);
  if (number) return Number(number[2].replace("−", "-").replace(/[<\s]/g, "")) * (number[1] === "▼" ? -1 : 1);
  return text === "–" || text === "" ? null : text.toLowerCase();
};
const compare = (a, b) => typeof a === typeof b ? (a < b ? -1 : Number(a > b))
  : (typeof a === "number" ? -1 : 1);

for (const table of all("table.sortable")) {
  const heads = all("thead th", table);
  for (const row of all("tbody tr", table)) { // rows are cards on a phone
    heads.forEach((head, column) => row.cells[column].dataset.label = head.textContent);
  }
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.addEventListener("click", () => {
      const down = head.ariaSort === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.ariaSort = down ? "descending" : "ascending";
      const rows = all("tbody tr", table).map(row => [key(row.cells[column]), row]);
      rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null)
        : compare(a, b) * (down ? -1 : 1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

// The column of moves compares any two runs.
for (const form of all("form.moves")) {
  const rank = (row, run) => Number(all("td.rank", row)[run].textContent) || null;
  const apply = () => {
    const [from, to] = [form.elements.from.value, form.elements.to.value];
    for (const row of all("table.documents tbody tr")) {
      const [before, now] = [rank(row, from), rank(row, to)];
      const places = before - now;
      row.querySelector("td.move").textContent =
        before && now ? (places ? `${places > 0 ? "▲" : "▼"} ${Math.abs(places)}` : "=")
          : now ? "new" : before ? "gone" : "";
    }
  };
  form.addEventListener("input", apply);
  apply();
}

// On a phone the rankings stand behind tabs; the style sheet hides the others there only.
for (const form of all("form.tabs")) {
  const apply = () => all(".rankings .run").forEach((run, at) =>
    run.classList.toggle("away", String(at + 1) !== form.elements.run.value));
  form.addEventListener("input", apply);
  apply();
}

const open = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.tagName === "DETAILS") {
    target.closest("tr").hidden = false;
    target.open = true;
    target.querySelector("summary").focus();
  }
};
addEventListener("hashchange", open);
for (const link of all('a[href^="#doc-"]')) link.addEventListener("click", () => setTimeout(open));
open();
