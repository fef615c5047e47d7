//! What a server says of its cluster and its stores: two files of XML, which every client of Voldemort reads first.

use super::metadata::{Copies, Member};
use super::ring::Ring;

/// The store that holds the two files, and their names in it.
pub(super) const STORE: &str = "metadata";
pub(super) const CLUSTER: &str = "cluster.xml";
pub(super) const STORES: &str = "stores.xml";

/// The layout of one store in the cluster.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) members: Vec<Member>,
    pub(super) ring: Ring,
    pub(super) copies: Copies,
    /// The engine that holds the values, e.g. `bdb`.
    pub(super) persistence: String,
}

/// Returns the texts between `<name>` and `</name>`; none of them contains another.
fn texts<'a>(xml: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = xml;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (text, after) = after.split_once(&close)?;
        rest = after;
        Some(text.trim())
    })
}

fn text<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    texts(xml, name).next()
}

/// Returns XML without its comments.
fn uncommented(xml: &str) -> String {
    let mut kept = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept + rest
}

fn member(xml: &str) -> Option<Member> {
    let partitions = text(xml, "partitions").unwrap_or_default();
    let partitions = partitions.split(',').map(str::trim).filter(|number| !number.is_empty());
    Some(Member {
        id: text(xml, "id")?.parse().ok()?,
        host: text(xml, "host")?.to_owned(),
        port: text(xml, "socket-port")?.parse().ok()?,
        partitions: partitions.map(|number| number.parse().ok()).collect::<Option<_>>()?,
    })
}

impl Layout {
    /// Reads how a store is kept.
    ///
    /// # Errors
    /// In words: there is no such store, or it is kept in a way that is not known here.
    pub(super) fn of(cluster: &str, stores: &str, store: &str) -> Result<Layout, String> {
        let members: Option<Vec<Member>> = texts(&uncommented(cluster), "server").map(member).collect();
        let members = members.ok_or("its cluster.xml names a server without id, host, socket-port or partitions")?;
        let stores = uncommented(stores);
        let name_of = |xml: &str| text(xml, "name").unwrap_or_default().to_owned();
        let Some(found) = texts(&stores, "store").find(|xml| name_of(xml) == store) else {
            let names: Vec<String> = texts(&stores, "store").map(name_of).collect();
            return Err(format!("it has no store '{store}', but {}", names.join(", ")));
        };
        match text(found, "routing-strategy") {
            None | Some("consistent-routing") => {}
            Some(other) => return Err(format!("its store '{store}' has {other}; kvtrial knows consistent-routing")),
        }
        let number = |name: &str| text(found, name).and_then(|number| number.parse().ok()).unwrap_or(1);
        let replication = number("replication-factor");
        let copies = Copies {
            replication,
            required_reads: number("required-reads").clamp(1, replication),
            required_writes: number("required-writes").clamp(1, replication),
        };
        let partitions: Vec<Vec<usize>> = members.iter().map(|member| member.partitions.clone()).collect();
        let ring = Ring::of(&partitions, replication).map_err(|words| format!("its cluster.xml is wrong: {words}"))?;
        let persistence = text(found, "persistence").unwrap_or_default().to_owned();
        Ok(Layout { members, ring, copies, persistence })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::metadata::{cluster_xml, stores_xml};
    use super::{Copies, Layout, Member};

    const COPIES: Copies = Copies { replication: 3, required_reads: 2, required_writes: 2 };

    fn members() -> Vec<Member> {
        let member = |id: i32, partitions: [usize; 2]| Member {
            id,
            host: "127.0.0.1".into(),
            port: 7000 + id as u16,
            partitions: partitions.into(),
        };
        vec![member(0, [0, 3]), member(1, [1, 4]), member(2, [2, 5])]
    }

    #[test]
    fn what_is_written_for_private_servers_is_read_back_as_it_was_meant() {
        let layout = Layout::of(&cluster_xml(&members()), &stores_xml("kv", COPIES), "kv").unwrap();
        assert_eq!((layout.members, layout.copies, layout.persistence.as_str()), (members(), COPIES, "bdb"));
    }

    #[test]
    fn files_that_people_write_are_read_too() {
        let cluster = "<cluster>\n <!-- <server><id>9</id></server> -->\n <name>mine</name>\n <server>\n  <id>0</id>\n\
                       <host>localhost</host><http-port>8081</http-port>\n<socket-port>6666</socket-port>\n\
                       <partitions>0, 1,\n 2</partitions>\n </server></cluster>";
        let stores = "<stores><store><name>a</name></store><store><name>test</name><persistence>bdb</persistence>\
                      <replication-factor>1</replication-factor><key-serializer><type>string</type></key-serializer>\
                      </store></stores>";
        let layout = Layout::of(cluster, stores, "test").unwrap();
        assert_eq!(layout.members[0].partitions, [0, 1, 2]);
        assert_eq!(layout.copies, Copies { replication: 1, required_reads: 1, required_writes: 1 });
        let words = Layout::of(cluster, stores, "kv").unwrap_err();
        assert_eq!(words, "it has no store 'kv', but a, test");
    }

    #[test]
    fn what_is_kept_in_another_way_is_refused_in_words() {
        let refused = |stores: &str| Layout::of(&cluster_xml(&members()), stores, "kv").unwrap_err();
        let zones = stores_xml("kv", COPIES).replace("consistent-routing", "zone-routing");
        assert!(refused(&zones).contains("zone-routing; kvtrial knows consistent-routing"));
        let no_port = cluster_xml(&members()).replace("socket-port", "port");
        let words = Layout::of(&no_port, &stores_xml("kv", COPIES), "kv").unwrap_err();
        assert!(words.contains("without id, host, socket-port or partitions"), "{words}");
    }
}
