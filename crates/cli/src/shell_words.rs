//! Words a shell completes: names of jobs and stores, where any text may stand.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use std::ffi::OsStr;

/// Takes any text, and offers these words to shells.
#[derive(Clone)]
pub struct Hinted(fn() -> Vec<&'static str>);

/// Offers names of jobs.
pub fn job() -> Hinted {
    Hinted(|| jobs::all().map(|job| job.name).collect())
}

/// Offers names of example scripts; no other text may stand there.
pub fn example() -> clap::builder::PossibleValuesParser {
    script::EXAMPLES.iter().map(|example| example.name).collect::<Vec<_>>().into()
}

/// Offers the languages of plugins; no other text may stand there.
pub fn language() -> clap::builder::PossibleValuesParser {
    catalog::PLUGIN_TEMPLATES.iter().map(|template| template.language).collect::<Vec<_>>().into()
}

/// Offers names of stores; specs begin with one.
pub fn store() -> Hinted {
    Hinted(|| catalog::all().map(|store| store.name).collect())
}

/// Offers names of stores whose programs are fetched, and their versions where there are several.
pub fn fetched() -> Hinted {
    Hinted(|| {
        let mut names: Vec<&str> = catalog::bundles().map(|bundle| bundle.store).collect();
        names.dedup();
        names
    })
}

impl TypedValueParser for Hinted {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
