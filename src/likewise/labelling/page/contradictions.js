// Doubtful answers: each with the chain of other answers that speaks against it, to be confirmed or changed.

import * as api from "./api.js";
import { count, h } from "./element.js";
import { thumbnail } from "./item.js";
import { uuid } from "./uuid.js";

const SHOWN = 8; // answers of a chain
const said = (answer) => (answer === 1 ? "same" : answer === 0 ? "different" : "not sure");

// Counts the doubtful answers without showing them.
export async function look(told) {
  told((await api.contradictions()).answers.length);
}

// Draws the inbox into the host; on: {count(number), said(sentence), waiting(error)}
export async function draw(host, outbox, session, on) {
  const { answers } = await api.patiently(api.contradictions, on.waiting);
  on.count(answers.length);
  const list = h(
    "ol",
    { class: "inbox" },
    answers.map((each) => entry(each)),
  );
  const empty = h(
    "p",
    { class: "nothing" },
    "No answer looks doubtful. Answers that others speak against appear here; none is dropped silently.",
  );
  host.replaceChildren(answers.length ? list : empty);

  function entry(doubt) {
    const mine = doubt.annotator === session.annotator;
    const decide = async (answer, words) => {
      for (const button of element.querySelectorAll("button")) button.disabled = true;
      const event = {
        id: uuid(),
        question: null,
        left: doubt.left.id,
        right: doubt.right.id,
        answer,
        latency: 0,
        supersedes: mine ? doubt.id : null,
        withdraw: false,
        kind: null,
      };
      const response = await outbox.send(null, [event]);
      if (response === null) {
        for (const button of element.querySelectorAll("button")) button.disabled = false;
        return;
      }
      const next = element.nextElementSibling ?? element.previousElementSibling;
      element.remove();
      on.count(list.children.length);
      on.said(words);
      if (next) next.querySelector("button").focus();
      else host.replaceChildren(empty);
    };
    const opposite = 1 - doubt.answer;
    const element = h(
      "li",
      { class: "doubt" },
      h(
        "div",
        { class: "two" },
        small(doubt.left, "First item"),
        sign(doubt.answer),
        small(doubt.right, "Second item"),
      ),
      h(
        "div",
        { class: "case" },
        h(
          "p",
          {},
          mine ? "You said " : `${doubt.annotator ?? "Somebody"} said `,
          h("strong", {}, said(doubt.answer)),
          `. ${likelihood(doubt.odds)}`,
        ),
        doubt.chain.length ? h("p", { class: "hint" }, `Against it: ${count(doubt.chain.length, "answer")}.`) : null,
        doubt.chain.length
          ? h(
              "ol",
              { class: "chain", "aria-label": "The chain of answers against it" },
              paths(doubt.chain.slice(0, SHOWN)).map(path),
            )
          : null,
        doubt.chain.length > SHOWN
          ? h("p", { class: "hint" }, `and ${count(doubt.chain.length - SHOWN, "more answer")}`)
          : null,
        h(
          "div",
          { class: "row" },
          h(
            "button",
            { type: "button", class: "keep", onclick: () => decide(doubt.answer, `Confirmed: ${said(doubt.answer)}.`) },
            `Keep “${said(doubt.answer)}”`,
          ),
          h(
            "button",
            { type: "button", class: "change", onclick: () => decide(opposite, `Changed to ${said(opposite)}.`) },
            `Change to “${said(opposite)}”`,
          ),
        ),
      ),
    );
    return element;
  }
}

// Answers that hang together, each beginning with the item at which the last one ended: one path.
function paths(chain) {
  const found = [];
  for (const { left, right, answer } of chain) {
    const path = found.at(-1),
      end = path?.at(-1).item.id;
    if (end === left.id) path.push({ answer, item: right });
    else if (end === right.id) path.push({ answer, item: left });
    else found.push([{ item: left }, { answer, item: right }]);
  }
  return found;
}

function path(steps) {
  return h(
    "li",
    {},
    steps.map(({ answer, item }) => [answer === undefined ? null : sign(answer), small(item, "Item")]).flat(),
  );
}

const sign = (answer) =>
  h(
    "span",
    { class: `sign ${answer ? "same" : "different"}`, role: "img", "aria-label": said(answer) },
    answer ? "=" : "≠",
  );

const small = (item, name) => h("span", { class: "small", "data-item": item.id }, thumbnail(item, name));

function likelihood(odds) {
  if (odds === null || odds === undefined) return "";
  if (odds >= 100) return "It is almost certainly wrong.";
  if (odds >= 1)
    return `It is about ${odds >= 10 ? Math.round(odds) : odds.toFixed(1)} times as likely to be wrong as to be right.`;
  return `The chance that it is wrong is about ${Math.round((100 * odds) / (1 + odds))} %.`;
}
