import { el } from "../../core/dom.js";

export const view = {
  id: "translate",
  title: (t) => t("nav.translate"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.translate")));
  },
};
