//! The two files of XML that say what a cluster and its stores are, as kvtrial writes them for servers of its own.

use std::fmt::Write;

/// A server of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The server's number in clocks.
    pub(super) id: i32,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) partitions: Vec<usize>,
}

/// The number of copies of a store's pairs, and of the answers that reads and writes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copies {
    /// The number of nodes that hold a key (`replication-factor`).
    pub(super) replication: usize,
    pub(super) required_reads: usize,
    pub(super) required_writes: usize,
}

/// Returns the text of `cluster.xml`.
pub(super) fn cluster_xml(members: &[Member]) -> String {
    let mut xml = String::from("<cluster>\n<name>kvtrial</name>\n");
    for Member { id, host, port, partitions } in members {
        let partitions: Vec<String> = partitions.iter().map(usize::to_string).collect();
        // Writing to a string cannot fail. A port for HTTP is asked for, and not used.
        let _ = writeln!(
            xml,
            "<server><id>{id}</id><host>{host}</host><http-port>0</http-port><socket-port>{port}</socket-port>\
             <partitions>{}</partitions></server>",
            partitions.join(",")
        );
    }
    xml + "</cluster>\n"
}

/// Returns the text of `stores.xml`: one store, whose keys and values are any bytes.
pub(super) fn stores_xml(store: &str, copies: Copies) -> String {
    let Copies { replication, required_reads, required_writes } = copies;
    format!(
        "<stores><store>\n<name>{store}</name>\n<persistence>bdb</persistence>\n<routing>client</routing>\n\
         <routing-strategy>consistent-routing</routing-strategy>\n\
         <replication-factor>{replication}</replication-factor>\n<required-reads>{required_reads}</required-reads>\n\
         <required-writes>{required_writes}</required-writes>\n<preferred-writes>{replication}</preferred-writes>\n\
         <key-serializer><type>identity</type></key-serializer>\n\
         <value-serializer><type>identity</type></value-serializer>\n</store></stores>\n"
    )
}
