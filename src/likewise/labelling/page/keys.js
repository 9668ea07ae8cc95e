// Keys and the buttons beside the question. Keys are not taken from fields, open dialogs or the buttons that want them.

import { one } from "./element.js";
import { MODES } from "./asking.js";
import { peekAll } from "./peek.js";

const LETTERS = "likewise.letters"; // "off" where single letters are not wanted as keys

export function watch(asking, context, asks) {
  const letters = one("#letters");
  letters.checked = localStorage.getItem(LETTERS) !== "off";
  letters.addEventListener("change", () => localStorage.setItem(LETTERS, letters.checked ? "on" : "off"));
  one("#help-button").addEventListener("click", () => one("#help").showModal());
  one("#help-close").addEventListener("click", () => one("#help").close());
  one("#undo").addEventListener("click", () => asking.undo());
  one("#why-button").addEventListener("click", why);
  // A click with the mouse leaves the focus where it is, so that the space bar means "not sure" afterwards.
  one("#stage").addEventListener(
    "mousedown",
    (event) => event.target.closest(".answers button, .under button") && event.preventDefault(),
  );

  let peeking = false;
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]") || event.target.closest("input, textarea, select")) return;
    if (!asks()) return;
    const pressed = event.key.toLowerCase();
    if (pressed === "backspace") return void (event.preventDefault(), asking.undo());
    if (letters.checked && pressed === "g") return void ((peeking = !peeking), peekAll(one("#view"), peeking));
    if (letters.checked && pressed === "w") return why();
    if (letters.checked && pressed === "z") return context.zoom();
    if (event.key === "?") return one("#help").showModal();
    const onButton = event.target.closest("button, a");
    const inGrid = event.target.closest(".candidate");
    if (onButton && (event.key === " " || (event.key === "Enter" && !(inGrid && asking.mode === "grid")))) return;
    if (!asking.screen) return;
    const value = MODES[asking.mode].key(event, letters.checked, asking.screen);
    if (value === undefined) return;
    event.preventDefault();
    peeking = false;
    asking.answer(value);
  });
}

function why() {
  const sentence = one("#why");
  sentence.hidden = !sentence.hidden;
  one("#why-button").setAttribute("aria-expanded", String(!sentence.hidden));
}
