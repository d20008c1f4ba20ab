// Dismisses an advice and restores it, by the API that the command uses.
"use strict";
(() => {
  let token = ""; // kept until the page is closed

  async function decide(form) {
    const { token: typed, ...decision } = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    if (typed || token) headers.Authorization = `Bearer ${typed || token}`;
    const path = `/api/advice/${form.dataset.decide}`;
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(decision) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${answer.error.what}; ${answer.error.what_now}`);
    token = typed || token;
    return answer;
  }

  function show(form, dismissal) {
    const isDismissed = form.dataset.decide === "dismiss";
    const advice = form.closest("li");
    const dismiss = advice.querySelector(".decision details");
    const undo = advice.querySelector(".undo");
    advice.classList.toggle("dismissed", isDismissed);
    dismiss.open = false;
    dismiss.hidden = isDismissed;
    undo.hidden = !isDismissed;
    (isDismissed ? undo.querySelector("button") : dismiss.querySelector("summary")).focus();
    const why = dismissal.why ? `: ${dismissal.why}` : "";
    return isDismissed ? `Dismissed until ${dismissal.until.slice(0, 10)}${why}` : "Shown again";
  }

  function enable() {
    for (const button of document.querySelectorAll("form[data-decide] button")) button.disabled = false;
  }
  enable();
  for (const name of ["htmx:afterSwap", "htmx:historyRestore"]) document.addEventListener(name, enable);

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-decide]")) return;
    event.preventDefault();
    const status = form.closest(".decision").querySelector("[role=status]");
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    status.classList.remove("bad");
    status.textContent = "saving …";
    try {
      status.textContent = show(form, await decide(form));
      for (const field of document.querySelectorAll("form[data-decide] input[name=token]")) field.value = token;
    } catch (error) {
      status.classList.add("bad");
      status.textContent = error instanceof TypeError ? "The collector does not answer." : error.message;
    } finally {
      button.disabled = false;
    }
  });
})();
