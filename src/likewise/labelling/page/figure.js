// An item, large: its picture, which a click enlarges, its text and its fields; and its group on request.

import { h } from "./element.js";
import { fields, picture, text, widthFor } from "./item.js";
import { watchGroup } from "./peek.js";

// The element, and a promise that settles when its picture is decoded; runs: the parts of its text, and which differ.
export function figure(item, name, context, runs = null) {
  const element = h("figure", { class: "item", "aria-label": name });
  let ready = Promise.resolve();
  if (item.image) {
    const shown = picture(item, widthFor(context.boxWidth()), name);
    ready = shown.ready;
    const zoom = { type: "button", class: "picture", "aria-label": `${name}, zoom`, onclick: context.zoom };
    element.append(h("button", zoom, shown.element));
  }
  if (item.text !== null) {
    const length = item.text.length > 600 ? "long" : item.text.length > 160 ? "medium" : "short";
    const place = { class: `text ${length}`, tabindex: "0", role: "group", "aria-label": `${name}, text` };
    element.append(h("div", place, text(runs ?? [[item.text, false]])));
  }
  if (item.fields) element.append(fields(item.fields));
  watchGroup(element, item, context);
  return { element, ready };
}
