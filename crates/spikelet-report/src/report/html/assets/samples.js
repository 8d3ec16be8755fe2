// The spikes and membrane potentials of neurons for some test samples.
const Samples = (() => {
  const { make, number, percent } = Dom;

  /** A string of hexadecimal digits as bits, the first time step first. */
  function bits(text, count) {
    const found = [];
    for (const digit of text) {
      const value = parseInt(digit, 16);
      for (let bit = 3; bit >= 0; bit--) found.push(((value >> bit) & 1) === 1);
    }
    return found.slice(0, count);
  }

  /** The place of a neuron in a layer: `5 · 12, 7` is channel 5, row 12, column 7. */
  function place(index, shape) {
    if (shape.length !== 3) return String(index);
    const [, height, width] = shape;
    const inside = index % (height * width);
    return `${Math.floor(index / (height * width))}·${Math.floor(inside / width)},${inside % width}`;
  }

  function picture(sample, classes) {
    const right = sample.label === sample.predicted;
    const silent = sample.predicted === undefined || sample.predicted === null;
    const name = (index) => classes[index] ?? String(index);
    return [
      sample.png ? make("img", { src: sample.png, alt: `test image ${sample.index}` }) : make("span", { class: "none" }),
      make("b", {}, name(sample.label)),
      make("span", { class: right ? "right" : "wrong" }, right ? " ✓" : silent ? " ✗ not recognized: no spikes" : ` ✗ ${name(sample.predicted)}`),
    ];
  }

  function scores(sample, classes) {
    const order = sample.scores.map((_, k) => k);
    const shown = order.length <= 12 ? order : order.sort((a, b) => sample.scores[b] - sample.scores[a]).slice(0, 12);
    const [low, high] = [Math.min(0, ...sample.scores), Math.max(1e-9, ...sample.scores)];
    return make("div", { class: "bars" }, shown.map((k) => {
      const bar = make("i");
      bar.style.width = `${(100 * (sample.scores[k] - low)) / (high - low)}%`;
      return [
        make("span", { class: k === sample.label ? "name right" : k === sample.predicted ? "name wrong" : "name" }, classes[k] ?? String(k)),
        make("span", { class: "bar" }, bar),
        make("span", {}, number(sample.scores[k])),
      ];
    }));
  }

  function neurons(layer, own, steps) {
    const names = layer.neurons.map((index) => place(index, layer.shape));
    const spikes = own.spikes.map((text) => bits(text, steps));
    const raster = make("div", { class: "figure", id: "raster" });
    const potential = make("div", { class: "figure", id: "potential" });
    const box = make("div", { class: "split" },
      make("div", {}, make("h3", {}, "Spikes"), raster),
      own.v ? make("div", {}, make("h3", {}, "Membrane potential after the reset, and threshold"), potential) : null);
    const show = () => {
      Canvas.raster(raster, { names, spikes, steps, marked: own.v ? own.chosen : [] });
      if (!own.v) return;
      const curves = own.chosen.map((row, k) => ({ name: names[row], y: own.v[k], color: k }));
      Charts.lanes(potential, curves, layer.threshold);
    };
    return [box, show];
  }

  /** The section of the samples. */
  function section(data, classes) {
    const images = make("div", { class: "images" });
    const detail = make("div", {});
    const select = make("select", { id: "layer", "aria-label": "Layer" },
      data.layers.map((layer, k) => make("option", { value: String(k) },
        `${layer.name || "network"} (${layer.shape.join(" × ")})`)));
    select.value = String(Math.max(0, data.layers.length - 1));
    let chosen = 0;
    const draw = () => {
      const sample = data.samples[chosen];
      const layer = data.layers[Number(select.value)];
      const parts = [];
      const shows = [];
      if (layer) {
        const own = layer.samples[chosen];
        const shown = layer.shown_steps < layer.time_steps ? `, the first ${layer.shown_steps} of ${layer.time_steps} time steps` : "";
        const some = layer.neurons.length < layer.shape.reduce((a, b) => a * b, 1) ? `${layer.neurons.length} of its neurons` : "all of its neurons";
        parts.push(make("p", { class: "note" },
          `Firing rate in this sample: ${percent(own.rate)}. Shown: ${some}${shown}.`));
        const [box, show] = neurons(layer, own, layer.shown_steps);
        parts.push(box);
        shows.push(show);
      }
      if (sample.scores) parts.push(make("h3", { class: "scores" }, "Scores"), scores(sample, classes));
      detail.replaceChildren(...parts);
      shows.forEach((show) => show());
    };
    const buttons = data.samples.map((sample, k) => make("button", {
      type: "button", class: "image", "aria-pressed": String(k === 0), onclick: () => {
        chosen = k;
        buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(j === k)));
        draw();
      },
    }, sample.label === undefined || sample.label === null ? `sample ${sample.index}` : picture(sample, classes)));
    images.append(...buttons);
    select.addEventListener("change", draw);
    const pick = data.layers.length > 0 ? make("div", { class: "pick" }, make("label", {}, "Layer ", select)) : null;
    const card = make("div", { class: "card" }, images, pick, detail);
    return [card, draw];
  }

  /** Images with the highest loss. */
  function worst(data, classes) {
    return make("div", { class: "images" }, data.images.map((sample) =>
      make("div", { class: "image", title: `test image ${sample.index}` }, picture(sample, classes),
        make("span", {}, make("br"), `loss ${number(sample.loss)}`))));
  }

  return { section, worst, percent };
})();
