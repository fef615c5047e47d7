// Turns a chart's description, which is plain JSON, into an ECharts option. The same code draws in the page and, run by
// kvtrial, the files in plots/. Descriptions hold no code: colours are `$name` of the theme, formatters `@name` of the table below.
(() => {
  'use strict';

  // Colours that stay apart for colour-blind readers: after Okabe and Ito (2008), with their dark twins.
  const themes = {
    light: {
      paper: '#ffffff', ink: '#1b1f24', muted: '#57606a', line: '#d0d7de', faint: '#eef1f4', bad: '#b3261e', stall: 'rgba(179,38,30,0.16)', baseline: '#7a828c',
      c0: '#0072b2', c1: '#d55e00', c2: '#008a63', c3: '#b0578d', c4: '#a87400', c5: '#2f8fc7', c6: '#5b4b9a', c7: '#7f5539',
      // Layers of a cost budget, light to dark from the inside out; no store has these.
      l0: '#c3cad1', l1: '#94a3ae', l2: '#5d7280', l3: '#2a3b47', m0: '#b9ae9a', m1: '#857b68', m2: '#4d4638',
    },
    dark: {
      paper: '#14181d', ink: '#e8ebee', muted: '#a5afba', line: '#3a424c', faint: '#232a31', bad: '#ff8a80', stall: 'rgba(255,138,128,0.22)', baseline: '#99a3ae',
      c0: '#56b4e9', c1: '#ff9452', c2: '#2fc79a', c3: '#e59bc6', c4: '#f0c541', c5: '#8fd0ff', c6: '#b3a4f0', c7: '#cfa283',
      l0: '#4a545d', l1: '#718089', l2: '#a3b3bd', l3: '#dfe8ee', m0: '#5b5548', m1: '#968b76', m2: '#d3c7ae',
    },
  };
  const COLOUR_KEYS = new Set(['color', 'borderColor', 'backgroundColor']);

  const digits = (x) => (x === 0 ? '0' : x < 9.995 ? x.toFixed(2) : x < 99.95 ? x.toFixed(1) : x.toFixed(0));
  const scaled = (x, steps) => {
    for (const [unit, size] of steps) if (Math.abs(x) / size < 999.5) return [x / size, unit];
    const [unit, size] = steps[steps.length - 1];
    return [x / size, unit];
  };
  const NS = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
  const COUNT = [['', 1], ['k', 1e3], ['M', 1e6], ['G', 1e9]];
  const bytes = (x) => {
    const steps = [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]];
    for (const [unit, size] of steps) if (x >= size) return [x / size, unit];
    return [x, 'B'];
  };
  const text = ([x, unit], show) => show(x) + (unit ? '\u00a0' + unit : '');
  const short = (x) => String(Number(x.toPrecision(3)));
  const units = {
    ns: (x) => scaled(x, NS), s: (x) => scaled(x * 1e9, NS), bytes,
    count: (x) => scaled(x, COUNT), rate: (x) => scaled(x, COUNT), number: (x) => [x, ''], percent: (x) => [x, '%'], ratio: (x) => [x, 'x'],
  };
  const missing = (x) => x === null || x === undefined || x === '-' || Number.isNaN(x);
  const value = (unit) => (x) => (missing(x) ? '–' : text(units[unit](Number(x)), digits) + (unit === 'rate' ? '/s' : ''));
  const axis = (unit) => (x) => Number(x) === 0 ? '0' : text(units[unit](Number(x)), short) + (unit === 'rate' ? '/s' : '');

  // 0, 1, 2, 3 nines: the axis of latency curves is -log10(1 - share).
  // One decimal more between two whole nines: the axis may end there.
  const nines = (x) => `${+(100 * (1 - 10 ** -x)).toFixed(Math.max(0, Math.ceil(x) - 2 + (Number.isInteger(x) ? 0 : 1)))} %`;
  const escape = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

  const formatters = { nines };
  for (const unit of Object.keys(units)) {
    formatters[`${unit}.axis`] = axis(unit);
    formatters[`${unit}.value`] = value(unit);
    // A figure with its interval and the number of trials: data are [value, row, low, high, n, level].
    formatters[`${unit}.interval`] = (point) => {
      const [x, row, low, high, n, level] = point.data.value;
      const show = value(unit);
      const interval = level > 0 ? `${show(low)} to ${show(high)} (${Math.round(level * 100)} % interval)` : 'one trial, no interval';
      return `<strong>${escape(point.data.label0 ?? point.name)}</strong><br>${show(x)}<br>${interval}<br>n = ${n}`;
    };
  }
  formatters['percentile.title'] = (points) => {
    const list = Array.isArray(points) ? points : [points];
    const share = 100 * (1 - 10 ** -Number(list[0].axisValue ?? list[0].value[0]));
    const rows = list.map((p) => `${p.marker}${escape(p.seriesName)} <strong>${value('ns')(p.value[1])}</strong>`);
    return [`${Number(share.toFixed(5))} % of operations within`, ...rows].join('<br>');
  };
  formatters['rate.p99'] = ({ marker, name, seriesName, data }) => {
    const [rate, p99] = data.value ?? data;
    return `${marker}<strong>${escape(name || seriesName)}</strong><br>${value('rate')(rate)}<br>p99 ${value('ns')(p99)}`;
  };
  formatters['seconds.axis'] = (x) => `${short(Number(x))}`;

  // Whiskers of an interval, along the axis the values are on.
  const whisker = (along) => (params, api) => {
    const position = api.value(along === 'x' ? 1 : 0);
    const at = (v) => (along === 'x' ? api.coord([v, position]) : api.coord([position, v]));
    const [low, high] = [at(api.value(2)), at(api.value(3))];
    const [dx, dy] = along === 'x' ? [0, 5] : [5, 0];
    const cap = ([x, y]) => [[x - dx, y - dy], [x + dx, y + dy]];
    const points = [...cap(low), low, high, ...cap(high)];
    return { type: 'polyline', shape: { points }, style: { stroke: api.visual('color'), fill: null, lineWidth: 1.6 } };
  };
  const renderers = { 'whisker.x': whisker('x'), 'whisker.y': whisker('y') };

  const resolve = (node, key, theme) => {
    if (Array.isArray(node)) return key === 'data' && typeof node[0] !== 'object' ? node : node.map((child) => resolve(child, key, theme));
    if (node !== null && typeof node === 'object') {
      const out = {};
      for (const name of Object.keys(node)) out[name] = resolve(node[name], name, theme);
      return out;
    }
    if (typeof node !== 'string') return node;
    if (node[0] === '$' && COLOUR_KEYS.has(key)) return theme[node.slice(1)] ?? node;
    if (node[0] === '@' && (key === 'formatter' || key === 'valueFormatter')) return formatters[node.slice(1)];
    if (node[0] === '@' && key === 'renderItem') return renderers[node.slice(1)];
    return node;
  };

  // Words beside the rows of a picture: a phone has no room for them, and gives it to the names.
  const isBeside = (a) => Boolean(a) && a.type === 'category' && a.position === 'right';
  const hasBeside = (o) => [o.yAxis].flat().some(isBeside);
  const each = (part, change) => (Array.isArray(part) ? part.forEach(change) : part && change(part));

  // Facets: as many pictures in a row as there is room for.
  const FACET = { least: 240, height: 220, title: 22, below: 48, left: 62, gap: 18 };
  const rows = ({ facets, grid }, width) => {
    const columns = Math.max(1, Math.min(facets.columns, Math.floor(width / FACET.least)));
    return [columns, Math.ceil(grid.length / columns)];
  };
  const height = (description, width) => {
    if (!description.facets) return undefined;
    const head = description.facets.legend ? 36 : 4;
    return description.grid.length === 1 ? head + 320 : head + rows(description, width)[1] * FACET.height;
  };
  const place = (o, width) => {
    const [columns, lines] = rows(o, width);
    const head = o.facets.legend ? 36 : 4;
    const high = (height(o, width) - head) / lines;
    const wide = (width - 8) / columns;
    o.title = [];
    o.grid = o.grid.map((_, at) => {
      const [column, line] = [at % columns, Math.floor(at / columns)];
      const left = column * wide + FACET.left;
      const top = head + line * high + (o.facets.titles[at] ? FACET.title : 8);
      if (o.facets.titles[at]) o.title.push({ text: o.facets.titles[at], left: left - 4, top: head + line * high, textStyle: { width: wide - 30 } });
      return { left, top, width: wide - FACET.left - FACET.gap, height: head + (line + 1) * high - FACET.below - top };
    });
    delete o.facets;
  };

  // What every chart shares: quiet axes, readable text, no animation.
  const dressed = (option, theme, width) => {
    const o = resolve(option, '', theme);
    if (o.facets) place(o, width);
    o.animation = false;
    o.backgroundColor = theme.paper;
    const names = width >= 500 ? 0.3 : hasBeside(o) ? 0.52 : 0.4;
    o.textStyle = { color: theme.ink, fontFamily: 'system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif' };
    for (const name of ['xAxis', 'yAxis']) {
      each(o[name], (a) => {
        a.axisLine = { lineStyle: { color: theme.line }, ...a.axisLine };
        a.axisTick = { lineStyle: { color: theme.line }, ...a.axisTick };
        a.splitLine = { lineStyle: { color: theme.faint }, ...a.splitLine };
        a.minorSplitLine = { show: false };
        a.axisLabel = { color: theme.muted, hideOverlap: true, ...a.axisLabel };
        a.nameTextStyle = { color: theme.muted, ...a.nameTextStyle };
        if (a.type === 'category' && name === 'yAxis') {
          a.axisLabel = { width: Math.max(70, width * names - 10), overflow: 'truncate', ...a.axisLabel, color: theme.ink };
          if (isBeside(a) && width < 500) a.axisLabel.show = false;
        }
        if (name === 'xAxis' && a.type !== 'category' && a.splitNumber === undefined) a.splitNumber = width < 500 ? 3 : 6;
      });
    }
    each(o.legend, (l) => {
      l.textStyle = { color: theme.ink };
      l.type = 'scroll';
      l.itemGap = 18;
      l.pageTextStyle = { color: theme.ink };
      l.pageIconColor = theme.ink;
      l.pageIconInactiveColor = theme.line;
      l.inactiveColor = theme.line;
    });
    each(o.title, (t) => {
      t.textStyle = { color: theme.ink, fontSize: 12, fontWeight: 'bold', width: 150, overflow: 'truncate', ...t.textStyle };
    });
    if (o.tooltip) {
      o.tooltip = { confine: true, backgroundColor: theme.paper, borderColor: theme.line, textStyle: { color: theme.ink, fontSize: 13 }, ...o.tooltip };
    }
    return o;
  };

  // Names in the legend of a picture: more than fit in its one line.
  const LEGEND = 24;
  // The note of a picture: width of a letter and height of a line, in pixels.
  const NOTE = { letter: 6.7, line: 16 };

  globalThis.kvtrialChart = {
    themes,
    height,
    option: (description, themeName, width) => dressed(description, themes[themeName], width),
    // A whole picture with its title, for a file.
    svg: (description, title, subtitle, width, fixedHeight) => {
      const theme = themes.light;
      // A note of several lines moves the picture down. Without a browser its width is guessed, and too small.
      const noteWidth = 0.85 * (width - 24);
      const lines = Math.max(1, Math.ceil((subtitle.length * NOTE.letter) / noteWidth));
      const head = 54 + NOTE.line * (lines - 1);
      const whole = head + (height(description, width) ?? fixedHeight);
      const o = dressed(description, theme, width);
      const down = (part) => each(part, (p) => { if (typeof p.top === 'number') p.top += head; });
      // Without a browser the width of names is guessed, and too small for this font.
      const names = [o.yAxis].flat().flatMap((a) => (a && a.type === 'category' ? a.data : []));
      const slack = Math.min(48, 1.3 * Math.max(0, ...names.map((name) => String(name.value ?? name).length)));
      each(o.grid, (g) => {
        if (!g.containLabel) return;
        g.left += slack;
        if (hasBeside(o)) g.right += slack;
      });
      down(o.grid);
      down(o.title);
      down(o.legend);
      // A picture is not pointed at, nor leafed through.
      each(o.legend, (l) => {
        l.pageIconSize = 0;
        l.data = (l.data ?? [...new Set(o.series.map((s) => s.name))]).slice(0, LEGEND);
        // Nothing here knows how wide letters are: those of some fonts take a pixel more each than is reckoned.
        const longest = Math.max(0, ...l.data.map((name) => String(name.name ?? name).length));
        if (longest > 30) l.itemGap = longest;
        l.pageFormatter = ({ current, total }) => (current < total ? 'and more' : '');
      });
      const heading = {
        text: title, subtext: subtitle, left: 12, top: 10, itemGap: 5, textStyle: { color: theme.ink, fontSize: 16 },
        subtextStyle: { color: theme.muted, fontSize: 12, lineHeight: NOTE.line, width: noteWidth, overflow: 'break' },
      };
      o.title = [heading].concat(o.title ?? []);
      delete o.tooltip;
      each(o.series, (s) => {
        s.emphasis = { disabled: true };
        s.silent = true;
        const { max } = [o.yAxis].flat()[s.yAxisIndex ?? 0] ?? {};
        if (s.type === 'line' && typeof max === 'number') {
          s.data = s.data.map((point) => (Array.isArray(point) ? [point[0], Math.min(point[1], max)] : point));
        }
      });
      const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height: whole });
      chart.setOption(o);
      // To cut a line off costs a rasteriser a layer as large as the picture: where an axis ends below its data, the line goes along its end.
      chart.getModel().eachSeries((s) => chart.getViewOfSeriesModel(s).group.traverse((it) => { it.removeClipPath(); }));
      const svg = chart.renderToSVGString({ cssAnimation: false, cssEmphasis: false });
      chart.dispose();
      return svg;
    },
  };
})();
