//! Pages. All text goes through the template, which escapes it; what is raw is style and code of our own.

mod answers;
mod board;
mod facts;
mod figures;
mod index;
mod listing;
mod results;
mod versions;

pub(crate) use board::board_page;
pub(crate) use index::index_page;
pub(crate) use listing::{ListingSubject, listing_page};

use maud::{DOCTYPE, Markup, PreEscaped, html};

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
        format!("{}{address}", self.way())
    }

    /// Returns what stands before each address.
    fn way(self) -> &'static str {
        match self {
            Depth::Top => "",
            Depth::Below => "../",
        }
    }
}

/// Returns a page with this content.
fn page(title: &str, depth: Depth, content: &Markup) -> String {
    let scripts = [report::THEME, SCRIPT];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (report::head(title, env!("CARGO_PKG_VERSION"), &scripts, STYLE))
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
                    footer { p { "Made by kvtrial " (env!("CARGO_PKG_VERSION")) ". Every answer behind these figures was checked; this page needs no network." } }
                }
                @for source in scripts { script { (PreEscaped(source)) } }
            }
        }
    };
    let page = page.into_string();
    study::visible(&page).into_owned()
}
