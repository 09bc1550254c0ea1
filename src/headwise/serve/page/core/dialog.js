// Dialogs with a heading and a button that closes them.

import { el } from "./dom.js";
import { icon } from "./icons.js";

/** Open a dialog; it is removed when it is closed. `fill(body, close)` puts its content in. */
export function openDialog(context, title, fill) {
  const before = document.activeElement;
  const id = "dialog-title-" + Math.random().toString(36).slice(2);
  const body = el("div", { class: "body" });
  const dialog = el("dialog", { "aria-labelledby": id },
    el("div", { class: "dialog-head" }, el("h2", { id }, title),
      el("button", { type: "button", class: "icon-button", "aria-label": context.t("shell.close"), on: { click: () => dialog.close() } }, icon("close"))),
    body);
  dialog.addEventListener("close", () => { dialog.remove(); before?.focus?.(); });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); }); // beside it
  document.body.append(dialog);
  fill(body, () => dialog.close());
  dialog.showModal();
  return dialog;
}
