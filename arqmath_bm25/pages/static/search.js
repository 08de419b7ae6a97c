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
  box.setSelectionRange(box.value.length, box.value.length); // one goes on where one was
}
