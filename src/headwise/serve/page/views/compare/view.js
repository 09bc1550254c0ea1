import { el } from "../../core/dom.js";

export const view = {
  id: "compare",
  title: (t) => t("nav.compare"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.compare")));
  },
};
