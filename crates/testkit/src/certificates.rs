//! Certificates for servers that are spoken to over TLS, made by `openssl`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An authority, and what it has signed for 127.0.0.1: `ca.pem`, `cert.pem`, `key.pem`, which servers and clients show. All go with this.
pub struct Certificates(TempDir);

impl Certificates {
    /// Makes them.
    ///
    /// # Panics
    /// Without `openssl`.
    #[must_use]
    pub fn made() -> Certificates {
        let directory = TempDir::new().unwrap_or_else(|error| panic!("{error}"));
        let at = directory.path();
        std::fs::write(at.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap_or_else(|error| panic!("{error}"));
        let request = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(at, &format!("req -x509 {request} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
        openssl(at, &format!("req {request} -keyout key.pem -out request.pem -subj /CN=server"));
        let signed = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names";
        openssl(at, &format!("x509 -req -in request.pem {signed} -out cert.pem"));
        Certificates(directory)
    }

    /// Makes a certificate that nobody has signed but its owner, with these words of `openssl req` more, such as `-addext
    /// subjectAltName=IP:127.0.0.1`: the certificate is `cert.pem` and `ca.pem`.
    ///
    /// # Panics
    /// Without `openssl`.
    #[must_use]
    pub fn self_signed(words: &str) -> Certificates {
        let directory = TempDir::new().unwrap_or_else(|error| panic!("{error}"));
        let request =
            "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=server";
        let words = format!("req -x509 {request} {words}");
        openssl(directory.path(), words.trim());
        let copied = std::fs::copy(directory.path().join("cert.pem"), directory.path().join("ca.pem"));
        assert!(copied.is_ok(), "{copied:?}");
        Certificates(directory)
    }

    /// Writes the server's key and certificate as Java takes them.
    pub fn export(&self, keystore: &Path, password: &str) {
        let keystore = keystore.display();
        let words = format!("pkcs12 -export -in cert.pem -inkey key.pem -out {keystore} -passout pass:{password}");
        openssl(self.0.path(), &words);
    }

    /// Returns the path of one of the files.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Its text.
    ///
    /// # Panics
    /// When there is no such file.
    #[must_use]
    pub fn pem(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn openssl(directory: &Path, words: &str) {
    let mut command = Command::new("openssl");
    command.current_dir(directory).args(words.split(' ')).stderr(Stdio::null());
    assert!(command.status().is_ok_and(|status| status.success()), "apt-get install openssl: openssl {words}");
}
