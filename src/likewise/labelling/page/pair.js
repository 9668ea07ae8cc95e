// Two items side by side: same, different, or not sure.

import { h } from "./element.js";
import { fields as allFields, picture, text, widthFor, written } from "./item.js";
import { watchGroup } from "./peek.js";
import { differences, unlike } from "./words.js";

export const title = "Same or different?";
const SPOKEN = 500; // letters of each item

export function controls(answer) {
  const button = (name, value, key, kind) =>
    h(
      "button",
      { type: "button", class: `answer ${kind}`, "data-answer": kind, onclick: () => answer(value) },
      h("span", {}, name),
      h("kbd", { "aria-hidden": "true" }, key),
    );
  return [
    button("Different", 0, "←", "different"),
    button("Not sure", null, "space", "unsure"),
    button("Same", 1, "→", "same"),
  ];
}

// The element of a question and a promise that settles when its pictures are decoded.
export function prepare(question, context) {
  const { left, right } = question;
  const waits = [];
  if (left.fields && right.fields && !left.image && left.text === null) {
    return { element: rows(left, right, context), ready: Promise.resolve() };
  }
  const texts = left.text !== null && right.text !== null ? differences(left.text, right.text) : [];
  const figures = [
    ["First item", left, texts[0]],
    ["Second item", right, texts[1]],
  ].map(([name, item, runs]) => {
    const figure = h("figure", { class: "item", "aria-label": name });
    if (item.image) {
      const shown = picture(item, widthFor(context.boxWidth()), name);
      figure.append(
        h(
          "button",
          { type: "button", class: "picture", "aria-label": `${name}, zoom`, onclick: context.zoom },
          shown.element,
        ),
      );
      waits.push(shown.ready);
    }
    if (item.text !== null) {
      const length = item.text.length > 600 ? "long" : item.text.length > 160 ? "medium" : "short";
      figure.append(
        h(
          "div",
          { class: `text ${length}`, tabindex: "0", role: "group", "aria-label": `${name}, text` },
          text(runs ?? [[item.text, false]]),
        ),
      );
    }
    if (item.fields) figure.append(allFields(item.fields));
    watchGroup(figure, item, context);
    return figure;
  });
  const kind = texts.length && unlike(...texts) ? "pair unlike" : "pair";
  return { element: h("div", { class: kind }, figures), ready: Promise.all(waits) };
}

// Rows of a table: one line for each field, so that equal fields stand beside each other.
function rows(left, right, context) {
  const names = [...new Set([...Object.keys(left.fields), ...Object.keys(right.fields)])];
  const lines = names.map((name) => {
    const a = written(left.fields[name]),
      b = written(right.fields[name]);
    const differs = a !== b;
    const [runsA, runsB] = differs ? differences(a, b) : [[[a, false]], [[b, false]]];
    return h(
      "tr",
      { class: differs ? "differs" : null },
      h("th", { scope: "row" }, name, differs ? h("span", { class: "unseen" }, " (differs)") : null),
      h("td", {}, text(runsA)),
      h("td", {}, text(runsB)),
    );
  });
  const heads = [
    ["First item", left],
    ["Second item", right],
  ].map(([name, item]) => {
    const head = h("th", { scope: "col", class: "item" }, name);
    watchGroup(head, item, context);
    return head;
  });
  return h(
    "div",
    { class: "pair rows", tabindex: "0", role: "group", "aria-label": "Two rows, field by field" },
    h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), heads)), h("tbody", {}, lines)),
  );
}

// What a screen reader says of a question; pictures cannot be described without giving an answer away.
export function spoken({ left, right }) {
  const content = (item) =>
    item.text ??
    Object.entries(item.fields ?? {})
      .map(([name, value]) => `${name} ${written(value)}`)
      .join(", ");
  const [first, second] = [content(left), content(right)];
  return first && second
    ? `First: ${first.slice(0, SPOKEN)}. Second: ${second.slice(0, SPOKEN)}.`
    : "Two more pictures.";
}

export function pairs(question, value) {
  return [{ left: question.left.id, right: question.right.id, answer: value }];
}

export const branch = (value) => (value === 1 ? "same" : value === 0 ? "different" : "unsure");

export function describe(value) {
  return value === 1 ? "same" : value === 0 ? "different" : "not sure";
}

// The value that a key stands for, or undefined.
export function key(event, letters) {
  if (event.key === "ArrowRight") return 1;
  if (event.key === "ArrowLeft") return 0;
  if (event.key === " ") return null;
  if (letters && event.key.toLowerCase() === "s") return 1;
  if (letters && event.key.toLowerCase() === "d") return 0;
  return undefined;
}
