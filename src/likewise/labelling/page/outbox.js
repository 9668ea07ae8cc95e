// Answers on their way: each has a UUID of its own, is written down in the browser, and is sent, one batch after the other,
// until the server says that it is saved. The UUID stays the same, so an answer that is sent twice counts once.
// What a closed browser left unsent is sent when the page is opened again.

import * as api from "./api.js";

const WAIT = [300, 600, 1200, 2500, 5000]; // milliseconds before each further attempt

export class Outbox {
  // told: {waiting(sentence), saved(response), refused(sentence)}
  constructor(name, told) {
    this.name = `likewise.outbox.${name}.`;
    this.told = told;
    this.last = Promise.resolve();
    this.pending = 0;
  }

  // Sends the batches that an earlier page left behind.
  resend() {
    return this.batches().map((batch) => this.send(batch.mode, batch.events));
  }

  batches() {
    const batches = [];
    for (let i = 0; i < localStorage.length; i++) {
      const key = localStorage.key(i);
      if (key.startsWith(this.name)) batches.push(JSON.parse(localStorage.getItem(key)));
    }
    return batches.sort((a, b) => a.at - b.at);
  }

  // Resolves to the server's response once the events are saved, or to null where the server refuses them.
  send(mode, events) {
    const key = this.name + events[0].id;
    try {
      localStorage.setItem(key, JSON.stringify({ mode, events, at: Date.now() }));
    } catch {
      // A full or forbidden storage only means that a closed browser forgets what the server has not saved yet.
    }
    this.pending += 1;
    const sent = this.last
      .then(() => this.deliver(mode, events))
      .finally(() => {
        this.pending -= 1;
        localStorage.removeItem(key);
      });
    this.last = sent.catch(() => null);
    return sent;
  }

  async deliver(mode, events) {
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await api.answers(mode, events);
        this.told.saved(response, events);
        return response;
      } catch (error) {
        if (error instanceof api.Refusal && error.status !== 401) {
          this.told.refused(error.message);
          return null;
        }
        this.told.waiting(error);
        await new Promise((resume) => {
          const timer = setTimeout(resume, WAIT[Math.min(attempt, WAIT.length - 1)]);
          window.addEventListener("online", () => (clearTimeout(timer), resume()), { once: true });
        });
      }
    }
  }
}
