// Documents: dropped or chosen, sent with their progress, and translated into a file of the same format.

import { el, replace } from "../../core/dom.js";
import { saveBlob } from "../../core/export.js";
import { icon } from "../../core/icons.js";
import { RequestError } from "../../core/source.js";

/** The list of documents: {root, choose(), add(files)}. `direction()` returns {source, target}. */
export function makeFiles(context, direction) {
  const { t } = context;
  const list = el("ul", { class: "files", "aria-label": t("translate.files"), hidden: true });
  const input = el("input", { type: "file", multiple: true, hidden: true, tabindex: -1, "aria-label": t("translate.file_choose"),
    on: { change: () => { add([...input.files]); input.value = ""; } } });

  async function add(files) {
    const { settings } = await context.catalogue();
    for (const file of files) {
      list.hidden = false;
      const row = fileRow(context, file, () => { if (!list.children.length) list.hidden = true; });
      list.prepend(row.root);
      const suffix = "." + file.name.split(".").pop().toLowerCase();
      if (!settings.filesTranslation) row.fail(t("translate.files_off"));
      else if (!settings.supportedFilesFormat.includes(suffix)) row.fail(t("translate.file_format", settings.supportedFilesFormat.join(" ")));
      else row.run(direction());
    }
  }

  return {
    root: el("div", { class: "translate-files" }, input, list),
    async choose() {
      const { settings } = await context.catalogue();
      input.accept = (settings.supportedFilesFormat ?? []).join(",");
      input.click();
    },
    add,
  };
}

function fileRow(context, file, removed) {
  const { t } = context;
  const status = el("p", { class: "quiet-text", role: "status" });
  const bar = el("progress", { max: 1, "aria-label": t("translate.file_progress", file.name) });
  const end = el("div", { class: "row" });
  const root = el("li", { class: "file card" }, icon("file"),
    el("div", { class: "file-main" }, el("p", { class: "file-name", dir: "auto" }, file.name), bar, status), end);
  let request = null;
  const remove = el("button", { type: "button", class: "icon-button", "aria-label": t("translate.file_remove", file.name), on: { click: () => {
    request?.abort();
    root.remove();
    removed();
  } } }, icon("close"));
  end.append(remove);

  const say = (text) => { status.textContent = text; };
  const fail = (text) => {
    bar.hidden = true;
    root.classList.add("failed");
    say(text);
    context.announce(`${file.name}: ${text}`);
  };
  const finish = (address) => {
    bar.hidden = true;
    const name = translatedName(file.name, address);
    say(t("translate.file_done"));
    const save = async (event) => { // the server's own name for it says nothing
      event.preventDefault();
      const answer = await fetch(address).catch(() => null);
      if (answer?.ok) saveBlob(await answer.blob(), name);
      else fail(answer ? t("translate.file_gone") : t("error.unreachable"));
    };
    end.prepend(el("a", { class: "button primary", href: address, on: { click: save } }, icon("download"), t("translate.download")));
    context.announce(`${file.name}: ${t("translate.file_done")}`);
  };

  return {
    root,
    fail,
    run({ source, target }) {
      say(t("translate.file_sending"));
      request = sendFile(context, file, source, target, (share) => {
        if (share < 1) bar.value = share;
        else { bar.removeAttribute("value"); say(t("translate.file_translating")); }
      });
      request.done.then(finish, (error) => { if (error.name !== "AbortError") fail(error.message); });
    },
  };
}

/** Send a document: {done, abort()}. `progress` receives the share that was sent; fetch cannot tell it. */
function sendFile(context, file, source, target, progress) {
  const { t, stored } = context;
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.open("POST", "translate_file");
    request.upload.onprogress = (event) => progress(event.total ? event.loaded / event.total : 1);
    request.upload.onload = () => progress(1);
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* a proxy's page */ }
      if (request.status === 200 && answer.translatedFileUrl) {
        resolve("download_file/" + answer.translatedFileUrl.split("/").pop()); // by this page's own address: a proxy may have another
      } else reject(new RequestError(answer.error ?? t("error.status", request.status), request.status));
    };
    request.onerror = () => reject(new RequestError(t("error.unreachable")));
    request.onabort = () => reject(new DOMException("", "AbortError"));
    const form = new FormData();
    form.append("file", file);
    form.append("source", source);
    form.append("target", target);
    if (stored.get("key")) form.append("api_key", stored.get("key"));
    request.send(form);
  });
  return { done, abort: () => request.abort() };
}

function translatedName(name, address) {
  const target = address.split(".").pop();
  return `${name.replace(/\.[^.]*$/, "")}.translated.${target}`;
}
