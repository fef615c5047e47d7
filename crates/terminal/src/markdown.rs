//! Text within GitHub-flavoured Markdown.

use study::visible;

/// Returns text in which nothing is taken for Markdown or HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in html(text).chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#') {
            out.push('\\');
        }
        out.push(if letter == '\n' || letter == '\t' { ' ' } else { letter });
    }
    out
}

/// Returns text in which nothing is taken for HTML.
pub(crate) fn html(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns text as code, whatever is in it.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", visible(text).replace(['`', '\n'], " "))
}
