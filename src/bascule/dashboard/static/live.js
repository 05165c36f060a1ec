// Keeps a page true while it is looked at: hears what has changed, asks for the page again, and puts the new parts in the
// place of the old. Every text comes from the server as a page does, escaped there; none is made here.
(function () {
  "use strict";

  const root = document.body.dataset.root;
  const status = document.getElementById("live");
  const detail = document.getElementById("detail");

  // ---- the theme

  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");

  function chosenTheme() {
    return document.documentElement.dataset.theme || "system";
  }

  function showTheme() {
    button.textContent = chosenTheme();
    button.setAttribute("aria-label", "Theme: " + chosenTheme() + ". Change it");
  }

  button.hidden = false;
  button.addEventListener("click", function () {
    const next = themes[(themes.indexOf(chosenTheme()) + 1) % themes.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try { localStorage.setItem("bascule-theme", next); } catch { /* for this page only, then */ }
    showTheme();
  });
  showTheme();

  // ---- new parts in the place of old ones

  const told = new WeakMap(); // what the server last said of a part: what was done to it here since is no news
  let pressed = false, missed = new Set();

  // What somebody marks or presses stays under their hand until they are done with it.
  function busy(section) {
    const selection = document.getSelection();
    return pressed || (selection && !selection.isCollapsed && section.contains(selection.anchorNode));
  }

  function makeUp() {
    if (pressed || !missed.size) return;
    const topics = missed;
    missed = new Set();
    refresh(topics);
  }

  document.addEventListener("pointerdown", function () { pressed = true; }, true);
  for (const ending of ["pointerup", "pointercancel"]) {
    // After the click that comes of it.
    document.addEventListener(ending, () => setTimeout(function () { pressed = false; makeUp(); }, 0), true);
  }
  document.addEventListener("selectionchange", function () { if (document.getSelection().isCollapsed) makeUp(); });

  function kept(section) {
    const active = section.contains(document.activeElement) ? document.activeElement.id : "";
    const open = [...section.querySelectorAll("details[open][id]")].map((each) => each.id);
    const ticked = [...section.querySelectorAll("input:checked[id]")].map((each) => each.id);
    return { active, open, ticked };
  }

  function restore(state) {
    for (const id of state.open) document.getElementById(id)?.setAttribute("open", "");
    for (const id of state.ticked) { const box = document.getElementById(id); if (box) box.checked = true; }
    if (state.active) document.getElementById(state.active)?.focus({ preventScroll: true });
  }

  function replace(section, fresh) {
    const said = fresh.innerHTML;
    if (told.get(section) === said) return;
    if (busy(section)) {
      for (const topic of section.dataset.live.split(" ")) missed.add(topic);
      return;
    }
    told.set(section, said);
    const state = kept(section);
    const known = new Set([...section.querySelectorAll("a.call")].map((each) => each.id));
    for (const each of fresh.querySelectorAll("a.call")) {
      told.set(each.parentElement, each.outerHTML);
      if (known.size && !known.has(each.id)) each.classList.add("new");
    }
    put(section, document.adoptNode(fresh));
    restore(state);
    toTheEnd(section);
  }

  // What is the same stays where it is: hundreds of rows that are made anew for the sake of one make scrolling stutter.
  function put(section, fresh) {
    const old = [...section.children], made = [...fresh.children];
    const alike = old.length === made.length && old.every((each, at) =>
      each.tagName === made[at].tagName && each.className === made[at].className);
    if (!alike) { section.replaceChildren(...fresh.childNodes); return; }
    old.forEach(function (each, at) {
      if (each.matches("ol.calls:not(.going)")) putRows(each, made[at]);
      else if (!each.isEqualNode(made[at])) each.replaceWith(made[at]);
    });
  }

  function putRows(list, fresh) {
    const old = new Map([...list.children].map((row) => [told.get(row), row]));
    const wanted = [...fresh.children].map((row) => old.get(told.get(row)) || row);
    const stay = new Set(wanted);
    for (const row of [...list.children]) if (!stay.has(row)) row.remove();
    wanted.forEach(function (row, at) {
      if (list.children[at] !== row) list.insertBefore(row, list.children[at] || null);
    });
  }

  function toTheEnd(within) {
    for (const log of within.querySelectorAll("pre.log")) log.scrollTop = log.scrollHeight;
  }

  let asking = false, again = new Set(), last = 0;
  const least = 400; // milliseconds between two looks: eyes want no more, and a busy gateway has other work

  async function refresh(topics) {
    for (const topic of topics) again.add(topic);
    if (asking || !again.size) return;
    asking = true;
    await new Promise((done) => setTimeout(done, Math.max(0, last + least - Date.now())));
    const wanted = again;
    again = new Set();
    try {
      const stale = [...document.querySelectorAll("[data-live]")].filter((section) =>
        wanted.has("all") || section.dataset.live.split(" ").some((topic) => wanted.has(topic)));
      if (stale.length) await fetchParts(stale);
    } finally {
      last = Date.now();
      asking = false;
    }
    if (again.size) refresh([]);
  }

  async function fetchParts(sections) {
    let answer;
    try {
      answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    } catch {
      for (const section of sections) for (const topic of section.dataset.live.split(" ")) again.add(topic);
      return; // gone for now: the stream says so, and asks again when it is back
    }
    if (answer.status === 401) return signedOut();
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const section of sections) {
      const fresh = page.getElementById(section.id);
      if (fresh) replace(section, fresh);
    }
  }

  // ---- the stream of news

  let stream = null, waiting = 0, pause = 500, out = false;

  function say(state, words) {
    if (status.dataset.state === state) return;
    status.dataset.state = state;
    status.textContent = words;
  }

  function signedOut() {
    out = true;
    close();
    say("away", "closed: open it anew");
  }

  function close() {
    clearTimeout(waiting);
    if (stream) stream.close();
    stream = null;
  }

  function open() {
    if (stream || document.hidden || out) return;
    stream = new EventSource(root + "/events");
    stream.onopen = function () {
      pause = 500;
      say("live", "live");
      // What happened since the page was made, and before anybody listened, no news will tell.
      refresh(["all"]);
    };
    stream.addEventListener("news", function (event) {
      const news = JSON.parse(event.data);
      refresh(news.reload ? ["all"] : news.topics);
    });
    stream.onerror = function () {
      say("away", "away: trying again");
      // A browser comes back by itself after some failures and not after others. This does after all of them.
      close();
      waiting = setTimeout(comeBack, pause);
      pause = Math.min(pause * 2, 4000);
    };
  }

  async function comeBack() {
    try {
      const answer = await fetch(root, { method: "HEAD" });
      if (answer.status === 401) return signedOut();
    } catch { /* still away */ }
    open();
  }

  // A browser has six connections to one host: tabs that nobody sees leave theirs to others.
  document.addEventListener("visibilitychange", function () {
    if (document.hidden) { close(); return; }
    open();
    refresh(["all"]);
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", function (event) { if (event.persisted) { open(); refresh(["all"]); } });

  // ---- details beside the list

  let opener = "";

  async function show(link) {
    opener = link.id;
    let answer;
    try { answer = await fetch(link.href); } catch { return; }
    if (!answer.ok) { location.href = link.href; return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const article = page.getElementById("call");
    if (!article) { location.href = link.href; return; }
    const shut = document.createElement("button");
    shut.type = "button";
    shut.className = "shut";
    shut.textContent = "Close";
    shut.addEventListener("click", () => detail.close());
    detail.replaceChildren(shut, document.adoptNode(article));
    if (!detail.open) detail.showModal();
  }

  detail.addEventListener("close", function () {
    detail.replaceChildren();
    document.getElementById(opener)?.focus();
  });
  detail.addEventListener("click", function (event) { if (event.target === detail) detail.close(); });

  document.addEventListener("click", function (event) {
    const link = event.target.closest("a.call");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    show(link);
  });

  // ---- keys

  function move(step) {
    const links = [...document.querySelectorAll("a.call")];
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? links[0] : links[links.length - 1]) : links[at + step];
    if (next) next.focus();
    return Boolean(next) || at >= 0;
  }

  const steps = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

  document.addEventListener("keydown", function (event) {
    if (event.metaKey || event.ctrlKey || event.altKey || detail.open) return;
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" && typing) { event.target.blur(); return; }
    if (typing) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("q").select();
    } else if (event.key in steps) {
      // Arrows scroll, unless somebody is in the list.
      const arrow = event.key.startsWith("Arrow");
      if (arrow && !document.activeElement?.classList.contains("call")) return;
      if (move(steps[event.key])) event.preventDefault();
    }
  });

  // ---- time that is left to answer

  setInterval(function () {
    for (const each of document.querySelectorAll("time[data-until]")) {
      const left = Math.max(0, Math.round(Number(each.dataset.until) - Date.now() / 1000));
      each.textContent = each.textContent.replace(/( \(in \d+ s\))?$/, " (in " + left + " s)");
    }
  }, 1000);

  // ---- calls that have not ended yet go on while one looks

  const seen = new WeakMap(); // when each was put on the page, and how long it had taken by then
  const across = 1000, shortest = 3;

  function took(seconds) {
    if (seconds < 100) return seconds.toFixed(1) + " s";
    return seconds < 6000 ? Math.round(seconds / 60) + " min" : (seconds / 3600).toFixed(1) + " h";
  }

  function grow() {
    const now = performance.now();
    for (const row of document.querySelectorAll(".going .call")) {
      if (!seen.has(row)) seen.set(row, { since: now, seconds: Number(row.dataset.seconds) });
      const first = seen.get(row);
      const seconds = first.seconds + (now - first.since) / 1000;
      row.querySelector(".took").textContent = took(seconds);
      let scale = 10;
      while (seconds > scale) scale *= 2;
      for (const bar of row.querySelectorAll("rect")) {
        const start = Number(bar.dataset.start);
        const length = bar.dataset.took === undefined ? seconds - start : Number(bar.dataset.took);
        bar.setAttribute("x", (across * start / scale).toFixed(1));
        bar.setAttribute("width", Math.max(shortest, across * length / scale).toFixed(1));
      }
    }
  }

  setInterval(function () { if (!document.hidden) grow(); }, 200);

  for (const section of document.querySelectorAll("[data-live]")) told.set(section, section.innerHTML);
  for (const each of document.querySelectorAll("a.call")) told.set(each.parentElement, each.outerHTML);
  toTheEnd(document);
  open();
})();
