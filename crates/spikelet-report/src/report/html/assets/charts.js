// Lines over epochs, steps or time steps, drawn by uPlot: drag to zoom, double-click to see all.
const Charts = (() => {
  const { make, number, style, color, drawn } = Dom;
  const DASHES = [null, [6, 4], [2, 3], [8, 3, 2, 3]];

  /** The distances between ticks of epochs, steps and time steps. */
  const WHOLE = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

  /** The series of a panel as uPlot's columns: a common x, and null where a series has no point. */
  function columns(panel, log) {
    const scale = panel.percent ? 100 : 1;
    const keep = (y) => (y === null || (log && y <= 0) ? null : y * scale);
    const tables = panel.series.map((one) => [one.x || panel.x, one.y.map(keep)]);
    return uPlot.join(tables, tables.map(() => [1, 2]));
  }

  const unitOf = (panel) => (panel.percent ? " %" : panel.unit ? ` ${panel.unit}` : "");

  function axis(label, options = {}) {
    return {
      stroke: () => style("soft"), grid: { stroke: () => style("grid"), width: 1 },
      ticks: { stroke: () => style("line"), width: 1, size: 5 },
      font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", label, labelSize: 20, ...options,
    };
  }

  function options(panel, width, height, log, toggled) {
    const unit = unitOf(panel);
    const show = (u, value) => (value === null || value === undefined ? "–" : number(value) + unit);
    const xName = panel.xlabel;
    const last = (u) => u.data[0].length - 1;
    return {
      width, height, padding: [10, 28, 0, 4],
      scales: {
        x: { time: false, range: (u, low, high) => (low === high ? [low - 0.5, high + 0.5] : [low, high]) },
        y: log
          ? { distr: 3 }
          : { range: (u, low, high) => {
              if (low === null) return [0, 1];
              const top = high > low ? high : high === 0 ? 1 : high + Math.abs(high) * 0.1;
              const [a, b] = uPlot.rangeNum(low, top, 0.08, true);
              return [panel.min === undefined ? a : Math.min(panel.min, low), b];
            } },
      },
      axes: [
        axis(xName, { incrs: WHOLE, size: 34,
          values: (u, ticks) => ticks.map((v) => v.toLocaleString("en-US")) }),
        axis(undefined, { size: 58, values: (u, ticks) => ticks.map((v) => (v === null || v === undefined ? "" : number(v) + (panel.percent ? " %" : ""))) }),
      ],
      cursor: { sync: panel.sync ? { key: panel.sync } : undefined, drag: { x: true, y: false }, points: { size: 7 } },
      legend: { live: true, markers: { width: 0, fill: (u, k) => (k === 0 ? "transparent" : color(panel.series[k - 1].color ?? k - 1)) } },
      series: [
        { label: xName, value: (u, v) => (v === null || v === undefined ? "–" : number(v)) },
        ...panel.series.map((one, k) => ({
          label: one.name, value: show, spanGaps: true, pxAlign: 0, show: !toggled.has(k), width: one.thin ? 1 : 1.75,
          stroke: () => color(one.color ?? k), dash: one.dash ? DASHES[one.dash] : k >= 8 ? DASHES[1 + (Math.floor(k / 8) % 3)] : undefined,
          points: { show: u_points, size: 5, fill: () => color(one.color ?? k) },
          ...(one.steps ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
        })),
      ],
      hooks: {
        // Without the cursor the legend has the last values.
        setCursor: [(u) => { if (u.cursor.idx === null || u.cursor.idx === undefined) u.setLegend({ idx: last(u) }, false); }],
        ready: [(u) => u.setLegend({ idx: last(u) }, false)],
        setSeries: [(u, k, change) => {
          if (k > 0 && change && change.show !== undefined) change.show ? toggled.delete(k - 1) : toggled.add(k - 1);
        }],
        draw: [(u) => mark(u, panel)],
      },
    };
  }

  /** Points are drawn where there are few. */
  function u_points(u, series, first, last) {
    let count = 0;
    for (let k = first; k <= last && count <= 30; k++) if (u.data[series][k] !== null && u.data[series][k] !== undefined) count++;
    return count <= 30;
  }

  /** The vertical line of the best epoch. */
  function mark(u, panel) {
    if (panel.mark === undefined || panel.mark === null) return;
    const x = u.valToPos(panel.mark, "x", true);
    const { left, top, width, height } = u.bbox;
    if (x < left || x > left + width) return;
    const { ctx } = u;
    ctx.save();
    ctx.strokeStyle = style("faint");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    ctx.fillStyle = style("soft");
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    const right = x > left + width * 0.8;
    ctx.textAlign = right ? "right" : "left";
    ctx.fillText("best", x + (right ? -4 : 4) * devicePixelRatio, top + height - 6 * devicePixelRatio);
    ctx.restore();
  }

  /** Draws the lines of a panel into `host`. */
  function lines(host, panel, height = 240) {
    const toggled = new Set();
    const state = { log: Boolean(panel.log), chart: null };
    const draw = (width) => {
      if (state.chart) state.chart.destroy();
      const data = columns(panel, state.log);
      state.chart = new uPlot(options(panel, width, height, state.log, toggled), data, host);
    };
    drawn(host, draw);
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", `${panel.title}: ${panel.series.map((one) => one.name).join(", ")}`);
    return { setLog: (log) => { state.log = log; draw(host.clientWidth); }, get log() { return state.log; } };
  }

  /** The potentials of neurons, one below the other, with the threshold. */
  function lanes(host, curves, threshold) {
    curves.forEach(({ name, y, color: own }, k) => {
      const last = k === curves.length - 1;
      const x = y.map((_, t) => t + 1);
      const marker = make("i");
      const value = make("span");
      const lane = make("div", { class: "figure" });
      const say = (t) => { value.textContent = t === null || t === undefined ? "" : `: V = ${number(y[t])} at time step ${t + 1}`; };
      host.append(make("div", { class: "lane" }, marker, `neuron ${name}`, value), lane);
      const lines = threshold === null ? [] : [threshold];
      const known = y.concat(lines).filter((v) => v !== null);
      const [low, high] = [Math.min(0, ...known), Math.max(...known, 1e-6)];
      let chart = null;
      drawn(lane, (width) => {
        if (chart) chart.destroy();
        marker.style.background = color(own);
        chart = new uPlot({
          width, height: last ? 108 : 68, padding: [4, 16, 0, 4], legend: { show: false },
          scales: { x: { time: false, range: (u, a, b) => (a === b ? [a - 0.5, b + 0.5] : [a, b]) }, y: { range: [low - 0.06 * (high - low), high + 0.08 * (high - low)] } },
          axes: [axis(last ? "time step" : undefined, { show: last, size: 34, incrs: WHOLE }), axis(undefined, { size: 46, space: 22, values: (u, ticks) => ticks.map(number) })],
          cursor: { sync: { key: "potentials" }, drag: { x: true, y: false }, points: { size: 6 } },
          series: [{}, { stroke: () => color(own), width: 1.5, points: { show: false } },
            { stroke: () => style("faint"), width: 1, dash: [5, 4], points: { show: false } }],
          hooks: { setCursor: [(u) => say(u.cursor.idx)] },
        }, [x, y, x.map(() => threshold)], lane);
      });
    });
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", `Membrane potentials of ${curves.length} neurons`);
  }

  /** A button that switches a panel between a linear and a logarithmic axis. */
  function logButton(get, pressed) {
    const button = make("button", { type: "button", class: "small", "aria-pressed": String(Boolean(pressed)), title: "Logarithmic axis", onclick: () => {
      const chart = get();
      chart.setLog(!chart.log);
      button.setAttribute("aria-pressed", String(chart.log));
    } }, "log");
    return button;
  }

  return { lines, lanes, logButton };
})();
