//! What private servers of the MySQL family have in common: nobody but kvtrial gets in, and kvtrial has no more rights than it needs.

use std::ffi::OsString;
use std::path::Path;
use store::{CommandLine, Place};
use study::Secret;

/// The ordinary user the server runs as when kvtrial is root.
pub const USER: &str = "mysql";

/// The only account of a private server beside the server's own.
pub const LOGIN: &str = "kvtrial";

/// The only directory below the private one in which statements may read and write files. It stays empty.
pub const NOWHERE: &str = "nowhere";

/// The table where a product keeps its users, and the users it needs itself.
#[derive(Clone, Copy)]
pub struct Users {
    table: &'static str,
    own: &'static [&'static str],
}

impl Users {
    /// The users of MariaDB.
    pub const OF_MARIADB: Users = Users { table: "mysql.global_priv", own: &["mariadb.sys"] };
    /// The users of MySQL.
    pub const OF_MYSQL: Users = Users { table: "mysql.user", own: &["mysql.infoschema", "mysql.session", "mysql.sys"] };
}

/// Returns the statements, one per line, that make kvtrial's account and remove every other account, root's too. The server carries them out at each
/// start before it lets anybody in.
pub fn accounts(users: Users, password: &Secret) -> String {
    let kept = [&[LOGIN], users.own].concat().join("', '");
    format!(
        "CREATE USER IF NOT EXISTS '{LOGIN}'@'%' IDENTIFIED BY '{}';\n\
         GRANT ALL PRIVILEGES ON `kvtrial%`.* TO '{LOGIN}'@'%';\n\
         DELETE FROM {} WHERE User NOT IN ('{kept}');\n\
         FLUSH PRIVILEGES;\n",
        password.reveal(),
        users.table
    )
}

/// Returns the command line of a server that begins with the statements in `setup`, and whose statements reach no file of the machine.
pub fn locked(run: CommandLine, place: &Place, setup: &Path) -> CommandLine {
    run.arg(option("--init-file", setup))
        .arg(option("--secure-file-priv", &place.directory.join(NOWHERE)))
        // The account is the same over TCP and over the socket.
        .args(["--skip-name-resolve", "--local-infile=OFF"])
}

/// Returns `--name=path`.
fn option(name: &str, path: &Path) -> OsString {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(path);
    text
}
