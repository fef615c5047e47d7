//! bulk: many small JSON documents loaded in batches, the files compacted, counts and sums over all of them (the job of 2009
//! that reloaded 1.9 million documents into CouchDB again and again).
//!
//! Work: documents are put in batches of `batch`, under ids that rise (`%010d` of the number) or are random (its md5); then the
//! store compacts its files if it can, and counts and sums by a field. Timed is the load; the other phases have times of their
//! own. Answer: the id and sha256 of every document, in byte order of ids. Every document is read back and compared.

mod fields;
mod input;
mod load;
mod preset;
mod read_back;
mod reduce;
mod trial;

use data::docs::{DocSet, IdScheme};
use input::Input;
use jobkit::{Job, JobError, JobExtras, JobInfo, JobRequest, ParamInfo, Trial, TrialSetup, printable};
use std::collections::BTreeMap;
use store::{Capabilities, FieldPath, Keeps, OperationKind, Reduction, Support};

const MAX_BATCH: u32 = 20_000;

/// The job as it is listed.
pub static JOB: JobInfo = JobInfo {
    name: "bulk",
    summary: "load JSON documents in batches, compact, count and sum by a field; every document verified",
    input: "JSON documents, one per line (.jsonl), CSV with a header, also .gz; geonames-1k, geonames-20k (default), gen:N:SEED",
    records: "documents",
    params: &[
        ParamInfo {
            name: "batch",
            default: "1000",
            values: "1 to 20000",
            tunable: &["1", "100", "1000", "5000", "20000"],
            help: "documents per request; 1 puts them one by one",
        },
        ParamInfo {
            name: "ids",
            default: "sequential",
            values: "sequential, random, own, field:NAME",
            tunable: &[],
            help: "rising decimal numbers of 10 digits, their md5, the ids of the file (ID TAB DOCUMENT), or a field of the document",
        },
        ParamInfo {
            name: "reduce",
            default: "auto",
            values: "auto, GROUP:SUM, none",
            tunable: &[],
            help: "count documents and sum the field SUM, an integer, by the field GROUP, a string; auto: countrycode:population for geonames, type:n for \
                   gen, none for files",
        },
    ],
    prepare,
    extras: JobExtras { presets: preset::PRESETS, ..JobExtras::NONE },
};

struct Bulk {
    input: Input,
    batch: u32,
    reduction: Option<Reduction>,
}

fn prepare(request: &JobRequest) -> Result<Box<dyn Job>, JobError> {
    let param = |name: &str| request.params.get(name).map_or("", String::as_str);
    let batch = match param("batch").parse() {
        Ok(batch @ 1..=MAX_BATCH) => batch,
        _ => return Err(JobError(format!("batch={} is not possible; use 1 to {MAX_BATCH}", param("batch")))),
    };
    let scheme = ids(param("ids"))?;
    let source = request.data.as_deref().unwrap_or("geonames-20k");
    let reduction = reduction(param("reduce"), source)?;
    let documents = DocSet::load(source, &scheme).map_err(|error| JobError(error.to_string()))?;
    let input = Input::new(documents, reduction.as_ref())?;
    Ok(Box::new(Bulk { input, batch, reduction }))
}

fn ids(text: &str) -> Result<IdScheme, JobError> {
    match text.split_once(':') {
        None if text == "sequential" => Ok(IdScheme::Sequential),
        None if text == "random" => Ok(IdScheme::Random),
        None if text == "own" => Ok(IdScheme::Own),
        Some(("field", path)) => {
            let path = FieldPath::parse(path).map_err(|problem| JobError(format!("ids={text}: {problem}")))?;
            Ok(IdScheme::Field(path.names().to_vec()))
        }
        _ => Err(JobError(format!("ids={text} is not possible; use sequential, random, own or field:NAME"))),
    }
}

fn reduction(text: &str, source: &str) -> Result<Option<Reduction>, JobError> {
    let text = match text {
        "none" => return Ok(None),
        "auto" if source.starts_with("geonames-") => "countrycode:population",
        "auto" if source.starts_with("gen:") => "type:n",
        "auto" => return Ok(None),
        text => text,
    };
    let Some((group, sum)) = text.split_once(':') else {
        return Err(JobError(format!(
            "reduce={text} is not possible; use GROUP:SUM, two fields, as in type:n, or none"
        )));
    };
    let path = |name: &str| FieldPath::parse(name).map_err(|problem| JobError(format!("reduce={text}: {problem}")));
    Ok(Some(Reduction { group: path(group)?, sum: path(sum)? }))
}

impl Job for Bulk {
    fn input(&self) -> BTreeMap<String, serde_json::Value> {
        let documents = &self.input.documents;
        BTreeMap::from([
            ("name".into(), documents.source_name().into()),
            ("digest".into(), documents.digest().into()),
            ("bytes".into(), documents.text_bytes().into()),
            ("documents".into(), documents.len().into()),
            ("document_bytes".into(), documents.document_bytes().into()),
        ])
    }

    fn suits(&self, store: &Capabilities) -> Result<Vec<&'static str>, JobError> {
        let Input { documents, longest_id, largest, .. } = &self.input;
        let id = documents.id(*longest_id);
        if id.len() > store.max_key_bytes {
            return Err(JobError(format!(
                "the id {} has {} bytes, this store takes at most {}; use ids=sequential, or another store",
                printable(id),
                id.len(),
                store.max_key_bytes
            )));
        }
        let bytes = documents.document(*largest).len();
        if bytes > store.max_value_bytes {
            return Err(JobError(format!(
                "{}, line {}: the document has {bytes} bytes, this store takes at most {}; leave it out, or use another store",
                documents.source_name(),
                documents.line(*largest),
                store.max_value_bytes
            )));
        }
        let mut emulated = Vec::new();
        if self.batch > 1 && !store.has(OperationKind::PutMany) {
            emulated.push("put_many by put");
        }
        if self.reduction.is_some() && store.keeps == Keeps::Everything && store.reduction == Support::Absent {
            emulated.push(if store.has(OperationKind::Scan) { "reduce by scan" } else { "reduce by get" });
        }
        Ok(emulated)
    }

    fn trial(&self, setup: &TrialSetup) -> Box<dyn Trial + '_> {
        Box::new(trial::BulkTrial::new(&self.input, self.batch, self.reduction.as_ref(), setup))
    }

    /// A document is put by one slot; compaction and a reduction in the store are asked for once.
    fn shareable(&self, _: &TrialSetup) -> Result<(), JobError> {
        Ok(())
    }

    fn known_digest(&self) -> Option<String> {
        Some(self.input.digest().to_owned())
    }

    fn logical_bytes(&self) -> u64 {
        self.input.documents.document_bytes() + self.input.documents.id_bytes()
    }
}
