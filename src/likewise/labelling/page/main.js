// The page: what is in view, and which part hears of what.

import * as api from "./api.js";
import { Asking, MODES } from "./asking.js";
import * as contradictions from "./contradictions.js";
import { h, one } from "./element.js";
import * as grid from "./grid.js";
import * as groups from "./groups.js";
import * as keys from "./keys.js";
import * as learn from "./learn.js";
import { Outbox } from "./outbox.js";
import * as progress from "./progress.js";
import * as swipe from "./swipe.js";
import * as theme from "./theme.js";
import * as zoom from "./zoom.js";

let session, outbox, asking;
let view = "pair";
const tabs = new BroadcastChannel("likewise");

const say = (sentence) => (one("#live").textContent = sentence);

function trouble(sentence) {
  one("#trouble").textContent = sentence;
  one("#trouble").hidden = !sentence;
}

function waiting(error) {
  one("#saving").textContent = "Not saved yet";
  trouble(error.status === 401 ? error.message : `${error.message} Your answers are kept here and sent again.`);
}

let saves = 0;

function saved(response, events) {
  trouble("");
  if (++saves % 10 === 0) contradictions.look(doubtful).catch(() => null);
  one("#saving").textContent = "Saved";
  update(response.progress);
  tabs.postMessage({ progress: response.progress, pairs: events.map(({ left, right }) => [left, right]) });
  say(`Saved: ${asking.words ?? "done"}. ${progress.spoken(response.progress)}.`);
}

function refused(sentence) {
  one("#saving").textContent = "Not saved";
  trouble(`This answer was not saved. ${sentence}`);
}

function update(state) {
  progress.draw(state, beginLearning);
  groups.draw(state, { changed: update, said: trouble, merge: askMerge });
}

function askMerge(questions, sentence) {
  select("pair");
  asking.ask(questions.map((question) => ({ ...question, note: sentence })));
}

function note(sentence) {
  one("#note").textContent = sentence;
  one("#note").hidden = !sentence;
}

// A question came into view.
function shown({ screen, mode }) {
  const { question } = screen;
  select(mode);
  one("#view").replaceChildren(screen.element);
  one("#question").textContent = MODES[mode].title;
  one("#why").textContent = question.why ?? "";
  one("#why").hidden = true;
  one("#why-button").hidden = !question.why;
  one("#why-button").setAttribute("aria-expanded", "false");
  one("#stage").dataset.question = question.id;
  note(
    question.note ?? (question.before && mode === "pair" ? `You said ${MODES.pair.describe(question.before[0])}.` : ""),
  );
  changed();
  one("#next").textContent = mode === "pair" ? MODES.pair.spoken(question) : MODES[mode].title;
  if (document.activeElement?.closest(".modes")) one("#stage").focus({ preventScroll: true });
}

function changed() {
  const label = one("#answers .tally");
  if (label && asking.screen?.marks) label.textContent = grid.tally(asking.screen);
}

function finished(sentence) {
  select(view);
  delete one("#stage").dataset.question;
  one("#answers").replaceChildren();
  one("#view").replaceChildren(
    h(
      "div",
      { class: "nothing" },
      h("p", {}, sentence),
      view === "pair"
        ? null
        : h("button", { type: "button", class: "primary", onclick: () => asking.begin("pair") }, "Go on with pairs"),
    ),
  );
  one("#why-button").hidden = true;
  say(sentence);
}

// Marks the view in the bar, and brings its buttons; the buttons of a mode stay the same, so the focus stays on them.
function select(next) {
  if (next === view && one("#answers").dataset.mode === next && one("#answers").children.length) return;
  view = next;
  for (const button of document.querySelectorAll(".modes button")) {
    if (button.dataset.view === next) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  document.body.dataset.view = next;
  one("#answers").dataset.mode = next;
  one("#answers").replaceChildren(...(MODES[next]?.controls((value) => asking.answer(value)) ?? []));
}

function go(next) {
  trouble("");
  note("");
  if (next !== "inbox") {
    view = next;
    return asking.begin(next).catch((error) => trouble(error.message));
  }
  select("inbox");
  asking.close();
  one("#question").textContent = "Doubtful answers";
  delete one("#stage").dataset.question;
  asking.words = "checked";
  return contradictions
    .draw(one("#view"), outbox, session, { count: doubtful, said: say, waiting })
    .catch((error) => trouble(error.message));
}

function doubtful(number) {
  one("#doubtful").textContent = String(number);
  one("#doubtful").hidden = number === 0;
}

async function beginLearning() {
  try {
    await outbox.last;
    await api.learn();
    await learn.follow(beginLearning, { said: say, waiting });
  } catch (error) {
    trouble(error.message);
  }
}

async function start() {
  theme.start();
  session = await api.patiently(api.session, waiting);
  trouble("");
  one("#person").textContent = session.annotator ?? "";
  for (const button of document.querySelectorAll(".modes button")) {
    button.hidden = button.dataset.view !== "inbox" && !session.modes.includes(button.dataset.view);
    button.addEventListener("click", () => go(button.dataset.view));
  }
  outbox = new Outbox(`${session.store}.${session.annotator}`, { waiting, saved, refused });
  const context = {
    boxWidth: () => one("#view").clientWidth / 2,
    groups: groups.known,
    zoom: () => asking.screen && zoom.open(asking.screen.question),
    answer: (value) => asking.answer(value),
    changed,
  };
  asking = new Asking(outbox, context, {
    shown,
    finished,
    waiting,
    said: say,
    busy: (on) => one("#stage").setAttribute("aria-busy", String(on)),
  });
  keys.watch(asking, context, () => view !== "inbox");
  swipe.watch(one("#view"), (value) => view === "pair" && asking.answer(value));
  tabs.addEventListener("message", ({ data }) => (update(data.progress), asking.answeredElsewhere(data.pairs)));
  await Promise.all(outbox.resend());
  await asking.begin("pair");
  update(await api.patiently(api.progress, waiting));
  contradictions.look(doubtful);
  await learn.follow(beginLearning, { said: () => null, waiting });
}

start().catch((error) => trouble(error.message));
