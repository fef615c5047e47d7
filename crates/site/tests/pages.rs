//! The pages in a real browser: the question, filters, order, a phone, the dark, paper, the keyboard, and readers who do not see.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)] // it serves the reports, too
#[path = "../../report/tests/browser/mod.rs"]
mod browser;
mod sample;

use browser::{Browser, Screen};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const DESK: Screen = Screen { width: 1200, scheme: "light" };
const NIGHT: Screen = Screen { width: 1200, scheme: "dark" };
const PHONE: Screen = Screen { width: 360, scheme: "light" };

/// A site with one page of each kind.
struct Site {
    first: PathBuf,
    _root: TempDir,
}

impl Site {
    fn new() -> Site {
        let root = TempDir::new().unwrap();
        Site { first: sample::site_of_many_kinds(&root), _root: root }
    }

    /// The first page, and one of each other kind.
    fn pages(&self) -> Vec<PathBuf> {
        let root = self.first.parent().unwrap();
        let one_of = |kind: &str| {
            let mut pages: Vec<PathBuf> =
                std::fs::read_dir(root.join(kind)).unwrap().map(|entry| entry.unwrap().path()).collect();
            pages.sort();
            pages.remove(0)
        };
        let others = ["boards", "stores", "jobs", "machines"].map(one_of);
        std::iter::once(self.first.clone()).chain(others).collect()
    }
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// Chooses a value by its words, as a reader does.
fn choose(browser: &mut Browser, select: &str, word: &str) {
    let found = browser.evaluate(&format!(
        "(() => {{ const select = document.getElementById('{select}');
           const option = [...select.options].find(option => option.text === '{word}');
           if (!option) return false;
           select.value = option.value; select.dispatchEvent(new Event('change', {{ bubbles: true }})); return true; }})()"
    ));
    assert_eq!(found, json!(true), "{select} has no {word}");
}

fn answers(browser: &mut Browser) -> Vec<String> {
    texts(&browser.evaluate(
        "[...document.querySelectorAll('.answers li:not([hidden]) > p:first-of-type')].map(p => p.innerText)",
    ))
}

fn rows(browser: &mut Browser, column: usize) -> Vec<String> {
    texts(&browser.evaluate(&format!(
        "[...document.querySelectorAll('table.results tbody tr')].map(row => row.cells[{column}].innerText.split('\\n')[0])"
    )))
}

fn press(browser: &mut Browser, key: &str, text: &str) {
    for kind in ["keyDown", "keyUp"] {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            _ => 32,
        };
        let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": if kind == "keyDown" { text } else { "" } });
        browser.call("Input.dispatchKeyEvent", event);
    }
}

#[test]
fn the_question_is_answered_by_who_is_first_and_by_how_much_the_next_is_slower() {
    let (site, mut browser) = (Site::new(), Browser::start());
    browser.open(&site.first, DESK);
    assert_eq!(answers(&mut browser).len(), 3);
    choose(&mut browser, "ask-reads", "mostly reads");
    let [only] = &answers(&mut browser)[..] else { panic!("{:?}", answers(&mut browser)) };
    assert!(only.starts_with("redis is first. Next is memcached, 1.3"), "{only}");
    choose(&mut browser, "ask-durability", "commit");
    assert!(answers(&mut browser).is_empty());
    choose(&mut browser, "ask-reads", "any");
    let found = answers(&mut browser);
    assert!(found.len() == 1 && found[0].starts_with("lmdb is first. Next is sqlite, 3"), "{found:?}");
    assert!(
        browser.complaints.is_empty() && browser.requests.is_empty(),
        "{:?} {:?}",
        browser.complaints,
        browser.requests
    );
}

#[test]
fn results_are_filtered_by_every_fact_and_sorted_by_every_column() {
    let (site, mut browser) = (Site::new(), Browser::start());
    browser.open(&site.first, DESK);
    let all = rows(&mut browser, 1);
    assert_eq!(all.len(), 9, "{all:?}");
    choose(&mut browser, "filter-store", "LMDB");
    assert_eq!(rows(&mut browser, 1).len(), 3);
    choose(&mut browser, "filter-shown", "shown by crashes");
    assert_eq!(rows(&mut browser, 1), ["lmdb"]);
    assert_eq!(browser.evaluate("document.querySelector('#filter .count').innerText"), json!("1 of 9 results"));
    choose(&mut browser, "filter-shown", "any");
    choose(&mut browser, "filter-store", "any");
    let sorted_by = |browser: &mut Browser, column: usize| {
        browser.evaluate(&format!("document.querySelectorAll('table.results th button')[{column}].click()"));
        rows(browser, column)
    };
    let stores = sorted_by(&mut browser, 1);
    assert!(stores.is_sorted(), "{stores:?}");
    let falling = sorted_by(&mut browser, 1);
    assert!(falling.iter().rev().is_sorted() && falling.len() == 9, "{falling:?}");
    let figures = sorted_by(&mut browser, 3);
    assert_eq!(figures.last().unwrap(), "void", "what has no place is last: {figures:?}");
    let places = sorted_by(&mut browser, 0);
    assert!(places[0] == "1" && places.last().unwrap().is_empty(), "{places:?}");
}

