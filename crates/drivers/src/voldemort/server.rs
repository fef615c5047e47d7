//! How private servers are started: their configuration, and the policy that keeps others out.

use super::home::{Home, NEWEST_JAVA};
use super::metadata::{Member, cluster_xml, stores_xml};
use super::{NODES, STORE, copies, level};
use ground::jvm::{self, Jvm, JvmMemory};
use std::ffi::OsString;
use std::time::Duration;
use store::{Deployment, Endpoint, Node, Place, ServerPlan, StoreError};
use study::{Durability, Spec};

/// The MiB of memory beside the heap.
const BESIDE_HEAP_MIB: u64 = 320;

/// Returns the MiB of the heap that Berkeley DB keeps data in: the server's default, as far as the heap has room.
pub(super) fn cache_mib(heap_mib: u64) -> u64 {
    (heap_mib * 2 / 5).min(200)
}

/// The number of partitions of a node.
const PARTITIONS: usize = 16;

pub(super) fn plan(spec: &Spec, place: &mut Place) -> Result<Deployment, StoreError> {
    let (count, copies) = (NODES.read(spec)?, copies(spec)?);
    let home = Home::of(spec)?;
    let memory = JvmMemory::of(spec, BESIDE_HEAP_MIB)?;
    let jvm = Jvm::running(spec, home.class_path(), NEWEST_JAVA, count as u32, memory)?;
    let ports = (0..count).map(|_| place.port()).collect::<Result<Vec<u16>, StoreError>>()?;
    // Neighbours on the ring are different nodes.
    let member = |(number, port): (usize, &u16)| Member {
        id: number as i32,
        host: "127.0.0.1".into(),
        port: *port,
        partitions: (0..PARTITIONS).map(|round| round * count + number).collect(),
    };
    let members: Vec<Member> = ports.iter().enumerate().map(member).collect();
    let (cluster, stores) = (cluster_xml(&members), stores_xml(STORE, copies));
    let node = |member: &Member| {
        let (name, place) = jvm::name_and_place(place, member.id as u32 + 1, count as u32);
        let file = |name: &str| place.directory.join(name);
        let setting = |start: &str, name: &str| {
            let mut text = OsString::from(start);
            text.push(file(name));
            text
        };
        let run = jvm
            .command(&place)
            .arg("-Djava.security.manager=default")
            // Two signs: this policy, and none of Java's own beside it.
            .arg(setting("-Djava.security.policy==", "policy"))
            .arg(setting("-Dlog4j.configuration=file:", "log4j.properties"))
            .arg("voldemort.server.VoldemortServer")
            .arg(&place.directory)
            .arg(file("config"));
        let files = [
            ("config/cluster.xml", cluster.clone()),
            ("config/stores.xml", stores.clone()),
            ("config/server.properties", settings(member.id, cache_mib(memory.heap_mib), level(spec))),
            ("log4j.properties", LOG.to_owned()),
            ("policy", POLICY.to_owned()),
        ];
        let plan = ServerPlan {
            directories: vec!["config".into()],
            files: files.map(|(name, text)| (file(name), text)).into(),
            start_timeout: Duration::from_secs(60),
            ..ServerPlan::new(run, Endpoint::loopback(member.port))
        };
        Node::new(name, plan)
    };
    let copies = copies.replication as u32;
    Ok(members.iter().map(node).collect::<Deployment>().with_copies(copies))
}

/// Returns the configuration of a server: clients only, the client routes, and nothing that nodes do among themselves.
fn settings(id: i32, cache_mib: u64, level: Durability) -> String {
    let write = level != Durability::None;
    format!(
        "node.id={id}\nsocket.enable=true\nenable.nio.connector=true\nhttp.enable=false\nadmin.enable=false\n\
         jmx.enable=false\nslop.enable=false\nslop.pusher.enable=false\nenable.rebalancing=false\n\
         enable.repair=false\nenable.server.routing=false\n\
         storage.configs=voldemort.store.bdb.BdbStorageConfiguration\nbdb.cache.size={cache_mib}MB\n\
         bdb.write.transactions={write}\nbdb.flush.transactions=false\n"
    )
}

/// What a server says goes to its output, which kvtrial keeps until it is stopped.
const LOG: &str = "log4j.rootLogger=WARN,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %-5p %c: %m%n
";

/// The policy that allows everything except accepting connections from elsewhere, and making some.
const POLICY: &str = r#"grant {
  permission java.io.FilePermission "<<ALL FILES>>", "read,write,delete,execute,readlink";
  permission java.io.SerializablePermission "*";
  permission java.lang.RuntimePermission "*";
  permission java.lang.management.ManagementPermission "control";
  permission java.lang.management.ManagementPermission "monitor";
  permission java.lang.reflect.ReflectPermission "*";
  permission java.security.SecurityPermission "*";
  permission java.util.PropertyPermission "*", "read,write";
  permission java.util.logging.LoggingPermission "control";
  permission javax.management.MBeanPermission "*", "*";
  permission javax.management.MBeanServerPermission "*";
  permission javax.management.MBeanTrustPermission "*";
  permission java.net.SocketPermission "*:0-", "listen,resolve";
  permission java.net.SocketPermission "127.0.0.1", "accept,connect,resolve";
};
"#;

#[cfg(test)]
mod tests {
    use super::{cache_mib, settings};
    use study::Durability;

    #[test]
    fn a_log_is_written_only_at_the_level_that_promises_it_and_never_synced() {
        let of = |level| {
            let text = settings(2, 200, level);
            assert!(text.starts_with("node.id=2\n") && text.contains("bdb.cache.size=200MB\n"), "{text}");
            assert!(text.contains("bdb.flush.transactions=false"), "{text}");
            text.contains("bdb.write.transactions=true")
        };
        assert!(!of(Durability::None));
        assert!(of(Durability::Os));
    }

    #[test]
    fn the_cache_is_the_servers_default_where_the_heap_has_room() {
        assert_eq!([cache_mib(512), cache_mib(4096), cache_mib(100)], [200, 200, 40]);
    }
}
