// Where data comes from: the server that served this page, or what is embedded in a standalone file.

/** A request that was not answered: the message can be shown. `status` is 0 where no server was reached. */
export class RequestError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.name = "RequestError";
    this.status = status;
  }
}

/** The source of this page: embedded data, if there are any, or else the server. `t` words its own errors. */
export function makeSource(t, stored) {
  const element = document.getElementById("headwise-data");
  return element ? embeddedSource(JSON.parse(element.textContent), t) : liveSource(t, stored);
}

/** Data from the server. Each method takes a body and {signal}. */
export function liveSource(t, stored) {
  const ask = async (method, path, body, { signal, form } = {}) => {
    const headers = {};
    const key = stored.get("key");
    if (key) headers.Authorization = "Bearer " + key;
    if (body && !form) headers["Content-Type"] = "application/json";
    let answer;
    try {
      answer = await fetch(path, { method, headers, signal, body: form ?? (body && JSON.stringify(body)) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new RequestError(t("error.unreachable"));
    }
    if (!answer.ok) throw await refusal(answer, t);
    return answer;
  };
  const post = (path) => async (body, options) => (await ask("POST", path, body, options)).json();
  const get = (path) => async (options) => (await ask("GET", path, null, options)).json();
  return {
    live: true,
    languages: get("languages"),
    settings: get("frontend/settings"),
    models: async (options) => (await get("api/models")(options)).models,
    translate: post("api/translate"),
    words: post("api/words"),
    detect: async (body, options) =>
      post("detect")({ q: body.text, api_key: stored.get("key") || undefined }, options),
    suggest: (body, options) => post("suggest")({ ...body, api_key: stored.get("key") || undefined }, options),
    trace: post("api/inside/trace"),
    decode: post("api/inside/decode"),
    compare: post("api/inside/compare"),
    checkpoints: post("api/inside/checkpoints"),
    family: post("api/inside/family"),
    positions: post("api/inside/positions"),
    roles: post("api/inside/roles"),
    /** Long: `progress` receives each line but the last, which is the result. */
    importance: async (body, { signal, progress = () => {} } = {}) =>
      lastLine(await ask("POST", "api/inside/importance", body, { signal }), progress),
  };
}

/** Data of a standalone file: {opening, state, answers: {trace: [{body, answer}], ...}}. */
export function embeddedSource(data, t) {
  const answers = data.answers ?? {};
  const find = (method) => async (body = {}) => {
    const found = (answers[method] ?? []).find((each) => answersTo(each, body));
    if (!found) throw new RequestError(t("error.embedded"));
    return found.answer;
  };
  const methods = ["translate", "words", "detect", "suggest", "trace", "decode", "compare", "family", "positions",
    "importance"];
  const trace = find("trace");
  return {
    live: false,
    opening: { view: data.opening ?? "heads", values: data.state ?? {} },
    ...Object.fromEntries(methods.map((method) => [method, find(method)])),
    // Few files have them.
    checkpoints: answers.checkpoints && find("checkpoints"),
    languages: async () => data.languages ?? [],
    settings: async () => data.settings ?? {},
    models: async () => data.models ?? [],
    roles: async (body) => {
      const { roles, opening } = await trace(body);
      return { roles, opening, sentences: 1 };
    },
  };
}

/** Whether an embedded answer answers a request: a field that either leaves out may be anything, switches may not. */
function answersTo(each, body) {
  const switches = (of) => canonical(of.switches ?? {});
  if (switches(each.body) !== switches(body)) return false;
  return Object.entries(body).every(([key, value]) => {
    if (value == null || value === "" || key === "switches") return true;
    if (key === "translation") return value === (each.body.translation ?? each.answer.translation);
    if (key === "detail") return each.body.detail === value;
    return each.body[key] == null || canonical(each.body[key]) === canonical(value);
  });
}

/** JSON with sorted keys, without null. */
function canonical(value) {
  return JSON.stringify(value, (key, each) => {
    if (each === null || typeof each !== "object" || Array.isArray(each)) return each ?? undefined;
    return Object.fromEntries(Object.entries(each).filter(([, inner]) => inner != null).sort());
  });
}

async function refusal(answer, t) {
  let message = "";
  try {
    message = (await answer.json()).error;
  } catch { /* not from Headwise: a proxy's page */ }
  if (answer.status === 429) message = t("error.rate");
  return new RequestError(typeof message === "string" && message ? message : t("error.status", answer.status),
    answer.status);
}

async function lastLine(answer, progress) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let last = null;
  const take = (line) => {
    if (!line.trim()) return;
    if (last) progress(last);
    last = JSON.parse(line);
  };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    lines.forEach(take);
  }
  take(rest);
  if (last?.error) throw new RequestError(last.error, 500);
  return last;
}
