/* The script of covey studio.

   The page works without it: every form posts and leads to a page. The script spares the reload.
   It posts in the background, puts the answer in place, and keeps the focus and the scrolled place.
   It stores nothing and talks to nobody but its own server. */
"use strict";

const pieces = new Map(); // pictures that were asked for, by their address: promises of markup
const newest = new WeakMap(); // what each form posted last
let before = Promise.resolve(); // what was asked for before: pages come in the order of changes
let released = Promise.resolve(); // that the mouse button is not held down

/* Put the new page in place of the old one, or only some elements of it. */
function put(text, ids) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const here = document.activeElement;
  const focus = selector(here);
  const ends = here && "selectionStart" in here ? textEnds(here) : null;
  const open = [...document.querySelectorAll("details[open]")].map((one) => one.id).filter(Boolean);
  // A slider that is being moved stays; only what it means is read anew.
  const meant = focus && fresh.querySelector(focus)?.getAttribute("aria-valuetext");
  if (meant) here.setAttribute("aria-valuetext", meant);
  const drawn = new Map(); // old pictures stay until the new ones have come
  for (const one of document.querySelectorAll("[data-src][id]:not([data-every])"))
    drawn.set(one.id, one.innerHTML);
  const typed = [...document.querySelectorAll("[data-typed]")];
  const texts = typed.map((field) => [selector(field), field.value]);
  const sought = document.querySelector("[data-filters]")?.value;
  for (const id of ids) {
    const old = document.getElementById(id);
    const now = fresh.getElementById(id);
    if (old && now) old.replaceWith(document.adoptNode(now));
  }
  for (const [id, inside] of drawn) {
    const place = document.getElementById(id);
    if (place && !place.dataset.asked) place.innerHTML = inside;
  }
  document.title = fresh.title || document.title;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [which, text] of texts) {
    const field = which && document.querySelector(which);
    if (field) Object.assign(field, { value: text }).dataset.typed = "";
  }
  const again = focus && document.querySelector(focus);
  if (again && again !== document.activeElement) {
    again.focus({ preventScroll: true });
    if (ends && again.type === "text") again.setSelectionRange(...ends);
  }
  filter(sought);
  showStep();
  const told = document.querySelector("#main .told");
  if (told) document.getElementById("announce").textContent = told.textContent;
  load();
}

/* How to find an element again on the new page: by its id, or by its form and what it is called. */
function selector(here) {
  if (!here || here === document.body) return null;
  if (here.id) return `#${CSS.escape(here.id)}`;
  const attribute = (one, name) =>
    one?.hasAttribute(name) ? `[${name}="${CSS.escape(one.getAttribute(name))}"]` : "";
  const called = ["href", "name", "aria-label"].map((name) => attribute(here, name)).join("");
  const form = attribute(here.form, "action");
  return form || called ? `${form} ${here.localName}${called}` : null;
}

function textEnds(field) {
  try {
    return [field.selectionStart, field.selectionEnd];
  } catch {
    return null; // a field without text, such as a slider
  }
}

/* Post a form as it is now, once all that was posted before is answered. Otherwise "write" could
   overtake the title typed just before it, or an old page replace a newer one. */
function post(form, sender) {
  const body = new FormData(form, sender);
  newest.set(form, body);
  for (const field of form.elements) delete field.dataset.typed;
  form.setAttribute("aria-busy", "true");
  before = before.then(() => send(form, body));
}

/* Send a form and show the page that it leads to. */
async function send(form, body) {
  const ids = (form.dataset.swaps || "studio").split(" ");
  // A slider has been moved on: only its last place counts.
  const isOld = () => form.dataset.swaps && newest.get(form) !== body;
  try {
    if (isOld()) return;
    // Without a file, a form is sent as text, which is quicker to read.
    const sent = form.enctype === "multipart/form-data" ? body : new URLSearchParams(body);
    const answer = await fetch(form.action, { method: "POST", body: sent, redirect: "follow" });
    const text = await answer.text();
    await released;
    if (isOld()) return;
    const moved = new URL(answer.url).pathname !== location.pathname;
    const title = document.querySelector("h1")?.textContent;
    put(text, moved ? ["studio"] : ids);
    if (moved) history.pushState(null, "", answer.url);
    // Another step, or another table: begin at the top.
    if (moved || document.querySelector("h1")?.textContent !== title) {
      window.scrollTo(0, 0);
      document.getElementById("main")?.focus({ preventScroll: true });
    } else if (document.querySelector("#main > .told.bad")) {
      document.querySelector("#main > .told.bad").scrollIntoView({ block: "center" });
    }
  } catch {
    say("The studio does not answer. Was it ended in the terminal?");
  } finally {
    form.removeAttribute("aria-busy");
  }
}

function say(text) {
  document.getElementById("announce").textContent = text;
  const main = document.getElementById("main");
  if (!main || main.querySelector(".told.lost")) return;
  const told = document.createElement("p");
  told.className = "told bad lost";
  told.textContent = text;
  main.prepend(told);
}

/* A click is lost if its button is replaced between press and release. So pages wait for the release,
   but not long: some menus of the browser keep it for themselves. A slider moves while it is held. */
document.addEventListener("pointerdown", (event) => {
  if (event.target.type === "range") return;
  released = new Promise((wake) => {
    const later = () => setTimeout(wake); // the click comes first
    for (const end of ["pointerup", "pointercancel"])
      document.addEventListener(end, later, { once: true });
    setTimeout(wake, 1000);
  });
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.plain !== undefined) return;
  event.preventDefault();
  post(form, event.submitter);
});

