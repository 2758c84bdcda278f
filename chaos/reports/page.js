"use strict";
// Zoom, and words about what is under the cursor. Without it the page shows everything there is, once.
const narrow = matchMedia("(max-width: 640px)");
for (const figure of document.querySelectorAll(".timeline")) {
  const facts = JSON.parse(figure.querySelector(".facts").textContent);
  const plots = figure.querySelector(".plots");
  const readout = figure.querySelector(".readout");
  const cursor = figure.querySelector(".cursor");
  const chosen = figure.querySelector(".chosen");
  const chosenRow = figure.querySelector(".chosen-row");
  const shards = figure.querySelector("svg.shards");
  const names = figure.querySelector(".names");
  const axes = [...figure.querySelectorAll(".axis .plot")];
  const drawings = [...plots.querySelectorAll("svg")];
  const lanes = figure.querySelector(".lanes");
  const behind = figure.querySelector(".behind");
  const bands = [...lanes.querySelectorAll(".band")];
  const placed = [...plots.querySelectorAll("[data-a]")].filter((each) => !each.closest(".axis"));
  const whole = facts.ended - facts.began;
  const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const KINDS = {opening: "is opening it", owned: "owns it", draining: "is draining it", dead: "holds it, and is dead",
    frozen: "holds it, and stands still", unowned: "nobody holds it"};
  const LANES = 8, LANE_PIXELS = 18, SHADED = 40, NAMED = 80, LONG_SECONDS = 600, PAPER_PIXELS = 780;
  const RUG = ["action", "fault", "harm"];
  let from = facts.began, to = facts.ended, at = null, row = 0, taller = false;

  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const share = (time) => (time - from) / (to - from);

  const shown = (seconds) => {
    if (seconds === null) return "–";
    if (Math.abs(seconds) < 0.9995) return (seconds * 1000).toFixed(Math.abs(seconds) < 0.00995 ? 1 : 0) + " ms";
    return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
  };

  // A time as on the axis, with at most so many digits behind the point.
  function clock(time, digits) {
    if (facts.ended < LONG_SECONDS) return String(+time.toFixed(3));
    const [whole, part] = Math.abs(time).toFixed(digits).split(".");
    const rest = part ? "." + part.replace(/0+$/, "") : "";
    return (time < 0 ? "-" : "") + Math.floor(whole / 60) + ":" + String(whole % 60).padStart(2, "0") + rest.replace(/\.$/, "");
  }

  // Bands that would cover each other get lanes of their own; what finds no room is a mark without words.
  function drawBands(room = plotWidth() || 1000) {
    const words = !narrow.matches;
    const free = new Array(LANES).fill(-Infinity);
    const seen = bands.filter((each) => each.style.display !== "none");
    const rug = seen.length > NAMED;  // one lane a kind, without words
    let used = rug ? RUG.length : 0;
    for (const each of seen) {
      const left = share(Number(each.dataset.a)) * room, width = (share(Number(each.dataset.b)) - share(Number(each.dataset.a))) * room;
      const label = 22 + (words ? each.querySelector("b").textContent.length * 6.4 + 8 : 0);
      let lane = rug ? -1 : free.findIndex((end) => end <= Math.max(left, 0));
      each.classList.toggle("crowded", lane < 0);
      if (rug) {
        each.style.top = RUG.findIndex((kind) => each.classList.contains(kind)) * LANE_PIXELS + "px";
        continue;
      }
      if (lane < 0) lane = free.indexOf(Math.min(...free));
      else free[lane] = Math.max(left, 0) + Math.max(Math.min(width + Math.min(left, 0), room), label);
      each.style.top = lane * LANE_PIXELS + "px";
      used = Math.max(used, lane + 1);
    }
    lanes.style.height = Math.max(1, used) * LANE_PIXELS + "px";
    behind.classList.toggle("busy", seen.length > SHADED);
  }

  function drawAxis() {
    const room = axes[0].clientWidth || 1000;
    const step = STEPS.find((each) => (to - from) / each <= room / 68) || (to - from) / 8;
    const marks = [];
    for (let index = Math.ceil(from / step - 1e-9); index * step <= to + 1e-9; index++) marks.push(index * step);
    for (const axis of axes) {
      axis.replaceChildren(...marks.map((time) => {
        const mark = document.createElement("span");
        mark.textContent = clock(time, step < 1 ? 3 : 0);
        mark.style.left = share(time) * 100 + "%";
        mark.classList.toggle("last", share(time) > 0.96);
        return mark;
      }));
    }
  }

  function draw() {
    const left = Math.round((from - facts.began) * 1000), width = Math.max(1, Math.round((to - from) * 1000));
    for (const each of drawings) each.setAttribute("viewBox", `${left} 0 ${width} ${each.dataset.height}`);
    for (const each of placed) {
      const begin = Number(each.dataset.a), end = each.dataset.b === undefined ? begin : Number(each.dataset.b);
      const inside = end >= from && begin <= to;
      each.style.display = inside ? "" : "none";
      if (!inside) continue;
      const first = each.classList.contains("place") ? share(begin) : clamp(share(begin), 0, 1);
      each.style.left = first * 100 + "%";
      if (each.dataset.b === undefined) continue;
      const width = clamp(share(end), 0, 1) - first;
      each.style.width = width * 100 + "%";
      if (each.parentElement.classList.contains("holders")) each.classList.toggle("tiny", width * plotWidth() < each.textContent.length * 6.6 + 6);
    }
    drawBands();
    let labelled = -Infinity;
    for (const each of placed.filter((one) => one.classList.contains("place") && one.style.display === "")) {
      const where = share(Number(each.dataset.a)) * plotWidth(), near = where - labelled < 40;
      each.classList.toggle("near", near);
      if (!near) labelled = where;
    }
    drawAxis();
    drawCursor();
  }

  function zoom(begin, end) {
    const least = Math.min(0.02, whole);
    let width = clamp(end - begin, least, whole);
    from = clamp((begin + end - width) / 2, facts.began, facts.ended - width);
    to = from + width;
    draw();
  }

  function zoomBy(factor, around) {
    const middle = around === null || around < from || around > to ? (from + to) / 2 : around;
    zoom(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }

  function drawCursor() {
    const inside = at !== null && at >= from && at <= to;
    cursor.hidden = !inside;
    if (inside) cursor.style.left = plotLeft() + share(at) * plotWidth() + "px";
  }

  const plotLeft = () => axes[0].getBoundingClientRect().left - plots.getBoundingClientRect().left;
  const plotWidth = () => axes[0].clientWidth;

  function tell(withRow) {
    const lines = [];
    const moment = facts.moments[Math.floor((at - facts.began) / facts.bucket)];
    let head = "At " + (facts.ended < LONG_SECONDS ? at.toFixed(to - from < 5 ? 3 : 2) + " s" : clock(at, 2));
    if (moment) {
      if (facts.noted) head += `: keys waiting ${moment[4]}, running ${moment[5]}`;
      if (moment[0]) head += `; ${moment[0]} reconciles ended, half within ${shown(moment[1])}, 99 % within ${shown(moment[2])}`;
      if (moment[6]) head += `; nobody worked on ${moment[6]} of ${facts.rows.length} shards`;
    }
    lines.push(head + ".");
    const entry = facts.rows[row];
    chosenRow.hidden = !withRow || !entry;
    if (withRow && entry) {
      const box = shards.getBoundingClientRect(), height = box.height / facts.rows.length;
      chosenRow.style.top = box.top - plots.getBoundingClientRect().top + row * height + "px";
      chosenRow.style.height = height + "px";
      const phase = entry.phases.find((each) => each[0] <= at && at < each[1]);
      let text = "Shard " + entry.name + ": ";
      if (!phase) text += "not there.";
      else {
        const member = facts.members[phase[3]];
        text += member ? `${member} (epoch ${phase[4]}) ${KINDS[phase[2]]}` : KINDS[phase[2]];
        const span = facts.ended < LONG_SECONDS ? `${phase[0].toFixed(2)} to ${phase[1].toFixed(2)} s` : `${clock(phase[0], 1)} to ${clock(phase[1], 1)}`;
        text += `, from ${span} (${shown(phase[1] - phase[0])})`;
        text += phase[5] ? `: ${phase[5]}.` : ".";
      }
      lines.push(text);
    }
    const near = (to - from) / 150;
    const found = facts.places.filter((each) => Math.abs(each[0] - at) <= near).slice(0, 2);
    const going = facts.bands.map((each, index) => [index + 1, ...each])
      .filter((each) => each[1] - near <= at && at <= each[2] + near).slice(0, 4);
    if (found.length) lines.push(found.map((each) => `${each[1]} is broken: ${each[2]}`).join("; "));
    if (going.length) lines.push(going.map((each) => `${each[0]}. ${each[3]}`).join("; "));
    readout.textContent = lines.join("\n");
    drawCursor();
  }

  function look(event) {
    const box = axes[0].getBoundingClientRect();
    at = clamp(from + (event.clientX - box.left) / box.width * (to - from), from, to);
    const rows = shards.getBoundingClientRect();
    const inRows = event.clientY >= rows.top && event.clientY < rows.bottom;
    if (inRows) row = clamp(Math.floor((event.clientY - rows.top) / rows.height * facts.rows.length), 0, facts.rows.length - 1);
    tell(inRows);
  }

  let pressed = null;
  plots.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    look(event);
    pressed = at;
    plots.setPointerCapture(event.pointerId);
  });
  plots.addEventListener("pointermove", (event) => {
    look(event);
    if (pressed === null) return;
    const [first, last] = [Math.min(pressed, at), Math.max(pressed, at)];
    chosen.hidden = share(last) - share(first) < 0.01;
    chosen.style.left = plotLeft() + share(first) * plotWidth() + "px";
    chosen.style.width = (share(last) - share(first)) * plotWidth() + "px";
  });
  plots.addEventListener("pointerup", () => {
    if (pressed !== null && Math.abs(share(at) - share(pressed)) >= 0.01) zoom(Math.min(pressed, at), Math.max(pressed, at));
    pressed = null;
    chosen.hidden = true;
  });
  plots.addEventListener("pointercancel", () => { pressed = null; chosen.hidden = true; });
  plots.addEventListener("dblclick", () => zoom(facts.began, facts.ended));

  const doing = {
    in: () => zoomBy(0.5, at),
    out: () => zoomBy(2, at),
    left: () => zoom(from - (to - from) / 3, to - (to - from) / 3),
    right: () => zoom(from + (to - from) / 3, to + (to - from) / 3),
    all: () => zoom(facts.began, facts.ended),
    taller: (button) => {
      taller = !taller;
      button.setAttribute("aria-pressed", String(taller));
      const height = Number(shards.dataset.height) * (taller ? Math.max(2, 14 * facts.rows.length / shards.dataset.height) : 1);
      shards.style.height = names.style.height = height + "px";
    },
  };
  for (const button of figure.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => doing[button.dataset.do](button));
  }

  plots.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (at === null) at = clamp(0, from, to);
    const step = (to - from) / (event.shiftKey ? 20 : 200);
    const keys = {
      ArrowLeft: () => { at = Math.max(facts.began, at - step); },
      ArrowRight: () => { at = Math.min(facts.ended, at + step); },
      ArrowUp: () => { row = Math.max(0, row - 1); },
      ArrowDown: () => { row = Math.min(facts.rows.length - 1, row + 1); },
      Home: () => { at = from; },
      End: () => { at = to; },
      "+": () => zoomBy(0.5, at),
      "=": () => zoomBy(0.5, at),
      "-": () => zoomBy(2, at),
      0: () => zoom(facts.began, facts.ended),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
    if (at < from || at > to) zoom(at - (to - from) / 2, at + (to - from) / 2);
    tell(true);
  });

  function only(index) {
    for (const button of figure.querySelectorAll("[data-member]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.member) === index));
    }
    for (const path of shards.querySelectorAll("path")) path.classList.toggle("dim", index !== null);
    figure.querySelector("path.of-one")?.remove();
    if (index === null) return;
    const height = shards.dataset.height / facts.rows.length, parts = [];
    facts.rows.forEach((entry, number) => {
      for (const [begin, end, , member] of entry.phases) {
        if (member !== index) continue;
        const x = Math.round((begin - facts.began) * 1000), width = Math.max(1, Math.round((end - begin) * 1000));
        parts.push(`M${x} ${number * height}h${width}v${height}h-${width}z`);
      }
    });
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", "of-one m" + index % 8);
    path.setAttribute("d", parts.join(""));
    shards.append(path);
  }
  for (const button of figure.querySelectorAll("[data-member]")) {
    button.addEventListener("click", () => only(button.getAttribute("aria-pressed") === "true" ? null : Number(button.dataset.member)));
  }

  for (const link of figure.closest("article").querySelectorAll(".goto")) {
    link.addEventListener("click", () => {
      const begin = Number(link.dataset.a), end = Number(link.dataset.b), around = Math.max(1, (end - begin) * 0.6);
      const found = facts.rows.findIndex((entry) => entry.range === link.dataset.range);
      if (found >= 0) row = found;
      at = begin;
      zoom(begin - around, end + around);
      at = link.dataset.range === undefined ? (begin + end) / 2 : begin + 0.001;
      tell(found >= 0);
    });
  }

  addEventListener("beforeprint", () => drawBands(Math.min(plotWidth(), PAPER_PIXELS)));
  addEventListener("afterprint", () => drawBands());
  new ResizeObserver(draw).observe(axes[0]);
  draw();
}
