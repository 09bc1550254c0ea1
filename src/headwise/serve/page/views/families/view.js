import { el } from "../../core/dom.js";

export const view = {
  id: "families",
  title: (t) => t("nav.families"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.families")));
  },
};
