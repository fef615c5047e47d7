//! The control groups this process is in: what limits it below what the machine has, in a container or a service.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the directories where a controller (`cpu`, `memory`) keeps the files of the group of this process and of those above it, its
/// own first; `root` is the root of the file system. Inside a container the path of the group is often not that of the mount: then the top
/// is left.
pub fn directories(root: &Path, controller: &str) -> Vec<PathBuf> {
    let mount = root.join("sys/fs/cgroup");
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let top = match controllers {
            "" => mount.clone(), // version 2
            _ if controllers.split(',').any(|name| name == controller) => mount.join(controllers),
            _ => continue,
        };
        let own = top.join(group.trim_start_matches('/'));
        found.extend(own.ancestors().take_while(|above| above.starts_with(&top)).map(Path::to_path_buf));
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::directories;
    use std::path::Path;

    #[test]
    fn the_groups_of_both_versions_are_found_from_their_own_to_the_top() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/cgroup"), "4:memory:/a/b\n3:cpu,cpuacct:/\n0::/c\n").unwrap();
        let of = |controller: &str| -> Vec<String> {
            let found = directories(root.path(), controller);
            let below = found.iter().map(|it| it.strip_prefix(root.path().join("sys/fs/cgroup")).unwrap());
            below.map(|it| it.display().to_string()).collect()
        };
        assert_eq!(of("memory"), ["memory/a/b", "memory/a", "memory", "c", ""]);
        assert_eq!(of("cpu"), ["cpu,cpuacct/", "c", ""].map(|it| it.trim_end_matches('/')));
        assert!(directories(Path::new("/nowhere"), "cpu").is_empty());
    }
}
