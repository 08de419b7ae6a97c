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
    if (!box.value.includes("$")) {
      preview.hidden = true;
      return;
    }
    running = new AbortController();
    try {
      const answer = await fetch(`/api/preview?${new URLSearchParams({ q: box.value })}`,
        { signal: running.signal });
      if (answer.ok) {
        preview.innerHTML = (await answer.json()).html; // written safe by the server
        preview.hidden = false;
      }
    } catch (error) {
      if (error.name !== "AbortError") preview.hidden = true;
    }
  };

  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
  box.addEventListener("keydown", event => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });
  show();
}
