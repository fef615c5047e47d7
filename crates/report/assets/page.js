// What moves in the page: charts drawn when they come into view, the filter, downloads. It asks nothing of any network.
(() => {
  'use strict';
  const root = document.documentElement;
  const hosts = [...document.querySelectorAll('.chart')];
  const drawn = new Map();
  let printing = false;

  const setOption = (host) => {
    const { chart, description } = drawn.get(host);
    const height = kvtrialChart.height(description, host.clientWidth);
    if (height) {
      host.style.height = `${height}px`;
      chart.resize();
    }
    chart.setOption(kvtrialChart.option(description, printing ? 'light' : kvtrialTheme.name(), host.clientWidth), { notMerge: true });
  };
  const draw = (host) => {
    if (drawn.has(host) || host.clientWidth === 0) return;
    const description = JSON.parse(host.nextElementSibling.textContent);
    host.textContent = '';
    const chart = echarts.init(host, null, { renderer: 'svg' });
    drawn.set(host, { chart, description });
    setOption(host);
    const svg = host.querySelector('svg');
    if (svg) svg.setAttribute('aria-hidden', 'true');
    root.dataset.drawn = String(drawn.size);
  };
  const drawAll = () => hosts.forEach(draw);
  root.dataset.charts = String(hosts.length);
  root.dataset.drawn = '0';

  const seen = new IntersectionObserver((entries) => entries.forEach((e) => e.isIntersecting && draw(e.target)), { rootMargin: '300px' });
  const sized = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const known = drawn.get(target);
      if (!known) drawIfNear(target);
      else if (target.clientWidth > 0 && known.width !== target.clientWidth) {
        known.width = target.clientWidth;
        known.chart.resize();
        setOption(target);
      }
    }
  });
  const drawIfNear = (host) => {
    const box = host.getBoundingClientRect();
    if (box.width > 0 && box.top < innerHeight + 300 && box.bottom > -300) draw(host);
  };
  hosts.forEach((host) => { seen.observe(host); sized.observe(host); });

  const redraw = () => drawn.forEach((_, host) => setOption(host));
  document.addEventListener('theme', redraw);
  // On paper everything is shown.
  let closed = [];
  addEventListener('beforeprint', () => {
    printing = true;
    closed = [...document.querySelectorAll('details.part:not([open])')];
    closed.forEach((d) => { d.open = true; });
    drawAll();
    drawn.forEach(({ chart }, host) => { chart.resize(); setOption(host); });
  });
  addEventListener('afterprint', () => {
    printing = false;
    closed.forEach((d) => { d.open = false; });
    redraw();
  });

  // A link to something in a closed part opens it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let d = target && target.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  if (location.hash) reveal();

  const filter = document.getElementById('filter');
  if (filter) {
    const rows = [...document.querySelectorAll('#cells tbody tr')];
    const found = document.getElementById('found');
    filter.addEventListener('input', () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((w) => text.includes(w));
        n += row.hidden ? 0 : 1;
      }
      found.textContent = `${n} of ${rows.length} cells`;
    });
  }

  // Files kept in the page: gzip in base64.
  const unpack = async (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).blob();
  };
  const save = (content, type, name) => {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([content], { type }));
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  };
  for (const link of document.querySelectorAll('button[data-file]')) {
    link.hidden = false;
    link.addEventListener('click', async () => save(await unpack(link.dataset.file), link.dataset.type, link.dataset.name));
  }
  // A chart as a file of its own, as wide as kvtrial draws it.
  const svg = (figure) => {
    const text = (selector) => figure.querySelector(selector)?.textContent ?? '';
    const description = JSON.parse(figure.querySelector('script').textContent);
    const host = figure.querySelector('.chart');
    return kvtrialChart.svg(description, text('h3'), text('figcaption .note'), 920, host.clientHeight);
  };
  for (const button of document.querySelectorAll('button[data-chart]')) {
    button.hidden = false;
    button.addEventListener('click', () => save(svg(button.closest('figure')), 'image/svg+xml', `${button.dataset.chart}.svg`));
  }
  for (const copy of document.querySelectorAll('button[data-copy]')) {
    copy.hidden = !navigator.clipboard;
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
      copy.textContent = 'Copied';
      setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
    });
  }

  globalThis.kvtrialPage = { drawAll, unpack, svg };
  root.dataset.ready = 'yes';
})();
