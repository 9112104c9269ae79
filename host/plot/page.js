// Draws the charts of a plot from the JSON in #data (plot_data.h). Text from the
// database reaches the page as text nodes and chart labels only.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  // What is no number in JSON is null.
  const drawn = (pairs) => pairs.filter((pair) => pair.every((value) => value !== null));
  for (const task of data.tasks) {
    task.best = drawn(task.best);
    task.trial = drawn(task.trial);
    if (task.prediction) task.prediction.points = drawn(task.prediction.points);
    if (task.prediction && task.prediction.rank_correlation === null) task.prediction = null;
  }
  const main = document.getElementById("main");
  main.textContent = "";
  const palette = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb",
                   "#222222", "#997700", "#44bb99"];
  const colour = (i) => palette[i % palette.length];

  const add = (parent, tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    parent.append(element);
    return element;
  };
  const section = (title, explanation) => {
    const element = add(main, "section");
    add(element, "h2", title);
    add(element, "p", explanation);
    return element;
  };
  let charts = 0;
  const draw = (parent, height, config) => {
    const box = add(parent, "div", undefined, "chart");
    box.style.height = height + "px";
    const canvas = add(box, "canvas");
    config.options = Object.assign({animation: false, maintainAspectRatio: false}, config.options);
    new Chart(canvas, config);
    charts += 1;
  };
  const axis = (text, more) => Object.assign({title: {display: true, text}}, more);
  const points = (pairs) => pairs.map(([x, y]) => ({x, y}));
  const name = (task) => task.title + (devices > 1 ? " on " + task.device : "");
  const devices = new Set(data.tasks.map((task) => task.device)).size;
  const seconds = (value) => value.toFixed(value >= 100 ? 0 : value >= 1 ? 1 : 3);

  const overview = () => {
    const parent = section("Search", "Best so far of each task, as a share of the best it " +
      "reached, over the task's own trials. A click on a name hides its curve.");
    const datasets = data.tasks.filter((task) => task.best.length).map((task, i) => {
      const last = task.best[task.best.length - 1][1];
      return {label: name(task), data: points(task.best.map(([x, y]) => [x, 100 * y / last])),
              stepped: true, pointRadius: 0, borderWidth: 1.5, borderColor: colour(i),
              borderDash: i < palette.length ? [] : [5, 3], backgroundColor: colour(i)};
    });
    draw(parent, Math.max(380, 40 + 18 * datasets.length), {type: "line", data: {datasets}, options: {
      parsing: false,
      scales: {x: axis("trial of the task", {type: "linear", min: 0}),
               y: axis("% of the final best", {max: 100})},
      plugins: {legend: {position: "right", labels: {boxWidth: 12, font: {size: 11}}}}}});
  };

  const curves = () => {
    const parent = section("Tasks", "Trials that were measured in full (points; slow ones are " +
      "cut short) and the best so far (line). " +
      (data.shown < data.measured ? "Tasks with many trials show an even sample of them." : ""));
    const grid = add(parent, "div", undefined, "grid");
    for (const task of data.tasks) {
      const figure = add(grid, "figure");
      const best = task.best.length ? task.best[task.best.length - 1][1] : undefined;
      add(figure, "figcaption", name(task) + ": " + task.trials + " trials, " + task.failed +
        " failed" + (best === undefined ? "" : ", best " + best.toFixed(1) + " GFLOPS"));
      draw(figure, 190, {type: "scatter", data: {datasets: [
        {label: "best so far", type: "line", data: points(task.best), stepped: true,
         pointRadius: 0, borderWidth: 2, borderColor: palette[1]},
        {label: "trial", data: points(task.trial), pointRadius: 1.5,
         backgroundColor: palette[0], borderColor: palette[0]}]},
        options: {scales: {x: axis("trial", {type: "linear", min: 0}),
                           y: axis("GFLOPS", {beginAtZero: true})},
                  plugins: {legend: {display: false}}}});
    }
  };

  const predictions = () => {
    const tasks = data.tasks.filter((task) => task.prediction);
    const parent = section("Measured against predicted", tasks.length === 0 ?
      "No task has trials enough to hold some back from the cost model." :
      "The cost model learned from every second trial of a task, by its knobs alone, and " +
      "predicted the others, which are shown. On the line, it was right; what a search needs " +
      "is the order.");
    const grid = add(parent, "div", undefined, "grid");
    for (const task of tasks) {
      const figure = add(grid, "figure");
      const {points: pairs, rank_correlation: correlation} = task.prediction;
      add(figure, "figcaption", name(task) + ": rank correlation " + correlation.toFixed(2) +
        ", " + pairs.length + " trials");
      const most = pairs.reduce((so_far, pair) => Math.max(so_far, pair[0], pair[1]), 0);
      const least = pairs.reduce((so_far, pair) => Math.min(so_far, pair[0], pair[1]), most);
      draw(figure, 260, {type: "scatter", data: {datasets: [
        {label: "right", type: "line", data: points([[least, least], [most, most]]), pointRadius: 0,
         borderWidth: 1, borderColor: palette[6]},
        {label: "trial", data: points(pairs), pointRadius: 1.5,
         backgroundColor: palette[2], borderColor: palette[2]}]},
        options: {scales: {x: axis("predicted GFLOPS", {type: "linear"}),
                           y: axis("measured GFLOPS", {})},
                  plugins: {legend: {display: false}}}});
    }
  };

  const stages = () => {
    const parent = section("Time per stage", "Seconds summed over the trials. Building is done " +
      "on the host beside the board's work, and a trial waits in a queue while the board works " +
      "on another: the stages overlap.");
    const total = data.stages.map((_, i) => data.tasks.reduce((sum, t) => sum + t.seconds[i], 0));
    const table = add(parent, "table");
    const head = add(table, "tr"), row = add(table, "tr");
    add(head, "th", "stage");
    add(row, "td", "seconds, all tasks");
    data.stages.forEach((stage, i) => {
      add(head, "th", stage, "number");
      add(row, "td", seconds(total[i]), "number");
    });
    draw(parent, 90 + 22 * data.tasks.length, {type: "bar",
      data: {labels: data.tasks.map(name),
             datasets: data.stages.map((label, i) => (
               {label, data: data.tasks.map((t) => t.seconds[i]), backgroundColor: colour(i)}))},
      options: {indexAxis: "y",
                scales: {x: axis("seconds", {stacked: true}),
                         y: {stacked: true, ticks: {autoSkip: false, font: {size: 11}}}}}});
  };

  const failures = () => {
    const failed = data.causes.reduce((sum, cause) => sum + cause.count, 0);
    const parent = section("Failures", failed + " of " + data.trials + " trials failed.");
    if (!failed) return;
    draw(parent, 70 + 26 * data.causes.length, {type: "bar",
      data: {labels: data.causes.map((c) => c.stage + " " + c.code),
             datasets: [{label: "trials", data: data.causes.map((c) => c.count),
                         backgroundColor: palette[1]}]},
      options: {indexAxis: "y", plugins: {legend: {display: false}},
                scales: {x: axis("trials", {ticks: {precision: 0}}),
                         y: {ticks: {autoSkip: false}}}}});
    const table = add(parent, "table");
    const head = add(table, "tr");
    for (const title of ["stage", "cause", "trials", "the latest message"]) add(head, "th", title);
    for (const cause of data.causes) {
      const row = add(table, "tr");
      add(row, "td", cause.stage);
      add(row, "td", cause.code);
      add(row, "td", String(cause.count), "number");
      add(row, "td", cause.example);
    }
  };

  if (!data.tasks.length) {
    section("Nothing to show", "The database holds no trial that was asked for.");
  } else {
    overview();
    curves();
    predictions();
    stages();
    failures();
  }
  // For whoever looks at the page by program: everything was drawn.
  document.documentElement.dataset.charts = String(charts);
})();
