// @ts-check
// The overview at once, from the head alone; the records when the whole file is there.

const embedded = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("head")).textContent || "{}");

/** @param {Element} place */
const failing = (place) => (error) => append(place, [h("p", { class: "card failure", role: "alert" }, `The records cannot be read: ${error.message}`)]);

if (embedded.live === true) {
  served().catch(failing(document.body));
} else {
  const app = new App(new Data(embedded));
  const read = () => app.read().catch(failing(app.main));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", read);
  else read();
}
