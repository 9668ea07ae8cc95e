// The server's side: JSON over the same origin. What the server refuses is a Refusal with its sentence;
// a server that does not answer is Unreachable, and worth another attempt.

export class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export class Unreachable extends Error {}

async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Unreachable("The server does not answer.");
  }
  let content;
  try {
    content = await response.json();
  } catch {
    content = {};
  }
  if (response.ok) return content;
  const sentence =
    typeof content.detail === "string" ? content.detail : `The server refused this (${response.status}).`;
  if (response.status >= 500 || response.status === 429 || response.status === 408) throw new Unreachable(sentence);
  throw new Refusal(response.status, sentence);
}

const get = (path) => call(path);
const post = (path, content) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });

export const session = () => get("/api/session");
export const question = (mode) => get(`/api/question?mode=${mode}`);
export const answers = (mode, events) => post("/api/answers", { mode, answers: events });
export const history = () => get("/api/history?limit=60");
export const progress = () => get("/api/progress");
export const group = (id) => get(`/api/groups/${id}?limit=60`);
export const changeGroup = (id, change) => post(`/api/groups/${id}`, change);
export const mergeGroups = (a, b) => post("/api/groups/merge", { a, b });
export const contradictions = () => get("/api/contradictions");
export const learn = () => post("/api/learn", {});
export const learning = () => get("/api/learn");
export const imageAddress = (item, width) => `/api/items/${encodeURIComponent(item.id)}/image?width=${width}`;

// Repeats a call until the server answers.
export async function patiently(request, waiting) {
  for (let wait = 300; ; wait = Math.min(5000, wait * 2)) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      waiting?.(error);
      await new Promise((resume) => setTimeout(resume, wait));
    }
  }
}