#[test]
fn words_in_a_table_lead_to_the_pages_they_name() {
    let (site, mut browser) = (Site::new(), Browser::start());
    for page in site.pages() {
        browser.open(&page, DESK);
        let links = browser.evaluate(
            "[...document.links].map(link => link.href.split('#')[0]).filter(href => href.startsWith('file://'))",
        );
        for link in texts(&links) {
            let path = link.strip_prefix("file://").unwrap();
            assert!(Path::new(path).is_file(), "{} leads to {link}", page.display());
        }
    }
}

#[test]
fn a_phone_scrolls_down_and_never_sideways() {
    let (site, mut browser) = (Site::new(), Browser::start());
    for page in site.pages() {
        browser.open(&page, PHONE);
        assert_eq!(browser.evaluate("document.documentElement.scrollWidth"), json!(360), "{}", page.display());
    }
}

#[test]
fn pages_follow_the_readers_scheme_and_the_button_turns_it() {
    let (site, mut browser) = (Site::new(), Browser::start());
    browser.open(&site.first, NIGHT);
    let paper = "getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.evaluate(paper), json!("rgb(20, 24, 29)"));
    browser.evaluate("document.getElementById('theme').click()");
    assert_eq!(browser.evaluate(paper), json!("rgb(255, 255, 255)"));
    assert_eq!(browser.evaluate("document.getElementById('theme').innerText"), json!("Dark"));
}

#[test]
fn paper_has_all_answers_and_nothing_to_press() {
    let (site, mut browser) = (Site::new(), Browser::start());
    browser.open(&site.first, DESK);
    let pdf = browser.call("Page.printToPDF", json!({}));
    assert!(pdf["data"].as_str().is_some_and(|data| data.len() > 10_000));
    browser.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    let shown = browser.evaluate(
        "[...document.querySelectorAll('button, select, nav, .skip')].filter(it => it.checkVisibility()).map(it => it.outerHTML)",
    );
    assert_eq!(texts(&shown), Vec::<String>::new());
    assert_eq!(browser.evaluate("document.querySelectorAll('.answers li:not([hidden])').length"), json!(3));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn the_keyboard_reaches_everything_in_the_order_it_is_read_and_what_is_reached_can_be_seen() {
    let (site, mut browser) = (Site::new(), Browser::start());
    browser.open(&site.first, DESK);
    let expected = browser.evaluate(
        "(() => { const all = [...document.querySelectorAll('a[href], button, select, [tabindex=\"0\"]')].filter(it => it.checkVisibility());
           all.forEach((it, at) => { it.dataset.order = at; }); return all.length; })()",
    );
    // Where it scrolls to is looked at, not how.
    browser.evaluate("document.documentElement.style.scrollBehavior = 'auto'");
    let mut reached = Vec::new();
    for _ in 0..expected.as_u64().unwrap() {
        press(&mut browser, "Tab", "");
        let focus = browser.evaluate(
            "(() => { const it = document.activeElement, style = getComputedStyle(it), box = it.getBoundingClientRect();
               return { order: Number(it.dataset.order), outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
                        inside: box.bottom > 0 && box.top < innerHeight, name: it.outerHTML.slice(0, 80) }; })()",
        );
        assert_eq!([&focus["outline"], &focus["inside"]], [&json!(true); 2], "{focus}");
        reached.push(focus["order"].as_u64().unwrap_or(u64::MAX));
    }
    assert_eq!(reached, (0..expected.as_u64().unwrap()).collect::<Vec<_>>());
    let sort = "document.querySelectorAll('table.results th')[1].getAttribute('aria-sort')";
    browser.evaluate("document.querySelectorAll('table.results th button')[1].focus()");
    press(&mut browser, "Enter", "\r");
    assert_eq!(browser.evaluate(sort), json!("ascending"));
    press(&mut browser, " ", " ");
    assert_eq!(browser.evaluate(sort), json!("descending"));
}

