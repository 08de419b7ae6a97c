// Filters of a page: `<form data-filter="NAME">` shows and hides what stands in
// `data-filtered="NAME"` and has data-item: by words of a text field, or by ticked boxes.
"use strict";

for (const form of document.querySelectorAll("form[data-filter]")) {
  const items = document.querySelectorAll(
    `[data-filtered="${form.dataset.filter}"] [data-item]`);
  const text = form.querySelector("input[type=search]");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];

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
  form.hidden = false; // without this script there is nothing to filter with
  apply(); // a browser that goes back keeps what was typed
}
