// How far the answers have brought us: figures, the forecast, and an end that is offered.

import { count, h, one } from "./element.js";

const percent = (share) => Math.round(100 * share);

export function forecastSentence(forecast) {
  if (!forecast) return "Too early to say how many more answers it takes.";
  const { low, high, target } = forecast;
  const goal = `${percent(target)} %`;
  if (low <= 0) return `Perhaps ${goal} is reached; if not, up to ${high} more answers.`;
  return `About ${low === high ? low : `${low} to ${high}`} more answers to ${goal}.`;
}

export function draw(progress, learnButton) {
  const { accuracy } = progress;
  const figure = (value, name, id) => h("div", {}, h("dd", { id }, value), h("dt", {}, name));
  const bar = h(
    "div",
    { class: "interval", "aria-hidden": "true" },
    h("span", { class: "range" }),
    h("span", { class: "estimate" }),
  );
  if (accuracy) {
    bar.style.setProperty("--low", accuracy.low);
    bar.style.setProperty("--high", accuracy.high);
    bar.style.setProperty("--estimate", accuracy.estimate);
  }
  one("#progress").replaceChildren(
    h(
      "dl",
      { class: "numbers" },
      figure(progress.answers.toLocaleString("en"), progress.answers === 1 ? "answer" : "answers", "answered"),
      figure(progress.classes.toLocaleString("en"), progress.classes === 1 ? "class" : "classes", "classes"),
      figure(!progress.per_minute ? "–" : String(Math.round(progress.per_minute)), "per minute", "pace"),
    ),
    h(
      "div",
      { class: "accuracy" },
      h(
        "p",
        { id: "accuracy" },
        accuracy
          ? [
              "Estimated accuracy ",
              h("strong", {}, `${percent(accuracy.estimate)} %`),
              ` (${percent(accuracy.low)} to ${percent(accuracy.high)})`,
            ]
          : "Accuracy: too few answers to estimate it.",
      ),
      accuracy ? bar : null,
      h("p", { id: "forecast", class: "hint" }, forecastSentence(progress.forecast)),
    ),
  );
  one("#brief").textContent = `${progress.answers} answered${accuracy ? `, ${percent(accuracy.estimate)} %` : ""}`;
  const end = one("#end");
  end.hidden = !progress.end || end.dataset.dismissed === progress.end;
  if (!end.hidden && end.dataset.sentence !== progress.end) {
    end.dataset.sentence = progress.end;
    const dismiss = () => {
      end.dataset.dismissed = progress.end;
      end.hidden = true;
      one("#stage").focus();
    };
    end.replaceChildren(
      h("h2", {}, "You can stop here"),
      h("p", {}, progress.end),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "primary", onclick: learnButton }, "Learn"),
        h("button", { type: "button", class: "quiet", onclick: dismiss }, "Keep answering"),
      ),
    );
  }
}

export const spoken = (progress) =>
  `${count(progress.answers, "answer")}, ${count(progress.classes, "class", "classes")}`;
