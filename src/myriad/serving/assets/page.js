"use strict";

// The page of a model: images are sent one request each, and every answer becomes a card.
// Text of the model or of a user is only ever put into the page as text, never as markup.

const AT_ONCE = 4; // requests under way at a time
const find = (selector, within = document) => within.querySelector(selector);
const state = { model: null, key: sessionStorage.getItem("key") || "", queue: [], running: 0 };
const pictures = new Map(); // class name -> promise of the address of its picture

// ---- requests

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (state.key) headers["X-API-Key"] = state.key;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new Error("The server cannot be reached.");
  }
  if (answer.status === 401) {
    await askForKey();
    return ask(path, options);
  }
  if (!answer.ok) {
    const content = await answer.json().catch(() => ({}));
    const error = new Error(content.error || `The server answered with status ${answer.status}.`);
    error.status = answer.status;
    throw error;
  }
  return answer;
}

// A name inside a sentence keeps its own direction of writing.
const isolate = (name) => `\u2068${name}\u2069`;

const askJson = async (path, options) => (await ask(path, options)).json();

function post(path, settings, blob) {
  const query = new URLSearchParams(Object.entries(settings).filter(([, value]) => value !== ""));
  const type = blob.type.startsWith("image/") ? blob.type : "application/octet-stream";
  return askJson(`${path}?${query}`, { method: "POST", body: blob, headers: { "Content-Type": type } });
}

let keyGiven = null;
function askForKey() {
  keyGiven ??= new Promise((resolve) => {
    const dialog = find("#key");
    dialog.addEventListener("close", () => {
      state.key = find("#key-text").value;
      sessionStorage.setItem("key", state.key);
      keyGiven = null;
      resolve();
    }, { once: true });
    find("#key-text").value = "";
    dialog.showModal();
  });
  return keyGiven;
}

// ---- the model

async function showModel() {
  const model = await askJson("model");
  state.model = model;
  document.title = `${model.name} - myriad`;
  find("#title").textContent = model.name;
  find("#about").textContent = `${model.classes.toLocaleString("en")} classes`;
  find("#coverage-field").hidden = !model.calibrated;
  if (!model.images) {
    find("#invitation").textContent = "This model takes rows of features, not images: use the API.";
    for (const control of document.querySelectorAll("#input button, #files")) control.disabled = true;
  }
}

function say(text, isError = false) {
  const status = find("#status");
  status.textContent = text;
  status.classList.toggle("error", isError);
}

// ---- images

function addFiles(files) {
  const images = [...files].filter((file) => file.type.startsWith("image/") || file.type === "");
  if (files.length && !images.length) say("These files are not images.", true);
  if (state.model && !state.model.images) return;
  for (const file of images) addCard(file);
  find("#clear").hidden = !find("#results").children.length;
  work();
}

function addCard(file) {
  const card = find("#card").content.cloneNode(true).firstElementChild;
  const photo = find(".photo", card);
  photo.src = URL.createObjectURL(file);
  photo.alt = file.name || "image";
  find(".name", card).textContent = file.name || "pasted image";
  photo.addEventListener("error", () => {
    photo.hidden = true;
    find(".name", card).textContent += " (no preview)"; // such as HEIC in most browsers
  });
  find(".remove", card).addEventListener("click", () => removeCard(card));
  find(".wrong", card).addEventListener("click", () => openCorrection(card));
  find(".hide-heat", card).addEventListener("click", () => hideHeat(card));
  find(".against", card).addEventListener("change", () => explain(card, card.explained));
  card.file = file;
  find("#results").prepend(card);
  state.queue.push(card);
}

function removeCard(card) {
  URL.revokeObjectURL(find(".photo", card).src);
  card.remove();
  find("#clear").hidden = !find("#results").children.length;
  find("#results").focus();
}

async function work() {
  if (state.running >= AT_ONCE) return;
  const card = state.queue.shift();
  if (!card) return;
  state.running += 1;
  work();
  if (card.isConnected) await predict(card);
  state.running -= 1;
  if (!state.running && !state.queue.length) say("");
  else say(`${state.queue.length + state.running} images to go`);
  work();
}

