// The page: each section is there if the run has its data.
(() => {
  const { make, number, percent, applyTheme, themeSwitch } = Dom;
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  const links = [];
  const shows = [];

  /** Draws a figure when it is in the page; a failure is shown in its place. */
  function later(host, draw) {
    shows.push(() => {
      try {
        draw();
      } catch (error) {
        host.replaceChildren(make("p", { class: "error" }, `This figure cannot be drawn: ${error.message}`));
        console.error(error);
      }
    });
  }

  function section(id, title, note, ...children) {
    links.push(make("a", { href: `#${id}` }, title));
    page.append(make("section", { id }, make("h2", {}, title), note ? make("p", { class: "note" }, note) : null, children));
  }

  function card(panel) {
    const host = make("div", { class: "figure" });
    const heat = panel.kind === "heat";
    let chart = null;
    const tools = panel.can_log && !heat ? make("div", { class: "tools" }, Charts.logButton(() => chart, panel.log)) : null;
    later(host, () => {
      if (heat) Canvas.heat(host, panel);
      else chart = Charts.lines(host, panel);
    });
    return make("div", { class: heat && panel.series.length > 40 ? "card wide" : "card", id: `figure-${panel.id}` },
      make("div", { class: "head" }, make("h3", {}, panel.title), tools),
      panel.note ? make("p", { class: "note" }, panel.note) : null, host);
  }

  const panels = (group) => data.panels.filter((panel) => panel.group === group);

  function curves(id, title, note, empty) {
    const own = panels(id);
    if (own.length === 0 && !empty) return;
    const body = own.length > 0 ? make("div", { class: "grid" }, own.map(card)) : make("div", { class: "card sub" }, empty);
    section(id, title, own.length > 0 ? note : null, body);
  }

  function headline() {
    const bad = data.status === "interrupted" || data.status === "failed";
    page.append(make("header", {},
      make("div", {},
        make("h1", {}, data.title, make("span", { class: bad ? "badge bad" : "badge" }, data.status)),
        make("div", { class: "sub" }, data.subtitle)),
      themeSwitch()));
    const nav = make("nav", { "aria-label": "Sections" });
    page.append(nav);
    if (data.message) page.append(make("p", { class: "finding", id: "message" }, data.message));
    page.append(make("dl", { class: "tiles" }, data.tiles.map((tile) =>
      make("div", { class: "tile" }, make("dt", {}, tile.name),
        make("dd", { class: tile.value.length > 14 ? "long" : "" }, tile.value, tile.note ? make("span", {}, tile.note) : null)))));
    return nav;
  }

  function health() {
    if (!data.findings) return;
    const found = data.findings.map((finding) => make("li", { class: "finding" },
      make("p", {}, finding.layer ? make("span", { class: "layer" }, finding.layer) : null, make("b", {}, finding.sentence)),
      make("p", { class: "advice" }, finding.advice)));
    section("health", "Health", null, found.length > 0
      ? make("ul", { class: "findings" }, found)
      : make("div", { class: "fine" }, data.too_short ?? "No problem was found in the records of this run."));
  }

  function layers() {
    curves("layers", "Layers over training", null, data.no_monitors);
    if (data.layers.length === 0) return;
    const columns = [["rate", "firing rate", percent], ["dead", "never fire", percent], ["saturated", "always fire", percent],
      ["potential", "mean V", number], ["potential_std", "deviation of V", number], ["distance", "distance to threshold", number]]
      .filter(([key]) => data.layers.some((layer) => layer[key] !== null && layer[key] !== undefined));
    const some = (value) => value !== null && value !== undefined;
    const head = make("tr", {}, make("th", {}, "layer"), make("th", {}, "shape"), make("th", { class: "number" }, "neurons"),
      columns.map(([, name]) => make("th", { class: "number" }, name)));
    const rows = data.layers.map((layer) => make("tr", {}, make("td", { class: "name" }, layer.name || "network"),
      make("td", {}, layer.shape ? layer.shape.join(" × ") : "–"),
      make("td", { class: "number" }, layer.shape ? number(layer.shape.reduce((a, b) => a * b, 1)) : "–"),
      columns.map(([key, , show]) => make("td", { class: "number" }, some(layer[key]) ? show(layer[key]) : "–"))));
    page.lastElementChild.append(make("div", { class: "card scroll", id: "layer-table" },
      make("p", { class: "note" }, data.layers_note), make("table", {}, make("thead", {}, head), make("tbody", {}, rows))));
  }

  function samples() {
    if (!data.samples) return;
    const [body, draw] = Samples.section(data.samples, data.classes);
    section("samples", "Samples",
      "The first samples of the test set. Choose one, and a layer. Potentials are those of the neurons with the same colors.", body);
    later(body, draw);
  }

  function quality() {
    const { confusion, worst } = data;
    if (confusion) {
      const silent = confusion.silent > 0
        ? ` ${confusion.silent.toLocaleString("en-US")} of them were not recognized, since no output fired; they are counted as ${data.classes[0] ?? "0"}.` : "";
      const part = confusion.samples < confusion.of
        ? `The first ${confusion.samples.toLocaleString("en-US")} of ${confusion.of.toLocaleString("en-US")} ${confusion.unit}. ` : "";
      const pairs = make("table", { id: "pairs" }, make("thead", {}, make("tr", {}, make("th", {}, "true class"), make("th", {}, "predicted as"), make("th", { class: "number" }, confusion.counted))),
        make("tbody", {}, confusion.pairs.map(([label, predicted, count]) => make("tr", {},
          make("td", {}, data.classes[label] ?? String(label)), make("td", {}, data.classes[predicted] ?? String(predicted)), make("td", { class: "number" }, count.toLocaleString("en-US"))))));
      const host = make("div", { class: "figure", id: "matrix" });
      if (confusion.counts) later(host, () => Canvas.matrix(host, { classes: data.classes, counts: confusion.counts }));
      section("confusion", "Confusion matrix", `${part}Rows are true classes, columns are predictions, with the weights of the last epoch.${silent}`,
        make("div", { class: "card split" }, confusion.counts ? host : null,
          make("div", {}, make("h3", {}, "Most frequent confusions"), confusion.pairs.length > 0 ? pairs : make("p", { class: "sub" }, "All are classified correctly."))));
    }
    if (worst && worst.images.length > 0) {
      section("worst", "Worst examples", worst.note, make("div", { class: "card" }, Samples.worst(worst, data.classes)));
    }
  }

  function configuration() {
    const table = (rows) => make("table", {}, make("tbody", {}, rows.map(([name, value]) =>
      make("tr", {}, make("td", { class: "name" }, name), make("td", {}, value)))));
    const parts = [];
    if (data.command) {
      const copy = make("button", { type: "button", class: "small", onclick: () => {
        navigator.clipboard.writeText(data.command).then(() => { copy.textContent = "copied"; }, () => { copy.textContent = "not copied"; });
      } }, "copy");
      parts.push(make("div", { class: "card", id: "command" },
        make("div", { class: "head" }, make("h3", {}, "Command to repeat the run"), make("div", { class: "tools" }, copy)), make("pre", {}, data.command)));
    }
    if (data.experiment) {
      parts.push(make("div", { class: "card", id: "experiment" }, make("details", {}, make("summary", {}, "experiment.toml"), make("pre", { class: "scroll" }, data.experiment))));
    }
    const cards = data.configuration.map(({ title, rows }) =>
      make("div", { class: "card" }, make("details", { open: "" }, make("summary", {}, title), make("div", { class: "scroll" }, table(rows)))));
    section("configuration", "Configuration", null, parts.length > 0 ? make("div", { class: "stack" }, parts) : null, make("div", { class: "grid" }, cards));
  }

  const nav = headline();
  health();
  curves("training", "Curves", "Drag over a curve to zoom, double-click to see all of it, click on a name to hide it.",
    "No epoch was completed.");
  curves("steps", "Training steps", "One point every few steps: values of one training batch.", null);
  layers();
  samples();
  quality();
  configuration();
  nav.append(...links);
  page.append(make("footer", {}, `spikelet ${data.version}. The charts are drawn by uPlot 1.6.32, Copyright (c) 2022 Leon Sorokin, MIT license; its text is in the source of this page.`));
  applyTheme();
  shows.forEach((show) => show());
  document.documentElement.dataset.ready = "true";
})();
