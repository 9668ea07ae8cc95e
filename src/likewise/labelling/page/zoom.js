// The items in view, as large as the window, enlarged together up to eight times.

import { h, one } from "./element.js";
import { picture } from "./item.js";

const LARGE = 2048;

export function open(question) {
  const items =
    question.mode === "pair"
      ? [question.left, question.right]
      : question.mode === "strip"
        ? [question.item]
        : question.anchor;
  const dialog = one("#zoom");
  let scale = 1;
  const panes = items.map((item, i) => {
    const name = `Item ${i + 1}`;
    const content = item.image
      ? picture(item, LARGE, name).element
      : h(
          "div",
          { class: "text" },
          item.text ??
            Object.entries(item.fields ?? {})
              .map(([key, value]) => `${key}: ${value}`)
              .join("\n"),
        );
    return h("div", { class: "pane", tabindex: "0", role: "group", "aria-label": `${name}, enlarged` }, content);
  });
  const value = h("span", { class: "scale", role: "status" }, "1×");
  const set = (next) => {
    scale = Math.max(1, Math.min(8, next));
    value.textContent = `${scale}×`;
    dialog.style.setProperty("--scale", scale);
  };
  panes.forEach((pane) =>
    pane.addEventListener("scroll", () => panes.forEach((other) => other.scrollTo(pane.scrollLeft, pane.scrollTop))),
  );
  dialog.onkeydown = (event) => {
    if (event.key === "+" || event.key === "=") set(scale * 2);
    else if (event.key === "-") set(scale / 2);
    else if (event.key.toLowerCase() === "z") dialog.close();
  };
  dialog.onwheel = (event) => event.ctrlKey && (event.preventDefault(), set(event.deltaY < 0 ? scale * 2 : scale / 2));
  set(1);
  dialog.replaceChildren(
    h("div", { class: "panes" }, panes),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", "aria-label": "Smaller", onclick: () => set(scale / 2) }, "−"),
      value,
      h("button", { type: "button", "aria-label": "Larger", onclick: () => set(scale * 2) }, "+"),
      h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close"),
    ),
  );
  dialog.showModal();
}
