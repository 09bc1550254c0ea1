import { el } from "../../core/dom.js";

export const view = {
  id: "positions",
  title: (t) => t("nav.positions"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.positions")));
  },
};
