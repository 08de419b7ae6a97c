// Results come while one types; arrow keys go from hit to hit; buttons write pieces of formulas.
"use strict";

const box = document.getElementById("q");
const found = document.getElementById("found");

if (box) {
  const PAUSE = 150; // milliseconds without a key
  const LONG = 1000; // and nothing found is told
  const preview = document.getElementById("preview");
  const status = document.getElementById("status");
  const newer = document.getElementById("newer");
  const address = name => new URL(name, box.form.action);
  const asked = () => new URLSearchParams(new FormData(box.form));
  let timer = 0;
  let running = null;

  const ask = async name => {
    const url = address(`api/${name}`);
    const sent = name === "preview" ? new URLSearchParams({ q: box.value, task: asked().get("task") }) : asked();
    if (name === "results") sent.set("prefix", 1); // what is sent by Enter has whole words
    url.search = sent;
    const answer = await fetch(url, { signal: running.signal });
    return answer.ok ? answer.json() : null;
  };

  const showPreview = async () => {
    const drawn = await ask("preview");
    if (!drawn) return;
    preview.innerHTML = drawn.html; // written safe by the server
    preview.hidden = !drawn.html;
  };

  const showResults = async () => {
    if (!box.value.trim()) return;
    const results = await ask("results");
    if (!results) return; // the server is busy, or the query half typed: what is shown stays
    clearTimeout(timer);
    if (results.count) tell(results);
    else timer = setTimeout(() => tell(results), LONG); // until then what was found stays
  };

  const tell = results => {
    newer.hidden = results.index === newer.dataset.index;
    found.innerHTML = results.html;
    status.textContent = document.getElementById("results").textContent;
    const page = address("");
    page.search = asked();
    history.replaceState(null, "", page);
  };

  const show = () => {
    running?.abort();
    running = new AbortController();
    for (const part of [showPreview, showResults]) {
      part().catch(error => { if (error.name !== "AbortError") preview.hidden = true; });
    }
  };

  const giveUp = () => {
    clearTimeout(timer);
    running?.abort();
  };
  const typed = event => {
    giveUp(); // what was asked before
    if (!event.isComposing) timer = setTimeout(show, PAUSE);
  };
  box.form.addEventListener("input", typed);
  box.addEventListener("compositionend", typed);
  box.form.addEventListener("change", event => {
    if (event.target.name !== "task") return;
    box.form.elements.variant.value = ""; // each task has rankings of its own
    if (box.value.trim()) box.form.requestSubmit();
  });
  box.form.addEventListener("submit", giveUp);
  found.addEventListener("focusin", giveUp); // a hit that one has gone to stays

  const palette = document.getElementById("palette");
  palette.hidden = false;
  palette.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    const { selectionStart: start, selectionEnd: end, value } = box;
    const dollars = value.slice(0, start).replaceAll("\\$", "").split("$").length - 1;
    const bare = dollars % 2 || asked().get("task") === "task2";
    let latex = button.dataset.latex.replace("{}", () => `{${value.slice(start, end)}}`);
    if (!bare) latex = `$${latex}$`;
    box.setRangeText(latex, start, end, "end");
    const gap = latex.indexOf("{}");
    const inside = gap < 0 ? latex.length - !bare : gap + 1;
    box.setSelectionRange(start + inside, start + inside);
    box.focus();
    box.dispatchEvent(new Event("input", { bubbles: true }));
  });

  // Down and up go through the hits, Enter opens one, Escape leads back to the box.
  document.addEventListener("keydown", event => {
    const links = [...document.querySelectorAll(".hit-link")];
    const place = links.indexOf(document.activeElement);
    if (event.target !== box && place < 0) return;
    let next = null;
    if (event.key === "ArrowDown") next = links[place + 1];
    else if (event.key === "ArrowUp" && place >= 0) next = links[place - 1] ?? box;
    else if (event.key === "Escape" && place >= 0) next = box;
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  box.setSelectionRange(box.value.length, box.value.length); // one goes on where one was
}

// A click or a tap on a formula copies its LaTeX; on the pages of documents, Enter does too.
const said = document.createElement("p");
said.className = "copied";
said.setAttribute("role", "status");
document.querySelector("main").append(said);
const formula = target => target.closest("a, button") ? null : target.closest("math[title]");

for (const one of document.querySelectorAll(".post math[title]")) {
  if (!formula(one)) continue;
  one.tabIndex = 0;
}

const copy = text => {
  const put = event => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put); // unlike navigator.clipboard, without HTTPS too
  const done = document.execCommand("copy");
  document.removeEventListener("copy", put);
  said.textContent = done ? `Copied: ${text}` : text; // else it can be marked here
  setTimeout(() => { said.textContent = ""; }, 4000);
};
document.addEventListener("click", event => {
  const one = formula(event.target);
  if (one && getSelection().isCollapsed) copy(one.getAttribute("title"));
  const link = event.target.closest("a.copy");
  if (!link) return;
  event.preventDefault();
  copy(link.href);
});
document.addEventListener("keydown", event => {
  const one = event.key === "Enter" && formula(event.target);
  if (one) copy(one.getAttribute("title"));
});
