// Keys press the buttons that name them; what keeps a label from being saved is said on the page.
"use strict";

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button && !button.disabled) button.click();
});

document.addEventListener("submit", async event => {
  event.preventDefault();
  const {target: form, submitter} = event;
  const say = text => { document.querySelector("[role=alert]").textContent = text; };
  try {
    const body = new URLSearchParams(new FormData(form, submitter));
    const answer = await fetch(form.action, {method: "POST", body, redirect: "manual"});
    if (answer.type === "opaqueredirect") location.reload();
    else say(await answer.text());
  } catch {
    say("The server has gone, and this label is not saved. Start the command again, and open the address that it prints.");
  }
});
