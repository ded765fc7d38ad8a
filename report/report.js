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
  const ends = (cell) => {
    const both = text(cell.querySelector(".interval")).split(" to ");
    return both.length === 2 ? both : null;
  };
  const copied = (table) => {
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells]);
    const columns = [...table.tHead.rows[0].cells].map((head, place) => {
      const unit = text(head.querySelector(".unit"));
      const title = unit ? text(head).slice(0, -unit.length).trim() : text(head);
      const named = (what) => title + what + (unit && ` (${unit})`);
      if (!rows.some((row) => ends(row[place]))) return [[named("")], ...rows.map((row) => [text(row[place])])];
      return [[named(""), named(", low"), named(", high")], ...rows.map((row) => {
        const both = ends(row[place]);
        const interval = both ? both.join(" to ").length : 0;
        return [text(row[place]).slice(0, -interval || undefined).trim(), ...(both ?? ["", ""])];
      })];
    });
    return columns[0].map((_, line) => columns.flatMap((column) => column[line]).join("\t")).join("\n");
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

  // Printed is what is folded too.
  const folded = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) folded.push(one);
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded.splice(0)) one.open = false;
  });
})();
