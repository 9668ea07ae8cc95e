// One screen of items that the model puts in one class: click those that do NOT belong.

import { h } from "./element.js";
import { thumbnail } from "./item.js";

export const title = "Click those that do not belong";
const KEYS = "1234567890-=";
const STATES = { 1: "belongs", 0: "does not belong", null: "not sure" };

export function controls(answer) {
  return [
    h(
      "button",
      { type: "button", class: "answer unsure", "data-answer": "unsure", onclick: () => answer("unsure") },
      "Not sure about any",
    ),
    h(
      "button",
      { type: "button", class: "answer same", "data-answer": "save", onclick: () => answer("save") },
      h("span", { class: "tally" }, "All of them belong"),
      h("kbd", { "aria-hidden": "true" }, "Enter"),
    ),
  ];
}

export function prepare(question, context) {
  const marks = question.candidates.map((_, i) => question.before?.[i] ?? 1);
  const ready = [];
  const show = (item, name) => {
    const element = thumbnail(item, name, 512);
    if (element.decode) ready.push(element.decode().catch(() => null));
    return element;
  };
  const name = (i) => `Item ${i + 1}, ${STATES[marks[i]]}`;
  const cards = question.candidates.map((item, i) =>
    h(
      "button",
      {
        type: "button",
        class: "candidate",
        "data-item": item.id,
        "aria-pressed": "false",
        onclick: () => mark(i, marks[i] === 1 ? 0 : 1),
      },
      show(item, ""),
      h("span", { class: "cross", "aria-hidden": "true" }),
      h("kbd", { "aria-hidden": "true" }, KEYS[i] ?? ""),
    ),
  );
  const mark = (i, value) => {
    marks[i] = value;
    draw(i);
    context.changed?.();
  };
  const draw = (i) => {
    cards[i].setAttribute("aria-pressed", String(marks[i] === 0));
    cards[i].classList.toggle("unsure", marks[i] === null);
    cards[i].setAttribute("aria-label", name(i));
  };
  cards.forEach((_, i) => draw(i));
  const anchors = question.anchor.map((item, i) =>
    h("div", { class: "item", "data-item": item.id }, show(item, `Item ${i + 1} of the class`)),
  );
  const element = h(
    "div",
    { class: "grid-mode" },
    h(
      "div",
      { class: "anchor", role: "group", "aria-label": "These belong together" },
      h("p", {}, "These belong together"),
      h("div", { class: "anchors" }, anchors),
    ),
    h("div", { class: "candidates", role: "group", "aria-label": "Do these belong to them?" }, cards),
  );
  return { element, ready: Promise.all(ready), marks, mark, cards };
}

export function tally(prepared) {
  const out = prepared.marks.filter((value) => value === 0).length;
  if (out === 0) return "All of them belong";
  if (out === prepared.marks.length) return "None of them belongs";
  return out === 1 ? "1 does not belong" : `${out} do not belong`;
}

export function pairs(question, value, prepared) {
  const first = question.anchor[0].id;
  return question.candidates.map((item, i) => ({
    left: first,
    right: item.id,
    answer: value === "unsure" ? null : prepared.marks[i],
  }));
}

export const branch = () => null;

export function describe(value, prepared) {
  return value === "unsure" ? "not sure about any" : tally(prepared).toLowerCase();
}

export function key(event, letters, prepared) {
  const at = prepared.cards.indexOf(document.activeElement);
  const digit = KEYS.indexOf(event.key);
  if (digit >= 0 && digit < prepared.cards.length)
    return void prepared.mark(digit, prepared.marks[digit] === 1 ? 0 : 1);
  if (letters && event.key.toLowerCase() === "u" && at >= 0)
    return void prepared.mark(at, prepared.marks[at] === null ? 1 : null);
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns(prepared), ArrowUp: -columns(prepared) }[event.key];
  if (step) {
    const next = at < 0 ? 0 : at + step;
    prepared.cards[Math.max(0, Math.min(prepared.cards.length - 1, next))].focus();
    event.preventDefault();
    return undefined;
  }
  return event.key === "Enter" ? "save" : undefined;
}

function columns(prepared) {
  const top = prepared.cards[0].offsetTop;
  const second = prepared.cards.findIndex((card) => card.offsetTop > top);
  return second < 0 ? prepared.cards.length : second;
}
