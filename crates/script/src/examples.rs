//! The scripts of `examples/`, which `kvtrial new` writes.

/// A script to begin with.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The name of the example, as in `--like NAME`.
    pub name: &'static str,
    /// The text of the example.
    pub text: &'static str,
}

macro_rules! examples {
    ($($name:ident),* $(,)?) => {
        /// Every example.
        pub const EXAMPLES: &[Example] = &[
            $(Example { name: stringify!($name), text: include_str!(concat!("../../../examples/", stringify!($name), ".lua")) }),*
        ];
    };
}

examples! { session, leaderboard, limiter, cart, queue, fans }
