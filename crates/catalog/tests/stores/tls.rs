//! TLS to servers by URL: real servers with certificates of an authority made for the test.

#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used)]

use std::fs::Metadata;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use store::{Operation, OwnedReply};
use study::Spec;
use testkit::certificates::Certificates;
use testkit::replies::value;
use testkit::rig::info;
use testkit::waiting::{soon, until};
use testkit::{Client, Rig};

/// A server with a certificate; it ends when this is dropped.
struct Server {
    child: Option<Child>,
    port: u16,
    /// `user:password@`, where it wants to know.
    login: String,
    certificates: Rc<Certificates>,
    _behind: Box<dyn std::any::Any>,
}

impl Server {
    /// The program, with the words that follow from a free port and the files `cert.pem`, `key.pem`, `ca.pem`.
    fn start(program: &str, words: impl Fn(u16, &dyn Fn(&str) -> String) -> Vec<String>) -> Server {
        Server::start_with(&Rc::new(Certificates::made()), program, words)
    }

    /// The same, with these certificates.
    fn start_with(
        certificates: &Rc<Certificates>,
        program: &str,
        words: impl Fn(u16, &dyn Fn(&str) -> String) -> Vec<String>,
    ) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let port = testkit::free_port();
        let words = words(port, &|name| certificates.path(name).display().to_string());
        let mut command = Command::new(program);
        command.args(words).current_dir(&directory).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
        until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        let certificates = Rc::clone(certificates);
        Server { child: Some(child), port, login: String::new(), certificates, _behind: Box::new(directory) }
    }

    /// A private server, killed and started again by hand with these words more; `CERT` and `KEY` are files only its user can read.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    fn restarted(rig: Rig, words: &[&str]) -> Server {
        Server::restarted_with(Certificates::made(), rig, words)
    }

    /// The same, with these certificates.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    fn restarted_with(certificates: Certificates, rig: Rig, words: &[&str]) -> Server {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let owner = std::fs::metadata(rig.file("data")).unwrap();
        let private = |name: &str| {
            let path = rig.file(name);
            std::fs::write(&path, certificates.pem(name)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
            path
        };
        let (cert, key) = (private("cert.pem"), private("key.pem"));
        let words = words.iter().map(|word| word.replace("CERT", &cert).replace("KEY", &key));
        Server::started_by_hand(rig, certificates, &owner, words)
    }

    /// A private Java server, killed and started again by hand with these lines more in its settings, before the line that has `mark`; `STORE` is
    /// a keystore, whose password is `changeit`.
    fn restarted_with_a_keystore(rig: Rig, settings: &Path, mark: &str, lines: &str) -> Server {
        use std::os::unix::fs::{MetadataExt, chown};
        let certificates = Certificates::made();
        let owner = std::fs::metadata(settings).unwrap();
        let keystore = settings.with_file_name("keystore.p12");
        certificates.export(&keystore, "changeit");
        chown(&keystore, Some(owner.uid()), Some(owner.gid())).unwrap();
        let text = std::fs::read_to_string(settings).unwrap();
        assert_eq!(text.matches(mark).count(), 1, "{text}");
        let lines = lines.replace("STORE", &keystore.display().to_string());
        std::fs::write(settings, text.replace(mark, &format!("{lines}{mark}"))).unwrap();
        Server::started_by_hand(rig, certificates, &owner, std::iter::empty())
    }

    /// A private server, killed and started again by hand as this user, with these words more.
    fn started_by_hand(
        rig: Rig,
        certificates: Certificates,
        owner: &Metadata,
        words: impl Iterator<Item = String>,
    ) -> Server {
        use std::os::unix::fs::MetadataExt;
        use std::os::unix::process::CommandExt;
        let (arguments, login, port) = (rig.arguments(), rig.authority(), rig.port());
        rig.kill();
        let mut command = Command::new(&arguments[0]);
        command.args(arguments[1..].iter().filter(|argument| !argument.is_empty())).args(words);
        let child = command.uid(owner.uid()).gid(owner.gid()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let login = login.split_once('@').map_or(String::new(), |(login, _)| format!("{login}@"));
        let certificates = Rc::new(certificates);
        let server = Server { child: Some(child.unwrap()), port, login, certificates, _behind: Box::new(rig) };
        until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    /// A private server that has no TLS, behind a proxy that has: `nginx`, `haproxy` or a cloud's balancer elsewhere.
    #[cfg(feature = "couchdb")]
    fn behind_a_proxy(rig: Rig) -> Server {
        use rustls::pki_types::pem::PemObject;
        use rustls::pki_types::{CertificateDer, PrivateKeyDer};
        use std::sync::Arc;
        let certificates = Certificates::made();
        let chain = vec![CertificateDer::from_pem_file(certificates.path("cert.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_file(certificates.path("key.pem")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (port, inside) = (listener.local_addr().unwrap().port(), rig.port());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((outside, _)) = listener.accept().await {
                    let acceptor = acceptor.clone();
                    let connection = async move {
                        let mut outside = acceptor.accept(outside).await?;
                        let mut inside = tokio::net::TcpStream::connect(("127.0.0.1", inside)).await?;
                        tokio::io::copy_bidirectional(&mut outside, &mut inside).await
                    };
                    tokio::spawn(connection);
                }
            });
        });
        let login = rig.authority().split_once('@').map_or(String::new(), |(login, _)| format!("{login}@"));
        Server { child: None, port, login, certificates: Rc::new(certificates), _behind: Box::new(rig) }
    }

    fn authority(&self) -> PathBuf {
        self.certificates.path("ca.pem")
    }

    fn open(&self, store: &str, options: &str) -> Result<host::OpenStore, String> {
        let spec: Spec = format!("{store}://{}127.0.0.1:{}{options}", self.login, self.port).parse().unwrap();
        host::open(info(&spec.name), &spec, &std::env::temp_dir()).map_err(|error| error.to_string())
    }

    /// Only who names the authority reaches it, and then every byte of small and large values comes back.
    fn is_reached_by_who_names_its_authority(&self, store: &str) {
        let opened = soon("it lets somebody in", || {
            self.open(store, &format!(",tls=on,ca={}", self.authority().display())).ok()
        });
        for clients in [1, 4] {
            let mut client = Client::new(opened.store(), clients, 8);
            let all_bytes: Vec<u8> = (0..=255).collect();
            assert_eq!(client.put("bytes", &all_bytes), OwnedReply::Done);
            assert_eq!(client.get("bytes"), value(&all_bytes));
            // More than a record of TLS, than what is held back, and than the sockets' buffers take.
            let most = opened.store().capabilities().max_value_bytes.min(6 << 20);
            for size in [0, 1, 16_384, 16_385, 100_000, most] {
                let large: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
                assert_eq!(client.put("large", &large), OwnedReply::Done, "{size}");
                assert!(client.get("large") == value(&large), "{size}");
            }
            // All slots at once, with replies of several records each.
            let keys: Vec<String> = (0..8 * clients).map(|number| format!("key{number}")).collect();
            let values: Vec<Vec<u8>> = (1..).zip(&keys).map(|(at, key)| key.repeat(at * 700).into_bytes()).collect();
            let pairs = || keys.iter().map(String::as_bytes).zip(&values);
            let puts: Vec<Operation<'_>> = pairs().map(|(key, value)| Operation::Put { key, value }).collect();
            assert!(client.all(&puts).iter().all(|reply| *reply == OwnedReply::Done));
            let gets: Vec<Operation<'_>> = pairs().map(|(key, _)| Operation::Get { key }).collect();
            assert!(client.all(&gets).iter().zip(&values).all(|(reply, stored)| *reply == value(stored)));
        }
        assert!(opened.facts().unwrap().config["tls"].ends_with("ca.pem"));
        let stranger = self.open(store, ",tls=on").map(|_| ()).unwrap_err();
        assert!(
            stranger.contains("TLS: no trusted authority has signed") && stranger.contains("ca=FILE"),
            "{stranger}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn words(text: String) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn redis() -> Server {
    redis_with(&Rc::new(Certificates::made()), "")
}

/// One with these certificates, and these words more.
fn redis_with(certificates: &Rc<Certificates>, more: &str) -> Server {
    Server::start_with(certificates, "redis-server", |port, file| {
        let files = ["cert", "key", "ca-cert"].into_iter().zip(["cert.pem", "key.pem", "ca.pem"]);
        let files: String = files.map(|(option, name)| format!(" --tls-{option}-file {}", file(name))).collect();
        words(format!("--port 0 --bind 127.0.0.1 --tls-port {port} --tls-auth-clients no --save{files}{more}"))
    })
}

#[test]
fn a_redis_cluster_is_spoken_to_over_tls_though_only_one_of_its_nodes_was_named() {
    let certificates = Rc::new(Certificates::made());
    let nodes: Vec<Server> = (0..3)
        .map(|_| {
            let bus = testkit::free_port();
            let cluster = format!("--cluster-enabled yes --cluster-port {bus} --cluster-announce-ip 127.0.0.1");
            redis_with(&certificates, &format!(" --tls-cluster yes {cluster}"))
        })
        .collect();
    let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
    let formed = Command::new("redis-cli")
        .args(["--tls", "--cacert"])
        .arg(certificates.path("ca.pem"))
        .args(["--cluster", "create"])
        .args(addresses)
        .arg("--cluster-yes")
        .output()
        .unwrap();
    assert!(formed.status.success(), "{}", String::from_utf8_lossy(&formed.stdout));
    nodes[0].is_reached_by_who_names_its_authority("redis-cluster");
}

#[test]
fn redis_is_spoken_to_over_tls() {
    let server = redis();
    server.is_reached_by_who_names_its_authority("redis");
    let opened = server.open("rediss", &format!(",ca={}", server.authority().display())).unwrap();
    assert_eq!(Client::of(opened.store()).put("by scheme", "x"), OwnedReply::Done);
}

#[test]
fn a_certificate_its_owner_has_signed_is_trusted_by_who_names_that_very_certificate_and_by_nobody_else() {
    for words in [
        "-addext subjectAltName=IP:127.0.0.1",
        "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE",
        "",
    ] {
        let server = redis_with(&Rc::new(Certificates::self_signed(words)), "");
        let opened = server.open("redis", &format!(",tls=on,ca={}", server.authority().display()));
        let opened = opened.unwrap_or_else(|problem| panic!("{words}: {problem}"));
        assert_eq!(Client::of(opened.store()).put("k", "v"), OwnedReply::Done);
        // Another one, just like it.
        let other = Certificates::self_signed(words);
        let other = server.open("redis", &format!(",tls=on,ca={}", other.path("ca.pem").display()));
        let problem = other.map(|_| ()).unwrap_err();
        assert!(problem.contains("TLS: ") && !problem.contains("Other("), "{problem}");
    }
}

#[test]
fn what_is_wrong_with_a_certificate_or_a_plain_url_is_said_in_a_sentence_with_the_remedy() {
    let elsewhere = redis_with(&Rc::new(Certificates::self_signed("-addext subjectAltName=DNS:db.example.org")), "");
    let problem = elsewhere.open("redis", &format!(",tls=on,ca={}", elsewhere.authority().display()));
    let problem = problem.map(|_| ()).unwrap_err();
    assert!(problem.contains("certificate is only for db.example.org; use that name in the URL"), "{problem}");
    let problem = elsewhere.open("redis", "").map(|_| ()).unwrap_err();
    assert!(problem.contains("add tls=on"), "{problem}");
    let asks = redis_with(&Rc::new(Certificates::made()), " --tls-auth-clients yes");
    let problem = asks.open("redis", &format!(",tls=on,ca={}", asks.authority().display())).map(|_| ()).unwrap_err();
    assert!(problem.contains("asks clients for a certificate"), "{problem}");
}

#[test]
fn a_connection_over_tls_that_breaks_is_opened_again() {
    let server = redis();
    let opened = server.open("redis", &format!(",tls=on,ca={}", server.authority().display())).unwrap();
    let mut client = Client::new(opened.store(), 2, 1);
    assert_eq!(client.put("k", "v"), OwnedReply::Done);
    let admin = server.open("redis", &format!(",tls=on,ca={}", server.authority().display())).unwrap();
    let cli = Command::new("redis-cli")
        .args(["--tls", "--cacert"])
        .arg(server.authority())
        .args(["-p", &server.port.to_string(), "CLIENT", "KILL", "TYPE", "normal"])
        .stdout(Stdio::null())
        .status();
    assert!(cli.unwrap().success());
    drop(admin);
    until("it answers again", || client.get("k") == value("v"));
    assert!(client.session.reconnected() > 0);
}

#[test]
fn memcached_is_spoken_to_over_tls() {
    let server = Server::start("memcached", |port, file| {
        let files = format!("ssl_chain_cert={},ssl_key={}", file("cert.pem"), file("key.pem"));
        words(format!("-u nobody -l 127.0.0.1 -p {port} -I 16m -Z -o {files}"))
    });
    server.is_reached_by_who_names_its_authority("memcached");
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_is_spoken_to_over_tls() {
    let server = Server::start("etcd", |port, file| {
        let url = format!("https://127.0.0.1:{port}");
        let files = format!("--cert-file {} --key-file {}", file("cert.pem"), file("key.pem"));
        let peer = "unix://peer:1";
        words(format!(
            "--name one --listen-client-urls {url} --advertise-client-urls {url} {files} --listen-peer-urls {peer} \
             --initial-advertise-peer-urls {peer} --initial-cluster one={peer}"
        ))
    });
    server.is_reached_by_who_names_its_authority("etcd");
}

#[cfg(feature = "postgres")]
#[test]
fn postgresql_is_spoken_to_over_tls_and_one_without_it_is_said_to_have_none() {
    let rig = Rig::start("postgres");
    let url = format!("postgres://{},tls=on", rig.authority());
    let spec: Spec = url.parse().unwrap();
    let problem = host::open(info("postgres"), &spec, &std::env::temp_dir()).map(|_| ()).unwrap_err().to_string();
    assert!(problem.contains("the server has no TLS") && !problem.contains(&rig.password()), "{problem}");
    let words = ["-c", "ssl=on", "-c", "ssl_cert_file=CERT", "-c", "ssl_key_file=KEY"];
    Server::restarted(rig, &words).is_reached_by_who_names_its_authority("postgres");
}

#[cfg(feature = "mysql")]
#[test]
fn mariadb_is_spoken_to_over_tls() {
    let words = ["--ssl-cert=CERT", "--ssl-key=KEY", "--require-secure-transport=on"];
    Server::restarted(Rig::start("mysql"), &words).is_reached_by_who_names_its_authority("mysql");
}

/// Words of `openssl` for a certificate that its owner has signed.
const FOR_A_SERVER: &str = "-addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
const NAMES_NO_HOST: &str = "-addext basicConstraints=critical,CA:FALSE";
const OF_AN_AUTHORITY: &str = "-addext subjectAltName=IP:127.0.0.1";

#[cfg(feature = "mysql")]
#[test]
fn mariadb_with_a_certificate_its_owner_has_signed_is_reached_by_who_names_it_or_says_how_to_make_it() {
    let server = |made: &str| {
        let words = ["--ssl-cert=CERT", "--ssl-key=KEY", "--require-secure-transport=on"];
        Server::restarted_with(Certificates::self_signed(made), Rig::start("mysql"), &words)
    };
    let by_name = |server: &Server| server.open("mysql", &format!(",tls=on,ca={}", server.authority().display()));
    let good = server(FOR_A_SERVER);
    let opened = soon("it lets somebody in", || by_name(&good).ok());
    assert_eq!(Client::of(opened.store()).put("k", "v"), OwnedReply::Done);
    for (made, remedy) in
        [(OF_AN_AUTHORITY, "make it with basicConstraints=CA:FALSE"), (NAMES_NO_HOST, "make it with a subjectAltName")]
    {
        let server = server(made);
        let said = soon("it says what is wrong", || by_name(&server).map(drop).err().filter(|it| it.contains("TLS: ")));
        assert!(said.contains(remedy) && !said.contains("Error"), "{said}");
    }
}

#[cfg(feature = "mongodb")]
#[test]
fn mongodb_with_a_certificate_its_owner_has_signed_is_believed_by_who_names_it_or_says_how_to_make_it() {
    for (made, remedy) in [
        (FOR_A_SERVER, None),
        (OF_AN_AUTHORITY, Some("make it with basicConstraints=CA:FALSE")),
        (NAMES_NO_HOST, Some("make it with a subjectAltName")),
    ] {
        let server = anybody_with(Certificates::self_signed(made));
        let said = || {
            let opened = server.open("mongodb", &format!(",tls=on,ca={}", server.authority().display()));
            opened.map(drop).unwrap_err()
        };
        let Some(remedy) = remedy else {
            // It is believed, and then it does not speak as MongoDB does.
            let said = said();
            assert!(!said.contains("TLS: ") && !said.contains("certificate"), "{said}");
            continue;
        };
        // On a busy machine the handshake may take longer than the second it is given.
        let said = soon("it says what is wrong", || Some(said()).filter(|it| it.contains("TLS: ")));
        assert!(said.contains(remedy), "{said}");
    }
}

#[cfg(feature = "couchdb")]
#[test]
fn couchdb_is_spoken_to_over_tls() {
    Server::behind_a_proxy(Rig::start("couchdb")).is_reached_by_who_names_its_authority("couchdb");
}

#[test]
#[ignore = "half a minute: a Java server"]
fn infinispan_is_spoken_to_over_tls() {
    let rig = Rig::start("infinispan");
    let home = PathBuf::from(rig.argument("-Dinfinispan.server.home.path="));
    let keystore = r#"<server-identities><ssl><keystore path="STORE" password="changeit"/></ssl></server-identities>"#;
    let settings = home.join("server/conf/infinispan.xml");
    let server = Server::restarted_with_a_keystore(rig, &settings, "<properties-realm ", keystore);
    server.is_reached_by_who_names_its_authority("infinispan");
}

#[test]
#[ignore = "half a minute: a Java server"]
fn ignite_is_spoken_to_over_tls() {
    let rig = Rig::start("ignite");
    let settings = rig.arguments().iter().rfind(|argument| argument.ends_with("ignite.xml")).map(PathBuf::from);
    let factory = r#"<property name="sslEnabled" value="true"/><property name="useIgniteSslContextFactory" value="false"/>
        <property name="sslContextFactory"><bean class="org.apache.ignite.ssl.SslContextFactory">
          <property name="keyStoreFilePath" value="STORE"/><property name="keyStorePassword" value="changeit"/>
          <property name="keyStoreType" value="PKCS12"/>
          <property name="trustManagers">
            <bean class="org.apache.ignite.ssl.SslContextFactory" factory-method="getDisabledTrustManager"/>
          </property>
        </bean></property>"#;
    let mark = r#"<property name="jdbcEnabled""#;
    let server = Server::restarted_with_a_keystore(rig, &settings.unwrap(), mark, factory);
    server.is_reached_by_who_names_its_authority("ignite");
}

/// What answers in the protocol of nobody, after the handshake.
#[cfg(any(feature = "mongodb", feature = "cassandra"))]
fn anybody() -> Server {
    anybody_with(Certificates::made())
}

#[cfg(any(feature = "mongodb", feature = "cassandra"))]
fn anybody_with(certificates: Certificates) -> Server {
    Server::start_with(&Rc::new(certificates), "openssl", |port, file| {
        words(format!("s_server -quiet -accept 127.0.0.1:{port} -cert {} -key {}", file("cert.pem"), file("key.pem")))
    })
}

#[cfg(feature = "mongodb")]
#[test]
fn a_stranger_is_not_taken_for_mongodb() {
    let server = anybody();
    // On a busy machine the handshake may take longer than the second it is given.
    let mut problems = (0..10).map(|_| server.open("mongodb", ",tls=on").map(|_| ()).unwrap_err());
    let problem = problems.find(|problem| !problem.contains("no answer within")).unwrap();
    assert!(problem.contains("TLS: ") && problem.contains("ca="), "{problem}");
}

#[cfg(feature = "cassandra")]
#[test]
fn a_stranger_is_not_taken_for_cassandra() {
    let problem = anybody().open("cassandra", "/keys,tls=on").map(|_| ()).unwrap_err();
    assert!(problem.contains("TLS: ") && problem.contains("ca="), "{problem}");
}

#[test]
fn a_server_that_speaks_no_tls_is_said_to_be_none() {
    let redis = Rig::start("redis");
    let port = redis.endpoint().tcp().unwrap().1;
    let spec: Spec = format!("rediss://127.0.0.1:{port}").parse().unwrap();
    let problem = host::open(info("redis"), &spec, &std::env::temp_dir()).map(|_| ()).unwrap_err().to_string();
    assert!(problem.contains("speak TLS"), "{problem}");
}

#[test]
fn a_private_server_takes_no_tls_and_says_why() {
    for option in ["tls=on", "ca=/x.pem"] {
        let spec: Spec = format!("redis,{option}").parse().unwrap();
        let problem = host::open(info("redis"), &spec, &std::env::temp_dir()).map(|_| ()).unwrap_err().to_string();
        assert!(problem.contains("server of yours"), "{problem}");
    }
}
