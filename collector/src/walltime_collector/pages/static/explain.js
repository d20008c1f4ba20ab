// Asks a database for the plan of a statement, by the API that the command uses.
"use strict";
(() => {
  async function explain(form) {
    const token = new FormData(form).get("token");
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(`/api/statements/${form.dataset.explain}/plan`, { method: "POST", headers, body: "{}" });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${answer.error.what}; ${answer.error.what_now}`);
    return answer.plan;
  }

  function text(plan) {
    const where = plan.database ? `${plan.server}, ${plan.database}` : plan.server;
    const lines = plan.lines.map((line) => "  ".repeat(line.depth) + line.text);
    return [`now, on ${where}`, ...(plan.changed ? [plan.changed] : []), ...lines].join("\n");
  }

  function enable() {
    for (const button of document.querySelectorAll("form[data-explain] button")) button.disabled = false;
  }
  enable();
  for (const name of ["htmx:afterSwap", "htmx:historyRestore"]) document.addEventListener(name, enable);

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-explain]")) return;
    event.preventDefault();
    const status = form.querySelector("[role=status]");
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    status.classList.remove("bad");
    status.textContent = "asking …";
    try {
      status.textContent = text(await explain(form));
    } catch (error) {
      status.classList.add("bad");
      status.textContent = error instanceof TypeError ? "The collector does not answer." : error.message;
    } finally {
      button.disabled = false;
    }
  });
})();
