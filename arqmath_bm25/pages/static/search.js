// The query box shows how its formulas will look, and Enter searches (Shift+Enter: a new line).
"use strict";

const box = document.getElementById("q");
const preview = document.getElementById("preview");

if (box) {
  const PAUSE = 200; // milliseconds without a key
  let timer = 0;
  let running = null;

  const show = async () => {
    running?.abort();
    running = new AbortController();
    const asked = new URLSearchParams({ q: box.value, task: box.form.elements.task.value });
    try {
      const answer = await fetch(`/api/preview?${asked}`, { signal: running.signal });
      if (answer.ok) {
        preview.innerHTML = (await answer.json()).html; // written safe by the server
        preview.hidden = !preview.innerHTML;
      }
    } catch (error) {
      if (error.name !== "AbortError") preview.hidden = true;
    }
  };

  box.form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
  box.addEventListener("keydown", event => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });
  const palette = document.getElementById("palette");
  palette.hidden = false;
  palette.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    const { selectionStart: start, selectionEnd: end, value } = box;
    const dollars = value.slice(0, start).replaceAll("\\$", "").split("$").length - 1;
    const bare = dollars % 2 || box.form.elements.task.value === "task2";
    let latex = button.dataset.latex.replace("{}", () => `{${value.slice(start, end)}}`);
    if (!bare) latex = `$${latex}$`;
    box.setRangeText(latex, start, end, "end");
    const gap = latex.indexOf("{}");
    const inside = gap < 0 ? latex.length - !bare : gap + 1;
    box.setSelectionRange(start + inside, start + inside);
    box.focus();
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });
  box.setSelectionRange(box.value.length, box.value.length); // one goes on where one was
}

// A click, a tap or Enter on a formula copies its LaTeX.
const said = document.createElement("p");
said.className = "copied";
said.setAttribute("role", "status");
document.querySelector("main").append(said);
const formula = target => target.closest("a, button") ? null : target.closest("math[title]");

for (const one of document.querySelectorAll("math[title]")) {
  if (formula(one)) one.tabIndex = 0;
}

const copy = one => {
  const latex = one.getAttribute("title");
  const put = event => {
    event.clipboardData.setData("text/plain", latex);
    event.preventDefault();
  };
  document.addEventListener("copy", put); // unlike navigator.clipboard, without HTTPS too
  const done = document.execCommand("copy");
  document.removeEventListener("copy", put);
  said.textContent = done ? `Copied: ${latex}` : latex; // else it can be marked here
  setTimeout(() => { said.textContent = ""; }, 4000);
};
document.addEventListener("click", event => {
  const one = formula(event.target);
  if (one && getSelection().isCollapsed) copy(one);
});
document.addEventListener("keydown", event => {
  const one = event.key === "Enter" && formula(event.target);
  if (one) copy(one);
});
