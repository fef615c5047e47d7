//! `kvtrial site`: a static site over many studies.

use crate::args::SiteArguments;
use crate::failure::{self, CommandFailure};
use crate::output::print;
use ::site::{Collection, SiteError, boards};

/// Writes the pages.
pub fn site(arguments: &SiteArguments) -> Result<u8, CommandFailure> {
    let failed = |error: SiteError| CommandFailure::usage(error.to_string());
    let mut collection = Collection::read(&arguments.studies).map_err(failed)?;
    collection.jobs = ::jobs::all().map(|job| (job.name.to_owned(), job.summary.to_owned())).collect();
    ::site::write(&collection, &arguments.out).map_err(failed)?;
    let boards = boards(&collection);
    let results: usize = boards.iter().map(|board| board.entries.len()).sum();
    let counted = |count: usize, noun: &str| if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") };
    print(&format!(
        "{} of {} in {}: {}\n",
        counted(results, "result"),
        counted(collection.studies.len(), "study").replace("studys", "studies"),
        counted(boards.len(), "list"),
        arguments.out.join("index.html").display()
    ))?;
    Ok(failure::GOOD)
}