/// What readers who do not see, or see little, need: counted here, whether or not axe is there.
const NEEDED: &str = "(() => {
  const problems = [];
  const visible = [...document.querySelectorAll('body *')].filter(it => it.checkVisibility());
  let last = 0;
  for (const head of document.querySelectorAll('h1, h2, h3, h4')) {
    const level = Number(head.tagName[1]);
    if (level > last + 1) problems.push(`h${level} after h${last}: ${head.textContent}`);
    last = level;
  }
  for (const one of ['h1', 'main', 'nav', 'footer']) if (document.querySelectorAll(one).length !== 1) problems.push(`not one ${one}`);
  for (const it of document.querySelectorAll('select, input')) if (!it.labels.length) problems.push(`no label: ${it.id}`);
  for (const it of document.querySelectorAll('a, button')) if (it.checkVisibility() && !it.textContent.trim()) problems.push(`no words: ${it.outerHTML}`);
  for (const it of document.querySelectorAll('table')) if (!it.querySelector('th')) problems.push('a table without headings');
  const ids = [...document.querySelectorAll('[id]')].map(it => it.id);
  if (new Set(ids).size !== ids.length) problems.push('an id twice');
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * part(r) + .7152 * part(g) + .0722 * part(b); };
  for (const it of visible) {
    if (![...it.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    let paper = it;
    while (paper && numbers(getComputedStyle(paper).backgroundColor)[3] === 0) paper = paper.parentElement;
    const [one, other] = [light(numbers(getComputedStyle(it).color)), light(numbers(getComputedStyle(paper ?? document.body).backgroundColor))];
    const contrast = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (contrast < 4.5) problems.push(`contrast ${contrast.toFixed(1)}: ${it.outerHTML.slice(0, 80)}`);
  }
  return problems;
})()";

#[test]
fn readers_who_do_not_see_find_headings_labels_landmarks_and_contrast() {
    let (site, mut browser) = (Site::new(), Browser::start());
    let axe = std::env::var_os("KVTRIAL_AXE").map(|path| std::fs::read_to_string(path).unwrap());
    if axe.is_none() {
        eprintln!("axe-core is not here, only our own checks are made: run ./test, which gets it, or set KVTRIAL_AXE");
    }
    for page in site.pages() {
        for screen in [DESK, NIGHT, PHONE] {
            browser.open(&page, screen);
            assert_eq!(texts(&browser.evaluate(NEEDED)), Vec::<String>::new(), "{}", page.display());
            let Some(axe) = &axe else { continue };
            browser.evaluate(&format!("{axe}; true"));
            let found = browser.evaluate(
                "axe.run().then(({ passes, violations }) => ({ score: 100 * passes.length / (passes.length + violations.length),
                   violations: violations.map(it => `${it.id}: ${it.help}: ${it.nodes[0].html}`) }))",
            );
            let said = texts(&found["violations"]).join("; ");
            let score = found["score"].as_f64().unwrap();
            eprintln!("axe: {score:.0} for {} at {} px, {}: {said}", page.display(), screen.width, screen.scheme);
            assert!(score >= 95.0, "{}: {said}", page.display());
        }
    }
}

/// What a page is built of, without its figures.
const OUTLINE: &str = "(() => {
  const kinds = 'NAV HEADER MAIN SECTION H1 H2 H3 FORM LABEL UL TABLE TH CAPTION BUTTON FOOTER PRE'.split(' ');
  const lines = [];
  const walk = (it, depth) => {
    if (!it.checkVisibility()) return;
    const known = kinds.includes(it.tagName) && !(it.tagName === 'TH' && it.scope !== 'col') && !it.closest('li');
    if (known) {
      const own = [...it.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join(' ').trim();
      const named = ['H1', 'H2', 'LABEL', 'BUTTON'].includes(it.tagName) ? `: ${own}` : '';
      const name = it.tagName.toLowerCase() + (it.id ? '#' + it.id : '') + (it.className ? '.' + it.className.replaceAll(' ', '.') : '');
      const line = '  '.repeat(depth) + name + named;
      if (lines.at(-1) !== line) lines.push(line);
    }
    for (const child of it.children) walk(child, depth + (known ? 1 : 0));
  };
  walk(document.body, 0);
  return lines;
})()";

#[test]
fn pages_are_built_as_they_were() {
    let (site, mut browser) = (Site::new(), Browser::start());
    for (page, name) in site.pages().iter().zip(["index", "board", "store", "job", "machine"]) {
        browser.open(page, DESK);
        let outline = texts(&browser.evaluate(OUTLINE)).join("\n") + "\n";
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &outline).unwrap();
        }
        let known = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(outline, known, "{name}: if this is meant, UPDATE_GOLDEN=1");
    }
}
