//! Servers from npm: programs that are scripts of a package.

use std::path::Path;

/// Returns the version of the package of this name that a program is part of. The program itself may start a server whatever arguments it gets.
pub fn version(program: &Path, package: &str) -> Option<String> {
    let program = program.canonicalize().ok()?;
    // Beside the program, or above its directory.
    let description =
        program.ancestors().skip(1).take(2).find_map(|dir| std::fs::read(dir.join("package.json")).ok())?;
    let description: serde_json::Value = serde_json::from_slice(&description).ok()?;
    let named = description.get("name").is_some_and(|name| name == package);
    description.get("version").filter(|_| named)?.as_str().map(str::to_owned)
}
