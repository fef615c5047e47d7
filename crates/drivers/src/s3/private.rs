//! Private servers of S3's protocol: which products there are, and how each is started.

use super::{BUNDLE, INSTALL};
use std::path::{Path, PathBuf};
use store::{Choice, CommandLine, Endpoint, OptionInfo, Place, StoreError, programs};
use study::Spec;

/// The option that chooses the product.
pub(super) const SERVER: Choice<Server> =
    OptionInfo::one_of("server", &["versitygw", "s3s-fs"], "the program of a private store")
        .means(&[Server::Versitygw, Server::S3sFs]);

/// Environment variable with the path of an s3s-fs program.
const S3S_FS: &str = "KVTRIAL_S3S_FS";

/// The only user of a private versitygw.
const USER: &str = "kvtrial";

/// A server that keeps objects in files and syncs none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    Versitygw,
    S3sFs,
}

impl Server {
    pub fn name(self) -> &'static str {
        match self {
            Server::Versitygw => "versitygw",
            Server::S3sFs => "s3s-fs",
        }
    }

    pub fn install(self) -> &'static str {
        match self {
            Server::Versitygw => INSTALL,
            Server::S3sFs => "cargo install s3s-fs --features binary (or name the program in KVTRIAL_S3S_FS)",
        }
    }

    pub fn program(self) -> Option<PathBuf> {
        let on_path = || programs::find(&[self.name()], &[]);
        match self {
            Server::Versitygw => on_path().or_else(|| BUNDLE.program()),
            Server::S3sFs => {
                let named = std::env::var_os(S3S_FS).map(PathBuf::from).filter(|path| path.is_file());
                named.or_else(on_path)
            }
        }
    }

    /// Returns `1.8.0` from "Version  : v1.8.0", and `0.14.1` from "s3s-fs 0.14.1".
    pub fn version(self, program: &Path) -> Option<String> {
        let line = programs::version_line(program, &["--version"])?;
        let version = match self {
            Server::Versitygw => line.strip_prefix("Version")?.trim_start_matches([' ', ':', 'v']),
            Server::S3sFs => line.strip_prefix("s3s-fs ")?,
        };
        Some(version.to_owned())
    }

    /// Returns the command that starts the server, and the endpoint where it then listens.
    pub fn start(self, spec: &Spec, place: &mut Place, data: &Path) -> Result<(CommandLine, Endpoint), StoreError> {
        let program = self.program().ok_or_else(|| StoreError::NotFound {
            store: spec.name.clone(),
            what: self.name().into(),
            install: self.install().into(),
        })?;
        let port = place.port()?;
        let endpoint = Endpoint::loopback(port);
        let run = CommandLine::new(program);
        Ok(match self {
            Server::Versitygw => {
                let address = format!("127.0.0.1:{port}");
                // Without keep-alive it closes the connection after each answer; it would write a line for each request.
                let mut run = run.args(["--port", &address, "--keep-alive", "--quiet", "posix"]).arg(data);
                // Its arguments every user of the machine can read; its environment nobody else can.
                let secret = place.secret.reveal().to_owned();
                run.env.push(("ROOT_ACCESS_KEY_ID".into(), USER.into()));
                run.env.push(("ROOT_SECRET_ACCESS_KEY".into(), secret));
                (run, Endpoint { user: Some(USER.into()), password: Some(place.secret.clone()), ..endpoint })
            }
            // It takes a secret in its arguments only: so it is given none.
            Server::S3sFs => (run.args(["--host", "127.0.0.1", "--port"]).arg(port.to_string()).arg(data), endpoint),
        })
    }
}
