// Draws what /events says (host/web/fleet_history.h, tune_history.h), each time it says more. Every
// text may be a peer's: it reaches the page as a text node or a chart's label only.
"use strict";
(() => {
  const palette = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#997700",
                   "#44bb99", "#ee8866", "#8888dd"];
  const colour = (i) => palette[i % palette.length];
  const dashes = [[], [6, 3], [2, 2]];
  const dash = (i) => dashes[Math.floor(i / palette.length) % dashes.length];
  const chartEvery = 1000;  // ms; tables follow at once
  const mostLines = 12;     // of the chart of utilisation
  const byId = (id) => document.getElementById(id);
  const html = document.documentElement;

  const put = (element, text) => {
    const wanted = text === undefined || text === null ? "" : String(text);
    if (element.textContent !== wanted) element.textContent = wanted;
  };
  const add = (parent, tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  const count = (value) => Number(value).toLocaleString("en");
  const plural = (n, one, more) => count(n) + " " + (n === 1 ? one : more || one + "s");
  const duration = (seconds) => {
    const s = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
    return s < 3600 ? Math.floor(s / 60) + ":" + two(s % 60)
                    : Math.floor(s / 3600) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
  };
  const until = (seconds) => new Date(Date.now() + 1000 * seconds).toLocaleString(
    "en", {weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  const valueText = (value, unit) => {
    if (unit !== "ns") return Number(value.toPrecision(4)).toLocaleString("en") + " " + unit;
    const [scale, name] = value < 1e3 ? [1, "ns"] : value < 1e6 ? [1e3, "µs"]
                        : value < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    return Number((value / scale).toPrecision(3)) + " " + name;
  };
  const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";

  // One child of `parent` for each of `items`, in their order, kept from time to time by `key`.
  const keyed = (parent, items, key, make, fill) => {
    const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
    let place = parent.firstElementChild;
    items.forEach((item, i) => {
      const name = key(item, i);
      let child = known.get(name);
      if (child) {
        known.delete(name);
      } else {
        child = make();
        child.dataset.key = name;
      }
      if (child === place) place = place.nextElementSibling;
      else parent.insertBefore(child, place);
      fill(child, item, i);
    });
    for (const child of known.values()) {
      if (child.forget) child.forget();
      child.remove();
    }
  };
  const row = (classes) => () => {
    const line = document.createElement("tr");
    for (const name of classes) add(line, "td", name);
    return line;
  };
  const nothing = (parent, columns, text) => {
    if (parent.children.length) return;
    const cell = add(add(parent, "tr"), "td", "facts", text);
    cell.colSpan = columns;
    cell.parentElement.dataset.key = "nothing";
  };

  // --- charts ---
  const style = (name) => getComputedStyle(html).getPropertyValue(name).trim();
  const charts = new Set();
  const paint = (chart) => {
    const {x, y} = chart.options.scales;
    for (const axis of [x, y]) {
      axis.ticks.color = axis.title.color = style("--soft");
      axis.grid.color = style("--line");
    }
    chart.options.plugins.legend.labels.color = style("--ink");
  };
  const axis = (text, more) =>
    Object.assign({title: {display: true, text}, ticks: {}, grid: {}}, more);
  const newChart = (canvas, x, y) => {
    const chart = new Chart(canvas, {type: "line", data: {datasets: []}, options: {
      animation: false, maintainAspectRatio: false, parsing: false, normalized: true,
      interaction: {mode: "nearest", intersect: false}, scales: {x, y},
      plugins: {legend: {position: "bottom", labels: {boxWidth: 12, font: {size: 11}}}}}});
    charts.add(chart);
    paint(chart);
    return chart;
  };
  const drawn = new WeakMap();  // chart → when
  const show = (chart, lines) => {
    const now = performance.now();
    if (now - (drawn.get(chart) || -chartEvery) < chartEvery) return;
    drawn.set(chart, now);
    lines.forEach((line, i) => {
      const known = chart.data.datasets[i];
      if (known) Object.assign(known, {label: line.label, data: line.data});
      else chart.data.datasets.push(Object.assign({pointRadius: 0, borderWidth: 2,
        borderColor: colour(i), backgroundColor: colour(i), borderDash: dash(i)}, line));
    });
    chart.data.datasets.length = lines.length;
    chart.options.plugins.legend.display = lines.length > 1 && lines.length <= 16;
    chart.update("none");
    html.dataset.charts = String(charts.size);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of charts) {
      paint(chart);
      chart.update("none");
    }
  });

  // --- boards ---
  const boardName = (board) => board.name || board.host || board.id;
  const boardRow = () => {
    const line = row(["name", "key", "key", "whole", "number", "number", "whole", "number", "number"])();
    const cells = line.children;
    add(cells[0], "b");
    add(cells[0], "span", "sub");
    add(cells[3], "span");
    add(cells[3], "span", "sub");
    const meter = add(cells[6], "meter");
    meter.setAttribute("aria-hidden", "true");  // the text beside it says the same
    add(cells[6], "span", "share");
    return line;
  };
  const fillBoard = (line, board) => {
    const cells = line.children;
    put(cells[0].children[0], boardName(board));
    put(cells[0].children[1],
        [board.host === boardName(board) ? "" : board.host, board.model].filter((t) => t).join(", "));
    put(cells[1], board.key);
    put(cells[2], board.device);
    put(cells[3].children[0], board.state);
    cells[3].children[0].className = board.state;
    put(cells[3].children[1], [
      board.silent_s ? "for " + duration(board.silent_s) : "",
      board.reserved_for ? "reserved for " + board.reserved_for + " until " + until(board.reserved_s) +
        (board.reserved_note ? " (" + board.reserved_note + ")" : "") : "",
      board.drift ? percent(Math.abs(board.drift)) + (board.drift > 0 ? " slower" : " faster") +
        " than its siblings" + (board.left_out ? ", left out" : "") : ""]
      .filter((text) => text).join("; "));
    put(cells[4], board.depth ? board.held + " of " + board.depth : "");
    put(cells[5], board.celsius === undefined ? "–" : board.celsius.toFixed(1));
    cells[6].children[0].value = board.busy;
    put(cells[6].children[1], percent(board.busy));
    put(cells[7], count(board.trials));
    put(cells[8], count(board.failed));
  };
  let busyChart;
  const fillBoards = (data) => {
    const body = byId("boards");
    keyed(body, data.boards, (board) => board.id + "\n" + board.index, boardRow, fillBoard);
    nothing(body, 9, "No board has dialled in.");
    put(byId("more-boards"), data.more_boards ? "and " + plural(data.more_boards, "more") : "");
    const lines = data.boards.filter((board) => board.shares && board.shares.length > 1)
      .slice(0, mostLines).map((board) => ({
        label: boardName(board) + (board.device ? ", " + board.device : ""), stepped: "middle", clip: 4,
        data: board.shares.map((share, i) => (
          {x: (i + 1 - board.shares.length) * data.step_s / 60, y: 100 * share}))}));
    byId("s-busy").hidden = lines.length === 0;
    if (!lines.length) return;
    if (!busyChart) {
      busyChart = newChart(byId("busy"), axis("minutes from now", {type: "linear", max: 0}),
                           axis("% busy", {min: 0, max: 100}));
    }
    busyChart.options.scales.x.min = Math.min(-1, ...lines.map((line) => line.data[0].x));
    show(busyChart, lines);
  };

  // --- sessions ---
  const taskName = (task, i) => task.title || "task " + (i + 1);
  const best = (task) => task.curve.length ? task.curve[task.curve.length - 1][1] : undefined;
  const table = (parent, heads) => {
    const wide = add(parent, "div", "wide");
    wide.setAttribute("role", "region");
    wide.tabIndex = 0;
    const grid = add(wide, "table");
    const line = add(add(grid, "thead"), "tr");
    for (const [text, className] of heads) add(line, "th", className, text).scope = "col";
    return {wide, grid, body: add(grid, "tbody")};
  };
  const makeSession = () => {
    const article = document.createElement("article");
    const parts = article.parts = {
      title: add(article, "h3"), facts: add(article, "p", "facts"), box: add(article, "div", "chart")};
    parts.canvas = add(parts.box, "canvas");
    parts.canvas.setAttribute("role", "img");
    const tasks = add(article, "details");
    tasks.open = true;
    parts.tasksTitle = add(tasks, "summary");
    parts.tasks = table(tasks, [["task", ""], ["trials", "number"], ["failed", "number"],
                                ["best", "number"], ["GFLOPS", "number"],
                                ["× its first", "number"]]);
    parts.failed = add(article, "details");
    parts.failed.open = true;
    parts.failedTitle = add(parts.failed, "summary");
    parts.failures = table(parts.failed, [["cause", ""], ["trials", "number"],
                                          ["the latest message", ""]]);
    article.forget = () => {
      if (!parts.chart) return;
      charts.delete(parts.chart);
      parts.chart.destroy();
    };
    return article;
  };
  const fillSession = (article, session) => {
    const parts = article.parts;
    article.classList.toggle("ended", session.ended);
    put(parts.title, session.name || "a session");
    const wanted = session.wanted ? " of " + count(session.wanted) : "";
    put(parts.facts, [
      "on " + session.key, session.client ? "by " + session.client : "",
      session.priority ? "priority " + session.priority : "",
      session.weight > session.priority ? "weight " + session.weight : "",
      session.ended ? "ended" : "running", duration(session.seconds),
      count(session.trials) + wanted + " trials", count(session.failed) + " failed",
      count(session.per_hour) + " an hour", session.left_s ? duration(session.left_s) + " left" : "",
      session.unfinished ? count(session.unfinished) + " on their way" : ""]
      .filter((text) => text).join(" · "));
    const timed = session.tasks.map((task, i) => ({task, i})).filter(({task}) => task.curve.length);
    parts.box.hidden = timed.length === 0;
    if (timed.length) {
      if (!parts.chart) {
        parts.chart = newChart(parts.canvas, axis("seconds of the session", {type: "linear", min: 0}),
                               axis("× as fast as its first", {min: 0}));
      }
      parts.canvas.setAttribute("aria-label", "Best so far of " + plural(timed.length, "task") +
        " over time; the table below has the figures");
      show(parts.chart, timed.map(({task, i}) => {
        const first = task.curve[0][1];
        const data = task.curve.map(([x, y]) => ({x, y: first / y}));
        data.push({x: Math.max(session.seconds, data[data.length - 1].x), y: first / best(task)});
        return {label: taskName(task, i), data, stepped: true};
      }));
    }
    parts.tasks.grid.classList.toggle(
      "plain", session.tasks.every((task) => task.gflops === undefined));
    put(parts.tasksTitle, plural(session.tasks.length, "task"));
    parts.tasks.wide.setAttribute("aria-label", "Tasks of " + (session.name || "a session"));
    keyed(parts.tasks.body, session.tasks, (task, i) => String(i),
          row(["name", "number", "number", "number", "number", "number"]), (line, task, i) => {
      const cells = line.children, value = best(task);
      put(cells[0], taskName(task, i) + (task.note ? " (" + task.note + ")" : ""));
      put(cells[1], count(task.trials));
      put(cells[2], count(task.failed));
      put(cells[3], value === undefined ? "–" : valueText(value, task.unit));
      put(cells[4], task.gflops === undefined ? "–" : Number(task.gflops.toPrecision(3)));
      put(cells[5], value === undefined ? "–" : (task.curve[0][1] / value).toFixed(2));
    });
    parts.failed.hidden = session.failures.length === 0;
    put(parts.failedTitle, "Failures by cause: " + count(session.failed));
    parts.failures.wide.setAttribute("aria-label", "Failures of " + (session.name || "a session"));
    keyed(parts.failures.body, session.failures, (failure) => failure.cause,
          row(["whole", "number", ""]), (line, failure) => {
      put(line.children[0], failure.cause);
      put(line.children[1], count(failure.count));
      put(line.children[2], failure.message);
    });
  };

  // --- the page ---
  const state = (text, lost) => {
    put(byId("state"), text);
    byId("state").classList.toggle("lost", lost);
  };
  const draw = (data) => {
    const title = (data.kind === "broker" ? "broker at " : "tunes ") + data.title;
    put(byId("title"), title);
    document.title = "fettle: " + title;
    byId("s-numbers").hidden = !data.numbers;
    keyed(byId("numbers"), data.numbers || [], ([name]) => name, () => {
      const pair = document.createElement("div");
      add(pair, "dt");
      add(pair, "dd");
      return pair;
    }, (pair, [name, value]) => {
      put(pair.children[0], name);
      put(pair.children[1], typeof value === "number" ? count(value) : value);
    });
    fillBoards(data);
    byId("s-queues").hidden = !data.queues;
    keyed(byId("queues"), data.queues || [], (queue) => queue.key,
          row(["", "number", "number", "number"]), (line, queue) => {
      [queue.key, queue.total, queue.free, queue.pending].forEach((value, i) => {
        put(line.children[i], i ? count(value) : value);
      });
    });
    nothing(byId("queues"), 4, "No board, no queue.");
    keyed(byId("sessions"), data.sessions, (session) => session.id, makeSession, fillSession);
    put(byId("more-sessions"),
        data.more_sessions ? "and " + plural(data.more_sessions, "more") :
        data.sessions.length ? "" : "No session is open.");
  };

  // The token, where there is one, is in this page's address.
  const source = new EventSource("events" + location.search);
  let updates = 0, ended = false;
  source.onmessage = (event) => {
    const data = JSON.parse(event.data);
    if (!updates) state("Live", false);
    draw(data);
    ended = data.kind === "tune" && data.sessions[0].ended;
    updates += 1;
    // For whoever looks at the page by program.
    html.dataset.updates = String(updates);
    html.dataset.age = String(Date.now() - data.unix_ms);
    html.dataset.bytes = String(event.data.length);
  };
  source.onopen = () => state("Live", false);
  source.onerror = () => {
    if (ended) {
      source.close();
      state("The session has ended", false);
    } else if (source.readyState === EventSource.CLOSED) {
      state("This page was refused: too many are open, or its token is wrong. Reload it.", true);
    } else {
      state("The connection is lost; trying again…", true);
    }
  };
})();
