//! Text within GitHub-flavoured Markdown.

/// Text in which nothing is taken for Markdown or HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in html(text).chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#') {
            out.push('\\');
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out
}

/// Text in which nothing is taken for HTML.
pub(crate) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text as code, whatever is in it.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r'], " "))
}
