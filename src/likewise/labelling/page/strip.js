// One item against a representative of each likely class, or none of these.

import { h } from "./element.js";
import { figure } from "./figure.js";
import { spokenItem, thumbnail } from "./item.js";

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
  const shown = figure(question.item, "The item", context);
  const ready = [shown.ready];
  const cards = question.representatives.map(({ item, group }, i) => {
    const choice = thumbnail(item, "", 512);
    if (choice.decode) ready.push(choice.decode().catch(() => null));
    const name = context.groups().find((each) => each.id === group)?.name;
    return h(
      "button",
      {
        type: "button",
        class: "candidate",
        "data-item": item.id,
        "aria-label": [`Choice ${i + 1}`, name, spokenItem(item)].filter(Boolean).join(": "),
        onclick: () => context.answer(i),
      },
      choice,
      h("kbd", { "aria-hidden": "true" }, String(i + 1)),
    );
  });
  const element = h(
    "div",
    { class: "strip-mode" },
    shown.element,
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