/* A form that is live posts when something in it changes; while a slider moves, not too often. */
document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && form.dataset.live !== undefined && event.target.type !== "range") post(form);
});

/* What is typed stays when the page is put in place again, and is posted when the field is left. */
document.addEventListener("focusout", (event) => {
  const { form, dataset } = event.target;
  if (form && form.dataset.live !== undefined && dataset.typed !== undefined) post(form);
});

let moving = null;
document.addEventListener("input", (event) => {
  const field = event.target;
  if (["text", "number", "textarea"].includes(field.type)) field.dataset.typed = "";
  if (field.type !== "range" || !field.form || field.form.dataset.live === undefined) return;
  for (const shown of field.form.querySelectorAll(`output[for="${field.id}"]`))
    shown.textContent = field.value;
  clearTimeout(moving);
  moving = setTimeout(() => post(field.form), 40);
});

/* Pieces of the page that come later, once they are nearly in sight: a table may have many columns.
   Some come again and again, until the work is done. */
const near = new IntersectionObserver(
  (places) => {
    for (const { target, isIntersecting } of places)
      if (isIntersecting) {
        near.unobserve(target);
        piece(target);
      }
  },
  { rootMargin: "400px" },
);

function load() {
  for (const place of document.querySelectorAll("[data-src]")) {
    const every = place.dataset.every;
    if (place.dataset.asked) continue;
    place.dataset.asked = "yes";
    if (every) setTimeout(() => piece(place), Number(every));
    else if (pieces.has(place.dataset.src)) piece(place);
    else near.observe(place);
  }
  const page = document.querySelector("[data-page]");
  if (page && !page.dataset.asked) {
    page.dataset.asked = "yes";
    setTimeout(refresh, Number(page.dataset.every));
  }
}

function refresh() {
  before = before.then(async () => {
    try {
      const answer = await fetch(location.href);
      const text = await answer.text();
      await released;
      put(text, ["studio"]);
    } catch {
      say("The studio does not answer. Was it ended in the terminal?");
    }
  });
}

async function piece(place) {
  const address = place.dataset.src;
  if (!place.dataset.every) return picture(place, address);
  try {
    await new Promise((wake) => setTimeout(wake, 60));
    if (!place.isConnected) return; // the page has moved on
    const answer = await fetch(address);
    const text = await answer.text();
    await released;
    if (!place.isConnected) return;
    if (text === "reload") refresh();
    else put(text, [place.id, "line"]); // it may bring the figures of the moment, too
  } catch {
    say("The studio does not answer. Was it ended in the terminal?");
  }
}

/* What is around a picture may be put in place again while it is drawn: then it is for the new
   place, and nobody draws it twice. */
async function picture(place, address) {
  if (!pieces.has(address)) {
    await new Promise((wake) => setTimeout(wake, 60));
    if (!place.isConnected) return; // the page has moved on
    if (pieces.size > 400) pieces.clear();
    if (!pieces.has(address)) pieces.set(address, drawn(address));
  }
  const text = await pieces.get(address);
  if (text !== null && place.isConnected) place.innerHTML = text;
}

async function drawn(address) {
  try {
    const answer = await fetch(address);
    if (!answer.ok) pieces.delete(address); // ask again next time
    return await answer.text();
  } catch {
    pieces.delete(address);
    return null;
  }
}

/* Buttons that do something in the browser. */
document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copies]");
  if (copy) {
    const text = document.getElementById(copy.dataset.copies).textContent;
    await navigator.clipboard.writeText(text);
    document.getElementById("announce").textContent = "Copied.";
    copy.textContent = "Copied";
  }
  const print = event.target.closest("[data-prints]");
  if (print) document.getElementById(print.dataset.prints).contentWindow.print();
});

/* A field that leaves only what has a text in it. */
function filter(text) {
  const field = document.querySelector("[data-filters]");
  if (!field || text === undefined) return;
  field.value = text;
  for (const one of document.querySelectorAll("[data-filter]"))
    one.hidden = !one.dataset.filter.toLowerCase().includes(text.trim().toLowerCase());
}
document.addEventListener("input", (event) => {
  if (event.target.dataset.filters !== undefined) filter(event.target.value);
});

/* Values that are dragged onto another node of a tree: the same as choosing the node in the list. */
document.addEventListener("dragstart", (event) => {
  const value = event.target.closest?.("[data-drags]");
  if (value) event.dataTransfer.setData("application/x-covey", value.dataset.drags);
});
document.addEventListener("dragover", (event) => {
  if (event.target.closest?.("[data-takes]")) event.preventDefault();
});
document.addEventListener("drop", (event) => {
  const node = event.target.closest?.("[data-takes]");
  const value = event.dataTransfer.getData("application/x-covey");
  if (!node || !value) return;
  event.preventDefault();
  const form = document.getElementById(node.dataset.form);
  form.elements.value.value = value;
  form.elements.node.value = node.dataset.takes;
  post(form);
});

/* On a phone, the rail is a line that scrolls: show the step that is open. */
function showStep() {
  const step = document.querySelector(".rail [aria-current]");
  const rail = step?.closest(".rail");
  if (!rail) return;
  const [inner, outer] = [step.getBoundingClientRect(), rail.getBoundingClientRect()];
  rail.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

window.addEventListener("popstate", () => location.reload());
document.addEventListener("DOMContentLoaded", () => {
  showStep();
  load();
});