async function predict(card) {
  const verdict = find(".verdict", card);
  try {
    const settings = { k: find("#k").value, coverage: find("#coverage-field").hidden ? "" : find("#coverage").value };
    const answer = await retry(() => post("predict", settings, card.file));
    showPrediction(card, answer.predictions[0]);
  } catch (error) {
    verdict.textContent = error.message;
    verdict.classList.add("error");
  }
}

async function retry(request) {
  for (let wait = 500; ; wait *= 2) {
    try {
      return await request();
    } catch (error) {
      if (error.status !== 503 || wait > 8000) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

// ---- answers

function showPrediction(card, prediction) {
  card.prediction = prediction;
  const verdict = find(".verdict", card);
  verdict.classList.remove("error");
  verdict.classList.toggle("unknown", Boolean(prediction.unknown));
  verdict.textContent = prediction.unknown ? nameUnknown(prediction) : nameAnswer(prediction);
  const list = find(".labels", card);
  list.replaceChildren(...prediction.labels.map((entry) => makeLabel(card, entry)));
  showSet(card, prediction);
  const against = find(".against", card);
  const options = prediction.labels.map(({ label }) => new Option(label, label));
  against.replaceChildren(new Option("(any other)", ""), ...options);
  find(".wrong", card).hidden = !state.model.feedback;
}

function nameUnknown({ novelty }) {
  return novelty === undefined ? "Unknown: no class has enough confidence" : "Unknown: unlike all classes of the model";
}

// Where images may have several labels, those above their thresholds; else the best one.
function nameAnswer({ assigned, labels }) {
  return assigned ? assigned.map(isolate).join(", ") || "No label" : labels[0].label;
}

function makeLabel(card, entry) {
  const item = find("#label").content.cloneNode(true).firstElementChild;
  const { labels } = card.prediction;
  const scores = labels.map(({ score }) => score);
  const low = Math.min(...scores), high = Math.max(...scores);
  const known = entry.probability !== undefined;
  const share = known ? entry.probability : (entry.score - low) / (high - low || 1) * 0.95 + 0.05;
  find(".class", item).textContent = entry.label;
  find(".value", item).textContent = known ? showPercent(entry.probability) : entry.score.toFixed(2);
  find(".value", item).title = `score ${entry.score.toFixed(3)}`;
  find(".bar span", item).style.width = `${100 * share}%`;
  const why = find(".explain", item);
  why.setAttribute("aria-label", `Why ${entry.label}? Show the parts of the image`);
  why.addEventListener("click", () => {
    if (why.ariaPressed === "true") hideHeat(card);
    else explain(card, entry.label);
  });
  why.dataset.label = entry.label;
  showPicture(find(".thumb", item), entry.label);
  return item;
}

function showPercent(probability) {
  if (probability > 0 && probability < 0.001) return "< 0.1 %";
  return `${(100 * probability).toFixed(1)} %`;
}

function showSet(card, prediction) {
  const line = find(".set", card);
  const { set, coverage } = prediction;
  line.hidden = !set;
  if (!set) return;
  const names = set.map((entry) => entry.label ?? entry);
  const listed = names.slice(0, 10).map(isolate).join(", ") + (names.length > 10 ? ` and ${names.length - 10} more` : "");
  const wanted = coverage ?? Number(find("#coverage").value);
  line.textContent = `Prediction set (${Math.round(100 * wanted)} % coverage): ${listed || "no class"}`;
  for (const item of find(".labels", card).children) {
    item.classList.toggle("inside", names.includes(find(".class", item).textContent));
  }
}

async function showPicture(frame, label) {
  if (!pictures.has(label)) {
    if (pictures.size > 2000) pictures.clear();
    pictures.set(label, ask(`picture?${new URLSearchParams({ label })}`)
      .then(async (answer) => (answer.status === 204 ? null : URL.createObjectURL(await answer.blob())))
      .catch(() => null));
  }
  const address = await pictures.get(label);
  if (!address) return;
  const image = new Image();
  image.alt = `a training picture of ${label}`;
  image.src = address;
  frame.replaceChildren(image);
}

// ---- why this class

async function explain(card, label) {
  const heat = find(".heat", card);
  card.explained = label;
  const chosen = find(".against", card).value;
  const against = chosen === label ? "" : chosen;
  say("Explaining …");
  try {
    const answer = await post("explain", { label, against }, card.file);
    heat.src = answer.heatmap;
    heat.hidden = false;
    heat.alt = `heat map: evidence for ${label}${against ? ` and not ${against}` : ""}`;
    find(".why", card).hidden = false;
    for (const button of card.querySelectorAll(".explain")) {
      button.setAttribute("aria-pressed", String(button.dataset.label === label));
    }
    say(`Red parts of the image support ${isolate(label)}${against ? ` and not ${isolate(against)}` : ""}, blue parts oppose it.`);
  } catch (error) {
    say(error.message, true);
  }
}

function hideHeat(card) {
  find(".heat", card).hidden = true;
  find(".why", card).hidden = true;
  for (const button of card.querySelectorAll(".explain")) button.setAttribute("aria-pressed", "false");
  say("");
}

// ---- the right label

let corrected = null;
let searches = 0;

function openCorrection(card) {
  corrected = card;
  find("#search").value = "";
  find("#correction").showModal();
  search();
}

async function search() {
  const turn = (searches += 1);
  find("#found").ariaBusy = "true"; // until then the list is that of an earlier text
  const q = find("#search").value;
  const answer = await askJson(`classes?${new URLSearchParams({ q, limit: 20 })}`).catch(() => null);
  if (!answer || turn !== searches) return; // a later search has been started
  const items = answer.classes.map(({ label, number }) => {
    const item = document.createElement("li");
    item.role = "option";
    item.id = `class-${number}`;
    item.textContent = label;
    item.dir = "auto";
    item.addEventListener("click", () => correct(label));
    return item;
  });
  find("#found").replaceChildren(...items);
  find("#found").ariaBusy = "false";
  const shown = answer.classes.length;
  find("#found-count").textContent = shown ? `${shown} of ${answer.total.toLocaleString("en")} classes shown` : "No class has this name.";
  select(0);
}

function select(step) {
  const items = [...find("#found").children];
  if (!items.length) return find("#search").removeAttribute("aria-activedescendant");
  const now = items.findIndex((item) => item.ariaSelected === "true");
  const next = (Math.max(now, 0) + step + items.length) % items.length;
  items.forEach((item, i) => { item.ariaSelected = String(i === next); });
  items[next].scrollIntoView({ block: "nearest" });
  find("#search").setAttribute("aria-activedescendant", items[next].id);
}

async function correct(label) {
  const card = corrected;
  find("#correction").close();
  try {
    await post("feedback", { label }, card.file);
    const button = find(".wrong", card);
    button.disabled = true;
    button.textContent = `Saved as ${label}`;
    say(`The image is saved as ${isolate(label)}.`);
  } catch (error) {
    say(error.message, true);
  }
}

// ---- the camera

let stream = null;

async function openCamera() {
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
  } catch {
    say("No camera is available to this page.", true);
    return;
  }
  const video = find("#video");
  video.srcObject = stream;
  find("#camera").showModal();
  await video.play();
}

function shoot() {
  const video = find("#video");
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  canvas.toBlob((blob) => addFiles([new File([blob], "camera.jpg", { type: "image/jpeg" })]), "image/jpeg", 0.92);
}

function closeCamera() {
  stream?.getTracks().forEach((track) => track.stop());
  stream = null;
}

// ---- events

find("#files").addEventListener("change", (event) => {
  addFiles(event.target.files);
  event.target.value = "";
});
find("#settings").addEventListener("submit", (event) => event.preventDefault());
find("#settings").addEventListener("change", () => {
  for (const card of find("#results").children) if (!state.queue.includes(card)) state.queue.push(card);
  work();
});
find("#clear").addEventListener("click", () => {
  state.queue.length = 0;
  for (const card of [...find("#results").children]) removeCard(card);
});
document.addEventListener("paste", (event) => addFiles(event.clipboardData.files));
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    find("#input").classList.toggle("over", name === "dragover");
    if (name === "drop") addFiles(event.dataTransfer.files);
  });
}
find("#open-camera").addEventListener("click", openCamera);
find("#shoot").addEventListener("click", () => { shoot(); find("#camera").close(); });
find("#camera").addEventListener("close", closeCamera);
for (const button of document.querySelectorAll("dialog .close")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
find("#search").addEventListener("input", search);
find("#search").addEventListener("keydown", (event) => {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) select(steps[event.key]);
  else if (event.key === "Enter") find("#found[aria-busy=false] [aria-selected=true]")?.click();
  else return;
  event.preventDefault();
});

showModel().catch((error) => say(error.message, true));
