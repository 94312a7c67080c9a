/* The server's answers. */

async function ask(path, body, signal) {
  const answer = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    body,
    signal,
    headers: body === undefined ? {} : {"Content-Type": "application/yaml"}
  });
  const text = await answer.text();
  let json = {};
  try {
    json = JSON.parse(text);
  } catch (e) {
    json = {text};
  }
  if (!answer.ok)
    throw Object.assign(
        new Error(json.error || (json.diagnostics || []).map(d => d.message).join("; ") || answer.statusText),
        {status: answer.status, diagnostics: json.diagnostics});
  return json;
}
/* Lines of progress, then the answer. */
async function askSlowly(path, body, signal, onProgress) {
  const answer = await fetch(path, {method: "POST", body, signal, headers: {"Content-Type": "application/yaml"}}),
        reader = answer.body.getReader(), decoder = new TextDecoder();
  let text = "", last = {};
  for (;;) {
    const {done, value} = await reader.read();
    text += decoder.decode(value || new Uint8Array(), {stream: !done});
    const lines = text.split("\n");
    text = done ? "" : lines.pop();
    for (const line of lines)
      if (line.trim()) {
        last = JSON.parse(line);
        if (last.progress) onProgress(last.progress);
      }
    if (done) break;
  }
  if (last.status === 200) return last.answer;
  const told = last.answer || last;
  throw Object.assign(
      new Error(told.error || (told.diagnostics || []).map(d => d.message).join("; ")),
      {diagnostics: told.diagnostics});
}
