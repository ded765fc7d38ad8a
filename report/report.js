// What paper cannot: a number shows its runs, a table is sorted and copied. Without this script
// a number's title names its runs, and it links to them all the same.
"use strict";
(() => {
  const made = (tag, fields) => Object.assign(document.createElement(tag), fields);
  // As a spreadsheet reads it: no space between groups of digits, a minus that is a hyphen.
  const text = (node) =>
    (node?.textContent ?? "").replace(/\u202f/g, "").replace(/\u2212/g, "-").replace(/\s+/g, " ").trim();

  // The runs of a number: one tip for all of them.
  const tip = made("div", { id: "runs-of-a-number", role: "tooltip", hidden: true });
  document.querySelector("main").append(tip);
  let link = null;
  let soon;
  // The lines of the table of runs that a number leads to, each with its record's file.
  const MOST_LINES = 6;
  const rowsOf = (hash) => {
    const place = document.getElementById(hash.slice(1));
    const all = place?.tagName === "TR" ? [place] : [...(place?.querySelectorAll("a") ?? [])];
    return all.map((one) => (one.tagName === "TR" ? one : document.getElementById(one.hash.slice(1))));
  };
  const linesOf = (hash) => {
    const lines = made("table", {});
    for (const row of rowsOf(hash).filter(Boolean).slice(0, MOST_LINES)) {
      const [run, , , status, workers, , batch] = [...row.cells].map(text);
      const line = lines.insertRow();
      const name = made("a", { href: `#${row.id}`, textContent: run });
      line.insertCell().append(name);
      for (const words of [`N ${workers}, b ${batch}`, status, `runs/${run}/record.json`]) {
        line.insertCell().textContent = words;
      }
    }
    return lines.rows.length ? [lines] : [];
  };
  const hide = () => {
    link?.removeAttribute("aria-describedby");
    link = null;
    tip.hidden = true;
  };
  const show = (next) => {
    if (next === link) return;
    hide();
    if (next.title) {
      next.dataset.runs = next.title; // else the browser shows its own tip beside this one
      next.removeAttribute("title");
    }
    tip.replaceChildren(made("div", { textContent: next.dataset.runs }), ...linesOf(next.hash));
    tip.hidden = false;
    tip.style.left = 0; // its width must not depend on where it was
    const number = (next.closest("td") ?? next).getBoundingClientRect(); // not over its interval
    const right = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const above = number.bottom + tip.offsetHeight > innerHeight;
    tip.style.left = `${scrollX + Math.max(8, Math.min(number.left, right))}px`;
    tip.style.top = `${scrollY + (above ? number.top - tip.offsetHeight : number.bottom)}px`;
    next.setAttribute("aria-describedby", tip.id);
    link = next;
  };
  const numberAt = (event) => event.target.closest("a.measured");
  document.addEventListener("focusin", (event) => (numberAt(event) ? show(numberAt(event)) : hide()));
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("pointerover", (event) => {
    clearTimeout(soon); // a moment's rest shows it, and the way from the number to the tip keeps it
    const next = numberAt(event) ?? event.target.closest("td")?.querySelector("a.measured");
    if (tip.contains(event.target)) return;
    soon = setTimeout(() => (next ? show(next) : link === document.activeElement || hide()), 150);
  });

  // From the runs there is a way back to the number that led there.
  const back = made("button", { type: "button", className: "back", textContent: "Back to the number", hidden: true });
  document.body.append(back);
  let left = null;
  document.addEventListener("click", (event) => {
    const from = numberAt(event) ?? (tip.contains(event.target) && event.target.closest("a") ? link : null);
    if (!from) return;
    left = from;
    back.hidden = false;
    hide();
  });
  back.addEventListener("click", () => {
    back.hidden = true;
    left.closest("details")?.setAttribute("open", "");
    left.scrollIntoView({ block: "center" });
    left.focus({ preventScroll: true });
  });

  // A table is one stop of the tabulator; arrows go from number to number within it.
  const makeOneStop = (table) => {
    const numbers = [...table.tBodies[0].querySelectorAll("a")];
    for (const one of numbers.slice(1)) one.tabIndex = -1;
    table.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = numbers[numbers.indexOf(event.target) + step];
      if (!next || !numbers.includes(event.target)) return;
      event.preventDefault();
      next.focus();
    });
  };

  // A column is sorted by the values of its cells, where they have them; what is unknown is last.
  const sorted = (rows, place, down) => {
    const numbers = rows[0].closest("table").tHead.rows[0].cells[place].classList.contains("number");
    const key = (row) => {
      const own = row.cells[place].dataset.value ?? text(row.cells[place]).replace(/^–$/, "");
      return numbers && Number.isNaN(Number(own)) ? "" : own;
    };
    const known = rows.filter(key);
    const numeric = known.every((row) => !Number.isNaN(Number(key(row))));
    const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, "en", { numeric: true }));
    known.sort((a, b) => (down ? -1 : 1) * compare(key(a), key(b)));
    return [...known, ...rows.filter((row) => !key(row))];
  };
  const makeSortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows];
    const next = { null: "ascending", ascending: "descending", descending: null };
    heads.forEach((head, place) => {
      if (!rows.some((row) => text(row.cells[place]))) return; // pictures
      const button = made("button", { type: "button", className: "sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const way = next[head.getAttribute("aria-sort")];
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (way) head.setAttribute("aria-sort", way);
        table.tBodies[0].append(...(way ? sorted(rows, place, way === "descending") : rows));
      });
    });
  };

  // Tabs between columns, units in the heads, the ends of an interval in columns of their own.
  const parts = (cell) => {
    const interval = text(cell.querySelector(".interval"));
    const ends = interval.split(" to ");
    return ends.length === 2 ? [text(cell).slice(0, -interval.length).trim(), ...ends] : [text(cell), "", ""];
  };
  const cellsOf = (table) => {
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(parts));
    const heads = [...table.tHead.rows[0].cells].map((head) => {
      const unit = text(head.querySelector(".unit"));
      const title = unit ? text(head).slice(0, -unit.length).trim() : text(head);
      return ["", ", low", ", high"].map((part) => title + part + (unit && ` (${unit})`));
    });
    const width = (place) => (rows.some((row) => row[place][1]) ? 3 : 1);
    return [heads, ...rows].map((row) => row.flatMap((cell, place) => cell.slice(0, width(place))));
  };
  const copied = (table) => cellsOf(table).map((row) => row.join("\t")).join("\n");
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  const asCsv = (table) => cellsOf(table).map((row) => row.map(quoted).join(",") + "\r\n").join("");
  const toClipboard = async (words) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(words);
    // A page from a server without TLS has no other way.
    const give = (event) => (event.clipboardData.setData("text/plain", words), event.preventDefault());
    document.addEventListener("copy", give, { once: true });
    document.execCommand("copy");
  };
  const makeCopyable = (table) => {
    const button = made("button", { type: "button", textContent: "Copy the table" });
    const said = made("span", { role: "status" });
    const tools = made("div", { className: "tools" });
    const name = text(table.caption?.querySelector("b")).toLowerCase().replace(/\W+/g, "-");
    const save = made("a", { textContent: "Save as CSV", download: `${name.replace(/-$/, "") || "runs"}.csv`, href: "#" });
    save.addEventListener("click", () => {
      save.href = `data:text/csv;charset=utf-8,${encodeURIComponent(asCsv(table))}`;
    });
    tools.append(button, save, said);
    table.after(tools);
    button.addEventListener("click", async () => {
      await toClipboard(copied(table));
      said.textContent = "Copied";
      setTimeout(() => (said.textContent = ""), 2000);
    });
  };
  for (const table of document.querySelectorAll("table")) {
    if (table.tBodies[0].rows.length > 1) makeSortable(table);
    makeCopyable(table);
    makeOneStop(table);
  }

  // The contents, where they stand beside the text, show where in it the reader is.
  const contents = document.querySelector(".contents");
  // Where they do not stand beside it they are a bar that opens, and closes where a link leads away.
  const beside = matchMedia("(min-width: 76rem)");
  const folds = contents.querySelector("details");
  const fold = () => {
    contents.classList.add("bar");
    if (folds) folds.open = beside.matches;
  };
  fold();
  beside.addEventListener("change", fold);
  contents.addEventListener("click", (event) => event.target.closest("a") && fold());
  const places = new Map();
  const reading = new IntersectionObserver((seen) => {
    const at = places.get(seen.find((one) => one.isIntersecting)?.target);
    if (!at) return;
    contents.querySelector("[aria-current]")?.removeAttribute("aria-current");
    at.setAttribute("aria-current", "true");
    contents.scrollTop = at.offsetTop - contents.clientHeight / 2;
  }, { rootMargin: "0px 0px -80% 0px" });
  for (const at of contents.querySelectorAll("li:not(:has(li)) > a")) {
    places.set(document.getElementById(at.hash.slice(1)), at);
  }
  for (const place of places.keys()) reading.observe(place);

  // Printed is what is folded too.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
})();
