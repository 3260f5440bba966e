/* The class table (search, sort, pages) and the tips of the plots. All text goes in as text,
   never as markup. The state of the table is in the address, so that it can be linked to:
   #classes?q=rose&sort=top1&down=1&page=2 */
"use strict";
(() => {
  const PAGE = 25;
  /* name, train, n, percentages: as the head of the table states them; what it was taken for last */
  const KEYS = [...document.querySelectorAll("th[data-key]")].map((head) => head.dataset.key);
  const COLUMNS = Object.fromEntries(KEYS.map((key, i) => [key, i]));
  const PERCENTAGES = KEYS.slice(3);
  const find = (id) => document.getElementById(id);
  const state = { q: "", sort: "name", down: false, page: 1 };
  const table = find("class-data");  /* a report of a store has none */
  const rows = table ? JSON.parse(table.textContent) : [];
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "variant" });
  const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const folded = rows.map((row) => fold(row[COLUMNS.name]));
  const byName = rows.map((_, i) => i);
  byName.sort((a, b) => collator.compare(rows[a][0], rows[b][0]));
  const rank = new Array(rows.length);
  byName.forEach((row, place) => { rank[row] = place; });

  const showCount = (value) => value.toLocaleString("en");
  const showPercent = (value) => {
    if (value === null) return "–";
    if (value === 100) return "100";
    return Math.min(value, 99.9).toFixed(1);
  };

  function choose() {
    const query = fold(state.q.trim());
    const column = COLUMNS[state.sort];
    const sign = state.down ? -1 : 1;
    const chosen = byName.filter((i) => folded[i].includes(query));
    const exact = (i) => (query && rows[i][0] === state.q.trim() ? 0 : 1);
    chosen.sort((a, b) => {
      const first = exact(a) - exact(b);
      if (first) return first;
      if (state.sort === "name") return sign * (rank[a] - rank[b]);
      const [x, y] = [rows[a][column], rows[b][column]];
      if (x === null || y === null) return (x === null) - (y === null) || rank[a] - rank[b];
      return sign * (x - y) || rank[a] - rank[b];
    });
    return chosen;
  }

  function make(tag, kind, text) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function makeLink(name) {
    const link = make("a", "name", name);
    link.href = "#classes?q=" + encodeURIComponent(name);
    link.dir = "auto";
    return link;
  }

  function makeRow(row) {
    const line = make("tr");
    const head = make("th", "name", row[0]);
    head.scope = "row";
    head.dir = "auto";
    line.append(head, make("td", "right", showCount(row[1])), make("td", "right", showCount(row[2])));
    for (const key of PERCENTAGES) {
      const value = row[COLUMNS[key]];
      const cell = make("td", "right accuracy");
      cell.append(make("span", "", showPercent(value)));
      const meter = make("i", value === null ? "meter none" : "meter");
      const bar = make("i");
      bar.style.width = (value || 0) + "%";
      meter.append(bar);
      cell.append(meter);
      line.append(cell);
    }
    const taken = make("td", "taken-for");
    row[KEYS.length].forEach(([name, count], i) => {
      if (i) taken.append(", ");
      taken.append(makeLink(name), make("span", "times", "\u00a0×\u00a0" + showCount(count)));
    });
    line.append(taken);
    return line;
  }

  function draw() {
    const chosen = choose();
    const pages = Math.max(1, Math.ceil(chosen.length / PAGE));
    state.page = Math.min(Math.max(1, state.page), pages);
    const start = (state.page - 1) * PAGE;
    const shown = chosen.slice(start, start + PAGE).map((i) => makeRow(rows[i]));
    const body = find("class-table").tBodies[0];
    if (!shown.length) {
      const cell = make("td", "", rows.length ? "No class has this in its name." : "There are no classes.");
      cell.colSpan = KEYS.length + 1;
      shown.push(make("tr"));
      shown[0].append(cell);
    }
    body.replaceChildren(...shown);
    for (const head of document.querySelectorAll("th[data-key]")) {
      const current = head.dataset.key === state.sort;
      if (current) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    find("found").textContent = state.q
      ? showCount(chosen.length) + " of " + showCount(rows.length)
      : showCount(rows.length) + (rows.length === 1 ? " class" : " classes");
    const last = Math.min(start + PAGE, chosen.length);
    find("place").textContent = showCount(start + 1) + " to " + showCount(last) + " of " + showCount(chosen.length);
    find("previous").disabled = state.page === 1;
    find("next").disabled = state.page === pages;
    document.querySelector(".pager").hidden = pages === 1;
  }

  function writeAddress() {
    const query = new URLSearchParams();
    if (state.q) query.set("q", state.q);
    if (state.sort !== "name") query.set("sort", state.sort);
    if (state.down) query.set("down", "1");
    if (state.page > 1) query.set("page", state.page);
    try {
      history.replaceState(null, "", "#classes" + (String(query) ? "?" + query : ""));
    } catch (error) {
      /* some browsers refuse it for files; the table works all the same */
    }
  }

  function readAddress() {
    const [place, text] = location.hash.split(/\?(.*)/s);
    if (place !== "#classes" || text === undefined) return;
    const query = new URLSearchParams(text);
    state.q = query.get("q") || "";
    state.sort = Object.hasOwn(COLUMNS, query.get("sort")) ? query.get("sort") : "name";
    state.down = query.get("down") === "1";
    state.page = Number.parseInt(query.get("page"), 10) || 1;
    find("find").value = state.q;
    draw();
    find("classes").scrollIntoView();
  }

  function change(values) {
    Object.assign(state, { page: 1 }, values);
    draw();
    writeAddress();
  }

  function startTable() {
    find("class-table").hidden = false;
    document.querySelector(".controls").hidden = false;
    find("find").addEventListener("input", (event) => change({ q: event.target.value }));
    find("previous").addEventListener("click", () => change({ page: state.page - 1 }));
    find("next").addEventListener("click", () => change({ page: state.page + 1 }));
    for (const head of document.querySelectorAll("th[data-key]")) {
      head.firstElementChild.addEventListener("click", () => {
        const sort = head.dataset.key;
        change({ sort, down: sort === state.sort ? !state.down : false });
      });
    }
    window.addEventListener("hashchange", readAddress);
    draw();
    readAddress();
  }

  function startTips() {
    const tip = find("tip");
    const hide = () => { tip.hidden = true; };
    document.addEventListener("pointerover", (event) => {
      const mark = event.target.closest("[data-tip]");
      if (!mark) return hide();
      tip.textContent = mark.dataset.tip;
      tip.hidden = false;
      const box = mark.getBoundingClientRect();
      const left = box.left + box.width / 2 - tip.offsetWidth / 2;
      const room = document.documentElement.clientWidth - tip.offsetWidth - 6;
      const above = box.top - tip.offsetHeight - 8;
      tip.style.left = Math.max(6, Math.min(left, room)) + "px";
      tip.style.top = (above > 4 ? above : box.bottom + 8) + "px";
    });
    document.addEventListener("scroll", hide, { passive: true });
  }

  if (table) startTable();
  startTips();
})();
