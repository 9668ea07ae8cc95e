// The round of questions: show one, send the answer, show the next.
//
// A pair comes with the question that follows each answer (question.then). Both are prepared, with their pictures decoded,
// while the person looks; so the next pair is there at once, and the answer is on its way to the server behind it.

import * as api from "./api.js";
import * as grid from "./grid.js";
import * as pair from "./pair.js";
import * as strip from "./strip.js";
import { uuid } from "./uuid.js";

export const MODES = { pair, grid, strip };

export class Asking {
  // outbox: where answers go; context: what screens need of the page;
  // on: {shown(asking), finished(sentence), said(sentence), busy(boolean)}
  constructor(outbox, context, on) {
    Object.assign(this, { outbox, context, on });
    this.mode = "pair";
    this.screen = null; // {question, element, ready, ...} in view
    this.open = false; // whether an answer is taken
    this.turn = 0; // a reply that belongs to an earlier turn is not shown
    this.prepared = new Map(); // question id -> screen
    this.merging = []; // questions that a merge of two groups asks first
    this.undoing = Promise.resolve();
  }

  async begin(mode) {
    this.mode = mode;
    const turn = this.close();
    const { question, done } = await api.patiently(() => api.question(mode), this.on.waiting);
    if (turn === this.turn) await this.next(question, done);
  }

  // Shows the pairs that decide whether two groups are one, then goes on as before.
  ask(questions) {
    this.merging = questions.slice(1);
    this.mode = "pair";
    this.close();
    return this.next(questions[0], null);
  }

  close() {
    this.open = false;
    return ++this.turn;
  }

  async next(question, done) {
    if (!question) {
      this.screen = null;
      this.on.finished(done ?? "There is nothing left to ask.");
      return;
    }
    const turn = this.turn;
    const screen = this.prepare(question);
    if (!screen.decoded) {
      this.on.busy(true);
      await screen.ready;
      this.on.busy(false);
      if (turn !== this.turn) return;
    }
    this.prepared.clear();
    this.screen = screen;
    this.mode = question.mode;
    this.open = true;
    this.since = performance.now();
    this.on.shown(this);
    this.ahead(question);
  }

  prepare(question) {
    const known = this.prepared.get(question.id);
    if (known) return known;
    const screen = { question, decoded: false, ...MODES[question.mode].prepare(question, this.context) };
    screen.ready = screen.ready.then(() => (screen.decoded = true));
    this.prepared.set(question.id, screen);
    return screen;
  }

  ahead(question) {
    for (const next of Object.values(question.then ?? {})) if (next) this.prepare(next);
  }

  async answer(value) {
    if (!this.open) return;
    const { question } = this.screen;
    const mode = MODES[question.mode];
    const latency = Math.min(3600, (performance.now() - this.since) / 1000);
    const events = mode.pairs(question, value, this.screen).map((each) => ({
      id: uuid(),
      question: question.id,
      ...each,
      latency,
      supersedes: null,
      withdraw: false,
      kind: question.kind ?? null,
    }));
    this.words = mode.describe(value, this.screen);
    const turn = this.close();
    const sent = this.outbox.send(question.mode, events);
    const predicted = this.merging.shift() ?? question.then?.[mode.branch(value)];
    if (predicted) {
      this.next(predicted, null);
      const response = await sent;
      if (turn === this.turn && response?.question) this.adopt(response.question);
      return;
    }
    this.on.busy(true);
    const response = await sent;
    this.on.busy(false);
    if (turn !== this.turn) return;
    if (response?.question) await this.next(response.question, null);
    else await this.begin(this.mode);
  }

  // The server's own next question, when it is the one in view: it brings what follows it.
  adopt(question) {
    const shown = this.screen?.question;
    if (!shown || shown.mode !== "pair" || question.mode !== "pair") return;
    if (shown.left.id !== question.left.id || shown.right.id !== question.right.id) return;
    this.screen.question = question;
    this.ahead(question);
  }

  // Another tab of the same person has answered these pairs: what is in view here is asked no more.
  answeredElsewhere(pairs) {
    const shown = this.open && this.screen.question;
    if (!shown || shown.mode !== "pair") return;
    if (pairs.some((both) => both.includes(shown.left.id) && both.includes(shown.right.id))) this.begin("pair");
  }

  // Takes back the newest answer of this person, in whichever tab it was given, and asks it again.
  undo() {
    this.undoing = this.undoing.then(() => this.undoOne()).catch((error) => this.on.said(error.message));
    return this.undoing;
  }

  async undoOne() {
    const turn = this.close();
    await this.outbox.last;
    const { answers } = await api.patiently(api.history, this.on.waiting);
    if (!answers.length) {
      this.open = this.screen !== null;
      this.on.said("There is nothing to undo.");
      return;
    }
    const newest = answers[0];
    const screenful = newest.question ? answers.filter((each) => each.question === newest.question) : [newest];
    const events = screenful.map((each) => ({
      id: uuid(),
      question: each.question,
      left: each.left.id,
      right: each.right.id,
      answer: each.answer,
      latency: 0,
      supersedes: each.id,
      withdraw: true,
      kind: null,
    }));
    const response = await this.outbox.send(null, events);
    if (turn !== this.turn) return;
    if (response === null) {
      this.open = this.screen !== null;
      return;
    }
    this.merging = [];
    this.prepared.clear();
    await this.next(again(screenful.reverse()), null);
    this.on.said("Undone. Answer again.");
  }
}

// The question of answers that were withdrawn: oldest first, as they were asked.
function again(answers) {
  const { question, mode, left, right } = answers[0];
  const id = question ?? uuid();
  const why = "You took back your answer to this question.";
  const before = answers.map((each) => each.answer);
  if (mode === "grid")
    return { id, mode, kind: mode, anchor: [left], candidates: answers.map((each) => each.right), why, before };
  if (mode === "strip")
    return {
      id,
      mode,
      kind: mode,
      item: left,
      representatives: answers.map((each) => ({ group: each.right.group, item: each.right })),
      why,
      before,
    };
  return { id, mode: "pair", left, right, why, before, then: null };
}
