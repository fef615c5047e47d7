//! Pages. All text goes through the template, which escapes it; what is raw is style and code of our own.

mod board;
mod index;
mod listing;
mod rows;

pub(crate) use board::board_page;
pub(crate) use index::index_page;
pub(crate) use listing::{ListingSubject, listing_page};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// What moves things in a page.
const SCRIPT: &str = include_str!("../assets/site.js");
/// What a site has beside the style of every report.
const STYLE: &str = include_str!("../assets/site.css");

/// The way from a page to the first one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// It is the first one.
    Top,
    /// It lies in a directory beside the first one.
    Below,
}

impl Depth {
    /// Returns an address as this page has to name it.
    pub(crate) fn to(self, address: &str) -> String {
        match self {
            Depth::Top => address.to_owned(),
            Depth::Below => format!("../{address}"),
        }
    }
}

/// Returns a page with this content.
fn page(title: &str, depth: Depth, content: &Markup) -> String {
    let code = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(SCRIPT.as_bytes())));
    let policy = format!(
        "default-src 'none'; script-src {code}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                link rel="icon" href="data:,";
                title { (title) " · kvtrial" }
                style { (PreEscaped(report::STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to the results" }
                nav aria-label="Site" {
                    div.wrap {
                        a href=(depth.to("index.html")) { strong { "kvtrial" } }
                        a href=(depth.to("index.html#question")) { "Your work" }
                        a href=(depth.to("index.html#results")) { "All results" }
                        a href=(depth.to("index.html#changes")) { "Versions" }
                        a href=(depth.to("index.html#studies")) { "Studies" }
                        button id="theme" type="button" hidden aria-pressed="false" title="Light or dark" { "Dark" }
                    }
                }
                div.wrap {
                    main id="content" tabindex="-1" { (content) }
                    footer { p { "Made by kvtrial. Every answer behind these figures was checked; this page needs no network." } }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let page = page.into_string();
    study::visible(&page).into_owned()
}
