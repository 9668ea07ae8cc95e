// The classes so far: cards with a few of their items. A card opens to be named, marked and merged;
// dragging one card onto another merges them too.

import * as api from "./api.js";
import { count, h, one } from "./element.js";
import { thumbnail } from "./item.js";

const cards = new Map(); // group id -> {element, drawn}: cards that have not changed are left alone
let groups = [];

export const known = () => groups;
export const nameOf = (group) => group.name || `Class ${group.id + 1}`;

// on: {changed(progress), merge(questions, sentence), said(sentence)}
export function draw(progress, on) {
  groups = progress.groups;
  const list = one("#groups");
  const elements = groups.map((group) => {
    const drawn = JSON.stringify([
      group.name,
      group.size,
      group.pure,
      group.finished,
      group.items.map((item) => item.id),
    ]);
    const before = cards.get(group.id);
    if (before?.drawn === drawn) return before.element;
    const element = card(group, on);
    cards.set(group.id, { element, drawn });
    return element;
  });
  if (!elements.length) elements.push(h("li", { class: "none" }, "They appear here as you answer."));
  const same = list.children.length === elements.length && elements.every((element, i) => list.children[i] === element);
  if (same) return;
  const focused = document.activeElement?.closest?.("#groups li")?.dataset.group;
  list.replaceChildren(...elements);
  if (focused) list.querySelector(`li[data-group="${CSS.escape(focused)}"] button`)?.focus();
}

function card(group, on) {
  const marks = [group.pure ? "pure" : null, group.finished ? "finished" : null].filter(Boolean);
  const element = h(
    "li",
    { class: "card", draggable: true, "data-group": String(group.id) },
    h(
      "button",
      {
        type: "button",
        class: "open",
        onclick: () => open(group.id, on),
        "aria-label": [nameOf(group), count(group.size, "item"), ...marks].join(", "),
      },
      h(
        "span",
        { class: "mosaic" },
        group.items.slice(0, 4).map((item) => thumbnail(item, "")),
      ),
      h("span", { class: "name" }, nameOf(group)),
      h(
        "span",
        { class: "size" },
        count(group.size, "item"),
        marks.map((mark) => h("span", { class: "mark" }, mark)),
      ),
    ),
  );
  element.addEventListener("dragstart", (event) => {
    event.dataTransfer.setData("text/plain", String(group.id));
    event.dataTransfer.effectAllowed = "move";
    element.classList.add("dragged");
  });
  element.addEventListener("dragend", () => element.classList.remove("dragged"));
  element.addEventListener("dragover", (event) => {
    event.preventDefault();
    element.classList.add("target");
  });
  element.addEventListener("dragleave", () => element.classList.remove("target"));
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("target");
    const other = Number(event.dataTransfer.getData("text/plain"));
    if (Number.isInteger(other) && other !== group.id) merge(other, group.id, on);
  });
  return element;
}

async function merge(a, b, on) {
  const [first, second] = [a, b].map((id) => groups.find((group) => group.id === id));
  try {
    const { questions } = await api.mergeGroups(a, b);
    const names = `${nameOf(first)} and ${nameOf(second)}`;
    if (questions.length) on.merge(questions, `To merge ${names}, answer ${count(questions.length, "question")}.`);
    else on.said(`There is nothing to ask about ${names}.`);
  } catch (error) {
    on.said(error.message);
  }
}

async function open(id, on) {
  const dialog = one("#group");
  const group = groups.find((each) => each.id === id);
  let items = group.items;
  try {
    items = (await api.group(id)).items;
  } catch (error) {
    on.said(error.message);
  }
  const change = async (what) => {
    try {
      on.changed(await api.changeGroup(id, what));
    } catch (error) {
      on.said(error.message);
    }
  };
  const check = (name, field, about) =>
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        checked: Boolean(group[field]),
        onchange: (event) => change({ [field]: event.target.checked }),
      }),
      h("span", {}, h("strong", {}, name), ` ${about}`),
    );
  const others = groups.filter((each) => each.id !== id);
  const choice = h(
    "select",
    { id: "merge-with" },
    others.map((each) => h("option", { value: String(each.id) }, `${nameOf(each)} (${each.size})`)),
  );
  dialog.replaceChildren(
    h(
      "header",
      {},
      h("h2", { id: "group-title" }, nameOf(group)),
      h("p", { class: "hint" }, count(group.size, "item")),
    ),
    h(
      "div",
      { class: "items", tabindex: "0", role: "group", "aria-label": "Items of the class" },
      items.map((item, i) => thumbnail(item, `Item ${i + 1}`)),
    ),
    h(
      "label",
      { class: "field" },
      "Name",
      h("input", {
        type: "text",
        id: "group-name",
        maxlength: "100",
        value: group.name ?? "",
        autocomplete: "off",
        onchange: (event) => change({ name: event.target.value.trim() }),
      }),
    ),
    check("Pure:", "pure", "every item shown belongs here."),
    check("Finished:", "finished", "ask no more about it."),
    others.length
      ? h(
          "div",
          { class: "field" },
          h("label", { for: "merge-with" }, "Merge with"),
          h(
            "div",
            { class: "row" },
            choice,
            h(
              "button",
              { type: "button", id: "merge", onclick: () => (dialog.close(), merge(id, Number(choice.value), on)) },
              "Merge",
            ),
          ),
        )
      : null,
    h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close"),
  );
  dialog.showModal();
}
