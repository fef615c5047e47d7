//! The scripts of `examples/`, which `kvtrial new` writes.

/// A script to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The name of the example, as in `--like NAME`.
    pub name: &'static str,
    /// The text of the example.
    pub text: &'static str,
}

impl Example {
    /// Returns whether the example speaks a language that few stores have: commands of Redis, or SQL.
    pub fn is_for_few_stores(&self) -> bool {
        ["kv.command(", "kv.sql("].iter().any(|verb| self.text.contains(verb))
    }
}

macro_rules! examples {
    ($($name:ident),* $(,)?) => {
        /// Every example.
        pub const EXAMPLES: &[Example] = &[
            $(Example { name: stringify!($name), text: include_str!(concat!("../../../examples/", stringify!($name), ".lua")) }),*
        ];
    };
}

examples! { session, leaderboard, limiter, cart, queue, fans, ranks, stream, seats, stock, midnight }
