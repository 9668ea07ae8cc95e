// The end: one button that learns from the answers, as `likewise fit` does, and then the report.

import * as api from "./api.js";
import { h, one } from "./element.js";

const LOOK = 1000; // milliseconds between two looks at a run

export function draw(state, begin) {
  const host = one("#learn");
  const running = state.state === "running";
  host.replaceChildren(
    h(
      "button",
      { type: "button", id: "learn-button", class: "wide", disabled: running, onclick: begin },
      running ? "Learning…" : state.state === "done" ? "Learn again" : "Learn from the answers",
    ),
    h(
      "p",
      { class: "hint", role: "status", id: "learn-line" },
      state.line ??
        (state.state === "idle" ? "Trains a classifier and writes its report. You can go on answering." : ""),
    ),
    ...(state.report
      ? [h("a", { class: "report", href: "/report", target: "_blank", rel: "noopener" }, "Open the report")]
      : []),
  );
}

// Follows a run until it ends; begin is the button's action.
export async function follow(begin, on) {
  for (;;) {
    const state = await api.patiently(api.learning, on.waiting);
    draw(state, begin);
    if (state.state !== "running") {
      if (state.state === "failed") on.said(state.line ?? "Learning failed.");
      if (state.state === "done") on.said("The model is learned.");
      return;
    }
    await new Promise((resume) => setTimeout(resume, LOOK));
  }
}
