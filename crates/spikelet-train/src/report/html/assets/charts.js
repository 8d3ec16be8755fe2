// Lines over epochs, steps or time steps, drawn by uPlot: drag to zoom, double-click to see all.
const Charts = (() => {
  const { make, number, style, color, drawn } = Dom;
  const DASHES = [null, [6, 4], [2, 3], [8, 3, 2, 3]];

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
    const integers = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500].flatMap((n) => [n]);
    const large = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((n) => [n, 2 * n, 5 * n]);
    const last = (u) => u.data[0].length - 1;
    return {
      width, height, padding: [10, 12, 0, 4],
      scales: {
        x: { time: false, range: (u, low, high) => (low === high ? [low - 0.5, high + 0.5] : [low, high]) },
        y: log
          ? { distr: 3 }
          : { range: (u, low, high) => {
              if (low === null) return [0, 1];
              const [a, b] = uPlot.rangeNum(low, high === low ? low + Math.max(1e-6, Math.abs(low) * 0.1) : high, 0.08, true);
              return [panel.min === undefined ? a : Math.min(panel.min, low), b];
            } },
      },
      axes: [
        axis(xName, { incrs: integers.concat(large), size: 34,
          values: (u, ticks) => ticks.map((v) => v.toLocaleString("en-US")) }),
        axis(undefined, { size: 58, values: (u, ticks) => ticks.map((v) => (v === null || v === undefined ? "" : number(v) + (panel.percent ? " %" : ""))) }),
      ],
      cursor: { sync: panel.sync ? { key: panel.sync } : undefined, drag: { x: true, y: false }, points: { size: 7 } },
      legend: { live: true, markers: { width: 0, fill: (u, k) => (k === 0 ? "transparent" : color(panel.series[k - 1].color ?? k - 1)) } },
      series: [
        { label: xName, value: (u, v) => (v === null || v === undefined ? "–" : number(v)) },
        ...panel.series.map((one, k) => ({
          label: one.name, value: show, spanGaps: true, show: !toggled.has(k), width: one.thin ? 1 : 1.75,
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
    for (let k = first; k <= last && count <= 60; k++) if (u.data[series][k] !== null && u.data[series][k] !== undefined) count++;
    return count <= 60;
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
    ctx.fillText("best", x + (right ? -4 : 4) * devicePixelRatio, top + 11 * devicePixelRatio);
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

  /** A button that switches a panel between a linear and a logarithmic axis. */
  function logButton(get, pressed) {
    const button = make("button", { type: "button", class: "small", "aria-pressed": String(Boolean(pressed)), title: "Logarithmic axis", onclick: () => {
      const chart = get();
      chart.setLog(!chart.log);
      button.setAttribute("aria-pressed", String(chart.log));
    } }, "log");
    return button;
  }

  return { lines, logButton };
})();
