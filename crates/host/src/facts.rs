//! The facts that the machine states about itself. A fact that cannot be read is left out, never guessed.

use crate::affinity::allowed_cpus;
use crate::tree::field_bytes;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use study::HostFacts;

/// Returns facts about this machine; `base` is where private directories are made. The caller fills in the clock.
pub fn facts(base: &Path) -> HostFacts {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    HostFacts {
        kernel: kernel(),
        cpu: cpu_model(&cpuinfo),
        cpus: allowed_cpus().len() as u32,
        governor: governor(),
        idle: idle(),
        memory_bytes: field_bytes(&read("/proc/meminfo").unwrap_or_default(), "MemTotal:").unwrap_or(0),
        filesystem: filesystem(base),
        directory: base.display().to_string(),
        clock: String::new(),
        huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
        virtualisation: virtualisation(&cpuinfo),
        mitigations: mitigations(Path::new("/sys/devices/system/cpu/vulnerabilities")),
        microcode: cpuinfo_field(&cpuinfo, "microcode").map(str::to_owned),
    }
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns kernel release and distribution, e.g. `Linux 6.1.0-28-amd64 x86_64, Debian GNU/Linux 12 (bookworm)`.
fn kernel() -> String {
    let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = format!("Linux {release} {}", std::env::consts::ARCH);
    match read("/etc/os-release").as_deref().and_then(distribution) {
        Some(name) => format!("{kernel}, {name}"),
        None => kernel,
    }
}

fn distribution(os_release: &str) -> Option<String> {
    let name = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn cpu_model(cpuinfo: &str) -> String {
    cpuinfo_field(cpuinfo, "model name")
        .map(str::to_owned)
        .or_else(|| read("/proc/device-tree/model"))
        .or_else(|| {
            let part = |name| cpuinfo_field(cpuinfo, name);
            Some(format!("implementer {} part {}", part("CPU implementer")?, part("CPU part")?))
        })
        .unwrap_or_default()
}

fn cpuinfo_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find_map(|(key, value)| (key.trim() == name && !value.trim().is_empty()).then(|| value.trim()))
}

/// Returns the frequency governors of the processors we may use, each named once.
fn governor() -> Option<String> {
    let path = |cpu: usize| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let mut governors: Vec<String> = allowed_cpus().into_iter().filter_map(|cpu| read(&path(cpu))).collect();
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// Returns the behaviour of a processor without work, e.g. `haltpoll driver, haltpoll governor, polls 200000 ns before it halts`. A round
/// trip between two processors waits for the wake-up, and waking a halted one of a virtual machine takes tens of microseconds (kernel
/// documentation, virt/guest-halt-polling).
fn idle() -> Option<String> {
    let of = |name: &str| read(&format!("/sys/devices/system/cpu/cpuidle/{name}"));
    let (driver, governor) = (of("current_driver")?, of("current_governor").or_else(|| of("current_governor_ro"))?);
    let polls_ns = read("/sys/module/haltpoll/parameters/guest_halt_poll_ns").filter(|_| governor == "haltpoll");
    let polls = polls_ns.map(|ns| format!(", polls {ns} ns before it halts")).unwrap_or_default();
    Some(format!("{driver} driver, {governor} governor{polls}"))
}

/// Returns the word in brackets, as the kernel marks the setting in effect.
fn chosen(setting: &str) -> Option<String> {
    Some(setting.split_once('[')?.1.split_once(']')?.0.to_owned())
}

fn filesystem(base: &Path) -> Option<String> {
    filesystem_of(&base.canonicalize().ok()?, &read("/proc/self/mountinfo")?)
}

/// Returns the type of the file system mounted closest above a path; the last one mounted there counts.
fn filesystem_of(path: &Path, mountinfo: &str) -> Option<String> {
    let mut closest: Option<(usize, &str)> = None;
    for line in mountinfo.lines() {
        let Some((mount, kind)) = line.split_once(" - ") else { continue };
        let Some(point) = mount.split(' ').nth(4).map(unescape) else { continue };
        if path.starts_with(&point) && closest.is_none_or(|(length, _)| point.len() >= length) {
            closest = kind.split(' ').next().map(|kind| (point.len(), kind));
        }
    }
    closest.map(|(_, kind)| kind.to_owned())
}

/// Returns a mount point without octal escapes, which stand for spaces and the like.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Returns the kernel's measure against each weakness of this processor, without weaknesses it does not have. The work at each switch to the kernel
/// slows a client, which does little else, by far more than a server (kernel documentation, admin-guide/hw-vuln).
fn mitigations(directory: &Path) -> Option<BTreeMap<String, String>> {
    let of = |entry: fs::DirEntry| {
        let said = read(&entry.path().display().to_string())?;
        Some((entry.file_name().to_string_lossy().into_owned(), said)).filter(|(_, said)| said != "Not affected")
    };
    Some(fs::read_dir(directory).ok()?.flatten().filter_map(of).collect())
}

/// Returns the hypervisor and the kind of container around us, where they show.
fn virtualisation(cpuinfo: &str) -> Option<String> {
    let kinds: Vec<String> = [hypervisor(cpuinfo), container()].into_iter().flatten().collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}

fn hypervisor(cpuinfo: &str) -> Option<String> {
    let flags = cpuinfo_field(cpuinfo, "flags").unwrap_or("");
    let machine = || read("/sys/class/dmi/id/product_name").or_else(|| read("/proc/device-tree/hypervisor/compatible"));
    if flags.split(' ').any(|flag| flag == "hypervisor") {
        return Some(hypervisor_name().or_else(machine).unwrap_or_else(|| "virtual machine".into()));
    }
    let machine = machine()?;
    ["KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Bochs", "xen"]
        .iter()
        .any(|virtual_one| machine.contains(virtual_one))
        .then_some(machine)
}

/// Returns the name that the hypervisor gives itself in the processor's identification.
#[cfg(target_arch = "x86_64")]
fn hypervisor_name() -> Option<String> {
    /// The leaf of the identification that is reserved for hypervisors.
    const HYPERVISOR_LEAF: u32 = 0x4000_0000;
    // Called only when the processor says that it is virtual, so the leaf exists.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 processor has this instruction; it touches no memory.
    let id = unsafe { std::arch::x86_64::__cpuid(HYPERVISOR_LEAF) };
    let bytes: Vec<u8> = [id.ebx, id.ecx, id.edx].iter().flat_map(|register| register.to_le_bytes()).collect();
    let signature = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
    let names = [
        ("KVMKVMKVM", "KVM"),
        ("Linux KVM Hv", "KVM"),
        ("Microsoft Hv", "Hyper-V"),
        ("VMwareVMware", "VMware"),
        ("XenVMMXenVMM", "Xen"),
        ("TCGTCGTCGTCG", "QEMU without acceleration"),
        ("VBoxVBoxVBox", "VirtualBox"),
        ("ACRNACRNACRN", "ACRN"),
        ("bhyve bhyve", "bhyve"),
    ];
    match names.iter().find(|(known, _)| signature.starts_with(known)) {
        Some((_, name)) => Some((*name).to_owned()),
        None => (!signature.is_empty() && signature.is_ascii()).then_some(signature),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor_name() -> Option<String> {
    None
}

fn container() -> Option<String> {
    if Path::new("/.dockerenv").exists() {
        return Some("Docker container".into());
    }
    if Path::new("/run/.containerenv").exists() {
        return Some("Podman container".into());
    }
    let environment = fs::read("/proc/1/environ").ok()?;
    let kind = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"container="))?;
    Some(format!("{} container", String::from_utf8_lossy(kind)))
}

#[cfg(test)]
mod tests {
    use super::{chosen, cpuinfo_field, distribution, facts, filesystem_of, mitigations};
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn the_facts_agree_with_the_system_s_own_tools() {
        let facts = facts(&std::env::temp_dir());
        let tool = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert!(facts.kernel.contains(&tool("uname", &["-r"])), "{}", facts.kernel);
        assert_eq!(facts.cpus.to_string(), tool("nproc", &[]));
        assert!(tool("free", &["-b"]).contains(&facts.memory_bytes.to_string()) && facts.memory_bytes > 1 << 26);
        assert!(!facts.cpu.is_empty());
        assert!(facts.filesystem.is_some() && facts.clock.is_empty());
    }

    #[test]
    fn the_closest_mount_decides_and_the_last_one_there() {
        let mounts = "22 1 254:0 / / rw - ext4 /dev/a rw\n23 22 0:5 / /tmp rw shared:1 - tmpfs x rw\n\
                      24 22 0:6 / /tmp/a\\040b rw - xfs /dev/b rw\n25 22 0:7 / /tmp rw - btrfs y rw\n";
        let of = |path: &str| filesystem_of(Path::new(path), mounts).unwrap();
        assert_eq!((of("/home").as_str(), of("/tmp/x").as_str()), ("ext4", "btrfs"));
        assert_eq!((of("/tmp/a b/c").as_str(), of("/tmpfile").as_str()), ("xfs", "ext4"));
    }

    #[test]
    fn what_the_kernel_does_about_each_weakness_of_the_processor_is_a_fact() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, said: &str| std::fs::write(directory.path().join(name), said).unwrap();
        write("meltdown", "Not affected\n");
        write("spectre_v2", "Mitigation: Retpolines; IBPB: conditional\n");
        write("mds", "Vulnerable: Clear CPU buffers attempted, no microcode\n");
        let found = mitigations(directory.path()).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["mds", "spectre_v2"]);
        assert_eq!(found["spectre_v2"], "Mitigation: Retpolines; IBPB: conditional");
        assert_eq!(mitigations(&directory.path().join("none")), None);
    }

    #[test]
    fn settings_and_names_are_read_as_the_kernel_writes_them() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none"), None);
        assert_eq!(distribution("ID=x\nPRETTY_NAME=\"Debian 12\"\n").as_deref(), Some("Debian 12"));
        assert_eq!(cpuinfo_field("processor\t: 0\nmodel name\t: A B\n", "model name"), Some("A B"));
    }
}
