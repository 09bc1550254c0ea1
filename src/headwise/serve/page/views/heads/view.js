import { el } from "../../core/dom.js";

export const view = {
  id: "heads",
  title: (t) => t("nav.heads"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.heads")));
  },
};
