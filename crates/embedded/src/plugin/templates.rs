//! Plugins to begin with: a hash map in each language, which passes `kvtrial check` as it is.

/// The header that says what a plugin is.
const HEADER: (&str, &str) = ("kvtrial.h", include_str!("../../include/kvtrial.h"));

/// The same for Rust, the types that kvtrial itself uses.
const BINDINGS: (&str, &str) = ("kvtrial.rs", include_str!("../../templates/kvtrial.rs"));

/// The name that a template gives its store.
const NAME: &str = "mystore";

/// A plugin to begin with.
#[derive(Clone, Copy, Debug)]
pub struct PluginTemplate {
    /// The language, as the command line names it.
    pub language: &'static str,
    /// The ending of the source's file name.
    pub ending: &'static str,
    /// The files that the source needs beside it: name and text.
    pub beside: &'static [(&'static str, &'static str)],
    text: &'static str,
    build: &'static str,
}

/// The templates of all languages.
pub const PLUGIN_TEMPLATES: &[PluginTemplate] = &[
    PluginTemplate {
        language: "c",
        ending: "c",
        beside: &[HEADER],
        text: include_str!("../../templates/mystore.c"),
        build: "cc -std=c11 -O2 -shared -fPIC -pthread -o mystore.so mystore.c",
    },
    PluginTemplate {
        language: "rust",
        ending: "rs",
        beside: &[HEADER, BINDINGS],
        text: include_str!("../../templates/mystore.rs"),
        build: "rustc --edition 2024 --crate-type cdylib -O -o mystore.so mystore.rs",
    },
    PluginTemplate {
        language: "go",
        ending: "go",
        beside: &[HEADER],
        text: include_str!("../../templates/mystore.go"),
        build: "go build -buildmode=c-shared -o mystore.so mystore.go",
    },
    PluginTemplate {
        language: "zig",
        ending: "zig",
        beside: &[HEADER],
        text: include_str!("../../templates/mystore.zig"),
        build: "zig build-lib -dynamic -O ReleaseFast -lc -femit-bin=mystore.so mystore.zig",
    },
];

impl PluginTemplate {
    /// Returns the source of a store of this name.
    pub fn source(&self, name: &str) -> String {
        self.text.replace(NAME, name)
    }

    /// Returns the line that builds the library of that source.
    pub fn build(&self, name: &str) -> String {
        self.build.replace(NAME, name)
    }
}

#[cfg(test)]
mod tests {
    use super::PLUGIN_TEMPLATES;

    #[test]
    fn a_template_says_how_it_is_built_and_is_no_longer_than_a_hundred_lines() {
        for template in PLUGIN_TEMPLATES {
            let source = template.source("own");
            assert!(source.contains(&format!("Build: {}", template.build("own"))), "{}", template.language);
            assert!(source.lines().count() <= 100 && !source.contains("mystore"), "{}", template.language);
        }
    }
}
