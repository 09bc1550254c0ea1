import { el } from "../../core/dom.js";

export const view = {
  id: "effect",
  title: (t) => t("nav.effect"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.effect")));
  },
};
