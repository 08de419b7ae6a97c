// Keys press the buttons that name them.
"use strict";

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button && !button.disabled) button.click();
});
