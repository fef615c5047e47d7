//! What each property of YCSB's CoreWorkload and Client means here. After YCSB 0.17 and its sources since: `CoreWorkload.java`,
//! `Client.java`, `Measurements.java` and `workload_template`.

/// The treatment of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// A whole number that the run is made of.
    Whole,
    /// A share of the operations.
    Share,
    /// One of these words; any other asks for work that this job does not do, and what to write instead.
    Word(&'static [&'static str], &'static str),
    /// True or false, as `Boolean.parseBoolean` has it.
    Flag,
    /// The class of the workload.
    Class,
    /// It is an option of kvtrial's; the value that stands for what kvtrial does without it.
    Option(&'static str, &'static str),
    /// What kvtrial does is not up to it, and why.
    Nothing(&'static str),
}

const REPORT: &str = "it is about YCSB's own report";
const TRACING: &str = "it is about YCSB's own tracing";
const ONE_VALUE: &str = "all fields are one value here";
const NOT_CONSTANT: &str = "it counts only where fieldlengthdistribution is not constant";
const NOT_HOTSPOT: &str = "it counts only with requestdistribution=hotspot";
const NOT_EXPONENTIAL: &str = "it counts only with requestdistribution=exponential";
const OF_BIGTABLE: &str = "it is for YCSB's client of Bigtable only";
const NO_RETRY: &str = "no insert is tried again here; one that fails is counted";

/// Every property of YCSB's core that there is, but for those of [`FAMILIES`].
pub static KNOWN: &[(&str, Does)] = &[
    ("recordcount", Does::Whole),
    ("operationcount", Does::Whole),
    ("maxexecutiontime", Does::Whole),
    ("insertstart", Does::Whole),
    ("insertcount", Does::Whole),
    ("fieldcount", Does::Whole),
    ("fieldlength", Does::Whole),
    ("minscanlength", Does::Whole),
    ("maxscanlength", Does::Whole),
    ("readproportion", Does::Share),
    ("updateproportion", Does::Share),
    ("insertproportion", Does::Share),
    ("scanproportion", Does::Share),
    ("readmodifywriteproportion", Does::Share),
    ("requestdistribution", Does::Word(&["zipfian", "uniform", "latest"], "use zipfian, uniform or latest")),
    ("scanlengthdistribution", Does::Word(&["uniform"], "scan lengths are uniform; remove the line")),
    ("fieldlengthdistribution", Does::Word(&["constant"], "values have one size; remove the line")),
    ("insertorder", Does::Word(&["hashed", "ordered"], "use hashed or ordered")),
    ("zeropadding", Does::Word(&["1"], "keys have 16 bytes here; remove the line")),
    ("readallfields", Does::Flag),
    ("writeallfields", Does::Flag),
    ("dotransactions", Does::Flag),
    ("workload", Does::Class),
    ("threadcount", Does::Option("--clients", "1")),
    ("target", Does::Option("--rate", "0")),
    ("db", Does::Nothing("name the store with -s")),
    ("table", Does::Nothing("kvtrial names its own tables")),
    ("columnfamily", Does::Nothing("kvtrial names its own tables")),
    ("readallfieldsbyname", Does::Nothing(ONE_VALUE)),
    ("fieldnameprefix", Does::Nothing(ONE_VALUE)),
    ("dataintegrity", Does::Nothing("every reply is verified here")),
    ("minfieldlength", Does::Nothing(NOT_CONSTANT)),
    ("fieldlengthhistogram", Does::Nothing(NOT_CONSTANT)),
    ("hotspotdatafraction", Does::Nothing(NOT_HOTSPOT)),
    ("hotspotopnfraction", Does::Nothing(NOT_HOTSPOT)),
    ("exponential.percentile", Does::Nothing(NOT_EXPONENTIAL)),
    ("exponential.frac", Does::Nothing(NOT_EXPONENTIAL)),
    ("core_workload_insertion_retry_limit", Does::Nothing(NO_RETRY)),
    ("core_workload_insertion_retry_interval", Does::Nothing(NO_RETRY)),
    ("core_workload_insertion_keep_going_on_error", Does::Nothing(NO_RETRY)),
    ("maxscanrate", Does::Nothing(OF_BIGTABLE)),
    ("scanoptimelimit", Does::Nothing(OF_BIGTABLE)),
    ("discardscannedrecord", Does::Nothing(OF_BIGTABLE)),
    ("exporter", Does::Nothing(REPORT)),
    ("exportfile", Does::Nothing(REPORT)),
    ("status", Does::Nothing(REPORT)),
    ("status.interval", Does::Nothing(REPORT)),
    ("label", Does::Nothing(REPORT)),
    ("measurementtype", Does::Nothing(REPORT)),
    ("reportlatencyforeacherror", Does::Nothing(REPORT)),
    ("latencytrackederrors", Does::Nothing(REPORT)),
    ("spin.sleep", Does::Nothing("how YCSB's client waits is not how kvtrial's does")),
];

/// Beginnings of names of which YCSB has many: of its report and tracing, and of its clients of stores.
static FAMILIES: &[(&[&str], &str)] = &[
    (&["measurement.", "hdrhistogram.", "histogram.", "timeseries."], REPORT),
    (&["htrace."], TRACING),
    (
        &[
            "accumulo.",
            "aerospike.",
            "arangodb.",
            "as.",
            "azure.",
            "azurecosmos.",
            "basicdb.",
            "cassandra.",
            "cloudspanner.",
            "couchbase.",
            "couchbase2.",
            "crail.",
            "db.",
            "dynamodb.",
            "elasticsearch.",
            "es.",
            "foundationdb.",
            "geode.",
            "googlebigtable.",
            "googledatastore.",
            "griddb.",
            "hbase.",
            "hypertable.",
            "ignite.",
            "infinispan.",
            "jdbc.",
            "kudu.",
            "memcached.",
            "mongodb.",
            "nosqldb.",
            "orientdb.",
            "postgrenosql.",
            "rados.",
            "redis.",
            "rest.",
            "riak.",
            "rocksdb.",
            "s3.",
            "scylla.",
            "seaweed.",
            "solr.",
            "tablestore.",
            "tarantool.",
            "voltdb.",
            "zookeeper.",
        ],
        "it is for YCSB's own client of a store; name the store and its options with -s",
    ),
];

/// Returns the property of that name, or that a family says it is.
pub fn find(name: &str) -> Option<(&'static str, Does)> {
    let known = KNOWN.iter().find(|(known, _)| *known == name).copied();
    known.or_else(|| {
        let family = FAMILIES.iter().find_map(|(beginnings, why)| {
            beginnings.iter().find(|beginning| name.starts_with(**beginning)).map(|beginning| (*beginning, *why))
        });
        family.map(|(beginning, why)| (beginning, Does::Nothing(why)))
    })
}

/// Returns the property that was probably meant.
pub fn near(name: &str) -> Option<&'static str> {
    study::near(name, KNOWN.iter().map(|(known, _)| *known))
}
