//! A page of findings that are of no study.

use super::{assets, charts, head};
use findings::Finding;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;

/// Findings that are of no study, as a page and as pictures.
#[derive(Clone, Debug)]
pub struct FindingsPage {
    /// The heading.
    pub title: String,
    /// What it is about: a line each.
    pub facts: Vec<String>,
    /// What it shows, subject by subject.
    pub findings: Vec<Finding>,
    /// The version that made it.
    pub version: String,
}

impl FindingsPage {
    /// Returns the page: one file that needs nothing else and asks nothing of any network.
    pub fn html(&self) -> String {
        let page = self.page().into_string();
        match study::visible(&page) {
            Cow::Borrowed(_) => page,
            Cow::Owned(page) => page,
        }
    }

    fn page(&self) -> Markup {
        let scripts = assets::SCRIPTS;
        html! {
            (DOCTYPE)
            html lang="en" {
                (head(&self.title, &self.version, &scripts, ""))
                body {
                    a.skip href="#content" { "Skip to the report" }
                    nav aria-label="Sections" {
                        div.wrap {
                            strong { "kvtrial" }
                            @for finding in &self.findings { a href=(format!("#{}", finding.id)) { (finding.title) } }
                            button id="theme" type="button" hidden aria-pressed="false" title="Light or dark" { "Dark" }
                        }
                    }
                    div.wrap {
                        main id="content" tabindex="-1" {
                            header {
                                h1 { (self.title) }
                                @for fact in &self.facts { p.facts { (fact) } }
                            }
                            noscript { p { "Charts need JavaScript; every figure is in the tables." } }
                            (charts::sections(&self.findings))
                        }
                        footer {
                            p { "Made by kvtrial " (self.version) ". This page needs no network; charts by Apache ECharts (Apache License 2.0)." }
                        }
                    }
                    @for source in scripts { script { (PreEscaped(source)) } }
                }
            }
        }
    }
}
