//! Expected output in files. `UPDATE_GOLDEN=1` writes them again; read what changed before committing it.

use std::path::Path;

/// Compares with `tests/golden/NAME`, and checks that it fits a terminal.
pub fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expected, "{name} is not as expected; got:\n{got}");
    for line in got.lines() {
        assert!(line.chars().count() <= 80 && line == line.trim_end(), "{line:?}");
    }
}
