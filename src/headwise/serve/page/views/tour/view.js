import { el } from "../../core/dom.js";

export const view = {
  id: "tour",
  title: (t) => t("nav.tour"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.tour")));
  },
};
