// Dark or light: as the system says, until the button says otherwise.

import { one } from "./element.js";

const KEY = "likewise.theme";

export function start() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = one("#theme-button");
  const current = () => localStorage.getItem(KEY) ?? (system.matches ? "dark" : "light");
  const draw = () => {
    document.documentElement.dataset.theme = current();
    button.setAttribute("aria-pressed", String(current() === "dark"));
  };
  button.addEventListener("click", () => {
    localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
    draw();
  });
  system.addEventListener("change", draw);
  draw();
}
