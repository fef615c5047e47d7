'use strict';
// The first of many are shown; the rest when asked for.
const MOST_CARDS = 9;
const MOST_ROWS = 100;

// What a form asks for: pairs of a fact and its value, both by number.
const asked = (form) =>
  [...form.querySelectorAll('select')].filter((select) => select.value !== '').map((select) => [Number(select.dataset.fact), Number(select.value)]);
const fits = (facts, wanted) => wanted.every(([fact, value]) => facts[fact] === value);

// Draws the first of what fits a form, and again when the form changes.
const follow = (form, more, most, draw) => {
  let shown = most;
  const update = () => {
    const found = draw(asked(form), shown);
    form.querySelector('.count').textContent = `${found.fitting} of ${found.all} ${form.dataset.noun}`;
    more.hidden = found.fitting <= shown;
    more.textContent = `Show all ${found.fitting}`;
  };
  form.addEventListener('change', () => { shown = most; update(); });
  form.addEventListener('submit', (event) => event.preventDefault());
  more.addEventListener('click', () => { shown = Infinity; update(); });
  addEventListener('beforeprint', () => { shown = Infinity; update(); });
  return update;
};

for (const list of document.querySelectorAll('ul.answers')) {
  const cards = [...list.children].map((card) => [card, card.dataset.facts.split(' ').map(Number)]);
  const update = follow(document.getElementById(list.dataset.form), list.nextElementSibling, MOST_CARDS, (wanted, most) => {
    let fitting = 0;
    for (const [card, facts] of cards) {
      const fit = fits(facts, wanted);
      if (fit) fitting += 1;
      card.hidden = !fit || fitting > most;
    }
    return { fitting, all: cards.length };
  });
  update();
}

const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

for (const table of document.querySelectorAll('table.results')) {
  const { way, texts, rows } = JSON.parse(document.getElementById(table.dataset.rows).textContent);
  const link = (text, address) => element('a', { href: way + address }, text);
  const small = (text) => element('small', {}, text);
  const drawn = ([place, names, figure, interval, share, [day, study, mark]]) => {
    const [store, version, storePage, job, kind, board] = names.map((at) => texts[at]);
    const row = element('tr', { className: figure === 'void' ? 'void' : '' },
      element('td', { className: 'num' }, place),
      element('th', { scope: 'row' }, link(store, storePage), document.createElement('br'), small(version)),
      element('td', {}, link(job, board), document.createElement('br'), small(kind)),
      element('td', { className: 'num' }, figure === 'void' ? element('strong', { className: 'bad' }, figure) : figure, document.createElement('br'), small(interval)),
      element('td', {}, link(texts[day], `studies/${texts[study]}/report.html`), document.createElement('br'), small(texts[mark])));
    if (share >= 0) {
      const length = element('span', { className: 'share' });
      length.style.width = `${share / 10}%`;
      const bar = element('span', { className: 'bar' }, length);
      bar.setAttribute('aria-hidden', 'true');
      row.cells[3].append(bar);
    }
    return row;
  };
  // What each column is sorted by: places that are none come last, and figures by how near they are to the best of their list.
  const keys = [
    (row) => (row[0] === '' ? Infinity : parseInt(row[0], 10)),
    (row) => texts[row[1][0]],
    (row) => `${texts[row[1][3]]} ${texts[row[1][4]]}`,
    (row) => (row[4] < 0 ? Infinity : 1000 - row[4]),
    (row) => texts[row[5][0]],
  ];
  const heads = [...table.tHead.rows[0].cells];
  let order = rows;
  const update = follow(document.getElementById(table.dataset.form), table.closest('.scroll').nextElementSibling, MOST_ROWS, (wanted, most) => {
    const fitting = order.filter((row) => fits(row[6], wanted));
    table.tBodies[0].replaceChildren(...fitting.slice(0, most).map(drawn));
    return { fitting: fitting.length, all: rows.length };
  });
  heads.forEach((head, at) => head.querySelector('button').addEventListener('click', () => {
    const falls = head.getAttribute('aria-sort') === 'ascending';
    heads.forEach((other) => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
    const compare = (a, b) => (typeof a === 'number' ? a - b || 0 : a.localeCompare(b));
    order = rows.map((row) => [keys[at](row), row]).sort(([a], [b]) => (a === b ? 0 : compare(a, b))).map(([, row]) => row);
    if (falls) order.reverse();
    update();
  }));
  update();
}
document.documentElement.dataset.ready = 'yes';
