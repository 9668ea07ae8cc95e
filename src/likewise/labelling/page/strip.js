// One item against a representative of each likely class, or none of these.

import { h } from "./element.js";
import { picture, thumbnail, widthFor } from "./item.js";
import { watchGroup } from "./peek.js";

export const title = "Which one does it belong with?";

export function controls(answer) {
  return [
    h(
      "button",
      { type: "button", class: "answer unsure", "data-answer": "unsure", onclick: () => answer("unsure") },
      h("span", {}, "Not sure"),
      h("kbd", { "aria-hidden": "true" }, "space"),
    ),
    h(
      "button",
      { type: "button", class: "answer different", "data-answer": "none", onclick: () => answer("none") },
      h("span", {}, "None of these"),
      h("kbd", { "aria-hidden": "true" }, "N"),
    ),
  ];
}

export function prepare(question, context) {
  const ready = [];
  const figure = h("figure", { class: "item", "aria-label": "The item" });
  if (question.item.image) {
    const shown = picture(question.item, widthFor(context.boxWidth()), "The item");
    ready.push(shown.ready);
    figure.append(
      h(
        "button",
        { type: "button", class: "picture", "aria-label": "The item, zoom", onclick: context.zoom },
        shown.element,
      ),
    );
  } else {
    figure.append(
      h(
        "div",
        { class: "text medium", tabindex: "0", role: "group", "aria-label": "The item" },
        thumbnail(question.item, ""),
      ),
    );
  }
  watchGroup(figure, question.item, context);
  const cards = question.representatives.map(({ item, group }, i) => {
    const shown = thumbnail(item, "", 512);
    if (shown.decode) ready.push(shown.decode().catch(() => null));
    const name = context.groups().find((each) => each.id === group)?.name;
    return h(
      "button",
      {
        type: "button",
        class: "candidate",
        "data-item": item.id,
        "aria-label": name ? `Choice ${i + 1}: ${name}` : `Choice ${i + 1}`,
        onclick: () => context.answer(i),
      },
      shown,
      h("kbd", { "aria-hidden": "true" }, String(i + 1)),
    );
  });
  const element = h(
    "div",
    { class: "strip-mode" },
    figure,
    h("div", { class: "candidates", role: "group", "aria-label": "Likely classes" }, cards),
  );
  return { element, ready: Promise.all(ready), cards };
}

// Same as the one chosen, different from the others shown; not sure is said of each.
export function pairs(question, value) {
  return question.representatives.map(({ item }, i) => ({
    left: question.item.id,
    right: item.id,
    answer: value === "unsure" ? null : Number(i === value),
  }));
}

export const branch = () => null;

export function describe(value) {
  return value === "unsure" ? "not sure" : value === "none" ? "none of these" : `choice ${value + 1}`;
}

export function key(event, letters, prepared) {
  const digit = Number.parseInt(event.key, 10);
  if (digit >= 1 && digit <= prepared.cards.length) return digit - 1;
  if (event.key === " ") return "unsure";
  if (event.key === "0" || (letters && event.key.toLowerCase() === "n")) return "none";
  return undefined;
}
