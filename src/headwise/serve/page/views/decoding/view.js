import { el } from "../../core/dom.js";

export const view = {
  id: "decoding",
  title: (t) => t("nav.decoding"),
  mount(root, context) {
    root.append(el("h1", {}, context.t("nav.decoding")));
  },
};
