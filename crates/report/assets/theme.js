// Light or dark: as the reader's system says, until the button turns it. What draws with colours of its own listens to the event 'theme'.
(() => {
  'use strict';
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const button = document.getElementById('theme');
  const name = () => root.dataset.theme || (system.matches ? 'dark' : 'light');
  const turned = () => {
    const dark = name() === 'dark';
    button.setAttribute('aria-pressed', String(dark));
    button.textContent = dark ? 'Light' : 'Dark';
    document.dispatchEvent(new Event('theme'));
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    root.dataset.theme = name() === 'dark' ? 'light' : 'dark';
    turned();
  });
  system.addEventListener('change', turned);
  turned();
  globalThis.kvtrialTheme = { name };
})();
