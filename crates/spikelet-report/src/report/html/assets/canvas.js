// Figures on a canvas of their own: heat maps of layers, rasters of spikes, the confusion matrix.
const Canvas = (() => {
  const { make, number, percent, style, showTip, hideTip, drawn } = Dom;
  const FONT = "12px system-ui, sans-serif";
  // Viridis: ordered by lightness, and readable with every color vision.
  const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37]];

  function viridis(share) {
    const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
    const k = Math.min(Math.floor(at), VIRIDIS.length - 2);
    const mix = VIRIDIS[k].map((from, c) => Math.round(from + (at - k) * (VIRIDIS[k + 1][c] - from)));
    return `rgb(${mix.join(",")})`;
  }

  /** A canvas in `host`; `draw(context, width)` returns the function that names a place for the tooltip. */
  function figure(host, label, heightOf, draw) {
    const canvas = host.appendChild(make("canvas", { role: "img", "aria-label": label }));
    let find = () => null;
    drawn(host, (width) => {
      const height = heightOf(width);
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = FONT;
      context.textBaseline = "middle";
      find = draw(context, width, height) || find;
    });
    canvas.addEventListener("mousemove", (event) => {
      const box = canvas.getBoundingClientRect();
      const text = find(event.clientX - box.left, event.clientY - box.top);
      if (text) showTip(event, text);
      else hideTip();
    });
    canvas.addEventListener("mouseleave", hideTip);
    return canvas;
  }

  /** Text that is shortened in its middle to a width. */
  function fit(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let keep = text.length;
    while (keep > 2) {
      keep -= 1;
      const short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
      if (context.measureText(short).width <= width) return short;
    }
    return "…";
  }

  /** Names that are shortened to a width. Of those that would look the same, the part in which they differ is kept. */
  function fitAll(context, names, width) {
    const short = names.map((name) => fit(context, name, width));
    return names.map((name, k) => {
      const alike = names.filter((_, j) => short[j] === short[k]);
      if (alike.length === 1) return short[k];
      let same = 0;
      while (alike.every((other) => same < other.length && other[same] === alike[0][same])) same += 1;
      const rest = `…${name.slice(Math.max(0, same - 1))}`;
      let keep = rest.length;
      while (keep > 2 && context.measureText(keep < rest.length ? `${rest.slice(0, keep)}…` : rest).width > width) keep -= 1;
      return keep < rest.length ? `${rest.slice(0, keep)}…` : rest;
    });
  }

  /** Whole numbers for an axis from `first` to `last`, at most `most` of them. */
  function ticks(first, last, most) {
    const span = Math.max(1, last - first);
    const power = 10 ** Math.floor(Math.log10(span / Math.max(1, most)));
    const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => span / n <= most) || 10 * power);
    const found = [];
    for (let value = Math.ceil(first / step) * step; value <= last; value += step) found.push(value);
    return found;
  }

  function xAxis(context, first, last, place, y, width, label) {
    context.fillStyle = style("soft");
    context.strokeStyle = style("line");
    context.textAlign = "center";
    for (const value of ticks(first, last, Math.max(2, Math.floor(width / 70)))) {
      const x = place(value);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x, y + 5);
      context.stroke();
      context.fillText(value.toLocaleString("en-US"), x, y + 14);
    }
    context.fillText(label, place(first) + (place(last) - place(first)) / 2, y + 32);
  }

  /** A row for each series, from left to right in time. */
  function heat(host, panel) {
    const values = panel.series.flatMap((one) => one.y).filter((v) => v !== null && (!panel.log || v > 0));
    let low = panel.min !== undefined && !panel.log ? panel.min : Infinity;
    let high = -Infinity;
    for (const value of values) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (!(high > low)) high = low + (Math.abs(low) || 1);
    const share = (v) => (panel.log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low));
    const rows = panel.series.length;
    const row = Math.max(3, Math.min(20, Math.floor(560 / rows)));
    const xs = panel.series.map((one) => one.x || panel.x);
    const first = Math.min(...xs.map((x) => x[0]));
    const last = Math.max(...xs.map((x) => x[x.length - 1]));
    // A cell begins half a step before its point.
    const gap = xs[0].length > 1 ? xs[0][1] - xs[0][0] : 1;
    const [start, end] = [first - gap / 2, last + gap / 2];
    const text = (v) => (panel.percent ? percent(v) : number(v) + (panel.unit ? ` ${panel.unit}` : ""));
    figure(host, `${panel.title} of ${rows} layers over ${panel.xlabel}`, () => rows * row + 46, (context, width) => {
      const longest = Math.max(...panel.series.map((one) => context.measureText(one.name).width));
      const left = Math.min(Math.max(40, longest + 10), width * 0.3);
      const plot = width - left - 12;
      const place = (x) => left + ((x - start) / (end - start)) * plot;
      panel.series.forEach((one, k) => {
        const x = xs[k];
        one.y.forEach((value, j) => {
          if (value === null || (panel.log && value <= 0)) return;
          const from = Math.floor(j === 0 ? place(start) : place((x[j - 1] + x[j]) / 2));
          const to = Math.ceil(j === x.length - 1 ? place(end) : place((x[j] + x[j + 1]) / 2));
          context.fillStyle = viridis(share(value));
          context.fillRect(from, k * row, Math.max(1, to - from), row - (row > 6 ? 1 : 0));
        });
      });
      context.fillStyle = style("soft");
      context.textAlign = "right";
      const every = Math.ceil(13 / row);
      panel.series.forEach((one, k) => {
        if (k % every === 0) context.fillText(fit(context, one.name, left - 8), left - 6, k * row + row / 2);
      });
      xAxis(context, Math.ceil(first), Math.floor(last), place, rows * row + 2, plot, panel.xlabel);
      return (px, py) => {
        const k = Math.floor(py / row);
        if (k < 0 || k >= rows || px < left || px > left + plot) return null;
        const at = start + ((px - left) / plot) * (end - start);
        const x = xs[k];
        let near = 0;
        for (let j = 1; j < x.length; j++) if (Math.abs(x[j] - at) < Math.abs(x[near] - at)) near = j;
        return `${panel.series[k].name}\n${panel.xlabel} ${number(x[near])}: ${text(panel.series[k].y[near])}`;
      };
    });
    const gradient = VIRIDIS.map((_, k) => viridis(k / (VIRIDIS.length - 1))).join(",");
    const bar = make("i");
    bar.style.background = `linear-gradient(to right, ${gradient})`;
    host.after(make("div", { class: "scale" }, text(low), bar, text(high), panel.log ? " (logarithmic)" : null));
  }

  /** Spikes of neurons: a row for each neuron, a column for each time step. `spikes[row][t]`. */
  function raster(host, data) {
    const { names, spikes, steps, marked } = data;
    const rows = spikes.length;
    const row = Math.max(5, Math.min(24, Math.floor(340 / Math.max(1, rows))));
    return figure(host, `Spikes of ${rows} neurons in ${steps} time steps`, () => rows * row + 46, (context, width) => {
      const left = 62;
      const plot = width - left - 12;
      const column = plot / steps;
      context.fillStyle = style("grid");
      for (let k = 0; k <= rows; k += Math.max(1, Math.ceil(24 / row))) context.fillRect(left, k * row, plot, 1);
      spikes.forEach((train, k) => {
        const own = marked.indexOf(k);
        context.fillStyle = own >= 0 ? style(`c${own}`) : style("ink");
        const tick = Math.max(1, Math.min(column * 0.6, 5));
        train.forEach((fired, t) => {
          if (fired) context.fillRect(left + (t + 0.5) * column - tick / 2, k * row + 0.5, tick, Math.max(2, row - 1.5));
        });
      });
      context.fillStyle = style("soft");
      context.textAlign = "right";
      const every = Math.ceil(15 / row);
      for (let k = 0; k < rows; k += every) context.fillText(fit(context, names[k], left - 8), left - 6, k * row + row / 2);
      context.strokeStyle = style("line");
      context.strokeRect(left + 0.5, 0.5, plot - 1, rows * row);
      xAxis(context, 1, steps, (t) => left + (t - 0.5) * column, rows * row + 2, plot, "time step");
      return (px, py) => {
        const k = Math.floor(py / row);
        const t = Math.floor((px - left) / column);
        if (k < 0 || k >= rows || t < 0 || t >= steps) return null;
        const count = spikes[k].filter(Boolean).length;
        return `neuron ${names[k]}, time step ${t + 1}: ${spikes[k][t] ? "spike" : "no spike"}\n${count} spikes in ${steps} steps`;
      };
    });
  }

  /** Counts of images by label (rows) and prediction (columns). */
  function matrix(host, { classes, counts }) {
    const many = classes.length;
    const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
    const numbers = many <= 20;
    figure(host, `Confusion matrix of ${many} classes`, (width) => Math.min(width, 620), (context, width, height) => {
      const longest = Math.max(...classes.map((name) => context.measureText(name).width));
      const labels = many <= 40;
      const left = labels ? Math.min(longest + 12, 120) + 22 : 30;
      const bottom = labels ? (longest > 30 ? Math.min(longest + 12, 90) : 22) + 22 : 30;
      const size = Math.min(width - left - 8, height - bottom - 4);
      const cell = size / many;
      const dark = document.documentElement.dataset.theme === "dark";
      const ink = (share) => (share > 0.55 ? (dark ? "#0b1016" : "#ffffff") : style("ink"));
      counts.forEach((row, i) => row.forEach((count, j) => {
        const share = sums[i] > 0 ? count / sums[i] : 0;
        context.fillStyle = count === 0 ? style("grid") : `rgba(${style("cell")}, ${0.08 + 0.92 * Math.sqrt(share)})`;
        context.fillRect(left + j * cell, i * cell, cell - (cell > 8 ? 1 : 0), cell - (cell > 8 ? 1 : 0));
        if (numbers && count > 0 && cell > 20) {
          context.fillStyle = ink(0.08 + 0.92 * Math.sqrt(share));
          context.textAlign = "center";
          const text = count.toLocaleString("en-US");
          context.font = `${Math.max(8, Math.min(12, (cell * 1.55) / text.length))}px system-ui, sans-serif`;
          context.fillText(text, left + (j + 0.5) * cell - 0.5, (i + 0.5) * cell);
        }
      }));
      context.font = FONT;
      context.fillStyle = style("soft");
      if (labels) {
        const every = Math.ceil(13 / cell);
        const rows = fitAll(context, classes, left - 30);
        const columns = fitAll(context, classes, bottom - 28);
        classes.forEach((name, k) => {
          if (k % every !== 0) return;
          context.textAlign = "right";
          context.fillText(rows[k], left - 7, (k + 0.5) * cell);
          context.save();
          context.translate(left + (k + 0.5) * cell, size + 7);
          if (longest > 30) {
            context.rotate(-Math.PI / 2);
            context.fillText(columns[k], 0, 0);
          } else {
            context.textAlign = "center";
            context.fillText(name, 0, 6);
          }
          context.restore();
        });
      }
      context.textAlign = "center";
      context.fillText("predicted class", left + size / 2, size + bottom - 9);
      context.save();
      context.translate(9, size / 2);
      context.rotate(-Math.PI / 2);
      context.fillText("true class", 0, 0);
      context.restore();
      return (px, py) => {
        const [j, i] = [Math.floor((px - left) / cell), Math.floor(py / cell)];
        if (i < 0 || j < 0 || i >= many || j >= many) return null;
        const share = sums[i] > 0 ? ` (${percent(counts[i][j] / sums[i])} of its images)` : "";
        return `true class ${classes[i]}, predicted as ${classes[j]}\n${counts[i][j].toLocaleString("en-US")} images${share}`;
      };
    });
  }

  return { heat, raster, matrix };
})();
