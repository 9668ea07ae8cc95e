// The group that an item is in, shown only while it is asked for: on hover, on hold, or with the key G.

import { h } from "./element.js";
import { thumbnail } from "./item.js";

const HOVER = 450; // milliseconds
const HOLD = 400;

export function watchGroup(element, item, context) {
  element.dataset.item = item.id;
  let timer = null;
  let finger = null; // where it was put down
  let held = false; // whether the last touch was long enough to show the group
  const stop = () => {
    clearTimeout(timer);
    timer = finger = null;
    element.querySelector(".peek")?.remove();
  };
  const begin = (wait) => {
    timer ??= setTimeout(() => {
      held = finger !== null;
      show(element, item, context);
    }, wait);
  };
  element.addEventListener("pointermove", (event) => {
    // A mouse that merely rests where the next item appears has not asked for anything: it must move first.
    if (event.pointerType === "mouse" && (event.movementX || event.movementY)) begin(HOVER);
    if (finger && Math.hypot(event.clientX - finger.x, event.clientY - finger.y) > 10) stop(); // it swipes
  });
  element.addEventListener("pointerdown", (event) => {
    held = false;
    if (event.pointerType === "mouse") return;
    finger = { x: event.clientX, y: event.clientY };
    begin(HOLD);
  });
  element.addEventListener("click", (event) => held && event.stopPropagation(), true); // the end of a hold is no tap
  element.addEventListener("contextmenu", (event) => event.preventDefault()); // what a long touch opens
  for (const end of ["pointerleave", "pointerup", "pointercancel"]) element.addEventListener(end, stop);
  element.addEventListener("likewise-peek", (event) => (event.detail ? show(element, item, context) : stop()));
}

// Shows or hides the groups of all items in view.
export function peekAll(host, on) {
  for (const element of host.querySelectorAll(".item"))
    element.dispatchEvent(new CustomEvent("likewise-peek", { detail: on }));
}

function show(element, item, context) {
  if (element.querySelector(".peek")) return;
  const group = context.groups().find((each) => each.id === item.group);
  const content = group
    ? [
        h("strong", {}, group.name || `Class ${group.id + 1}`),
        h(
          "span",
          { class: "strip-of-items" },
          group.items.slice(0, 6).map((each) => thumbnail(each, "")),
        ),
      ]
    : ["Not in a class yet"];
  element.append(h("div", { class: "peek", role: "status" }, content));
}
