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
    tip.textContent = next.dataset.runs;
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
  const copied = (table) => {
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(parts));
    const heads = [...table.tHead.rows[0].cells].map((head) => {
      const unit = text(head.querySelector(".unit"));
      const title = unit ? text(head).slice(0, -unit.length).trim() : text(head);
      return ["", ", low", ", high"].map((part) => title + part + (unit && ` (${unit})`));
    });
    const width = (place) => (rows.some((row) => row[place][1]) ? 3 : 1);
    const line = (row) => row.flatMap((cell, place) => cell.slice(0, width(place))).join("\t");
    return [heads, ...rows].map(line).join("\n");
  };
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
    tools.append(button, said);
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
  }

  // The contents, where they stand beside the text, show where in it the reader is.
  const contents = document.querySelector(".contents");
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
