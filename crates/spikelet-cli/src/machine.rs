//! Properties of the machine.

use serde_json::{Value, json};
use std::path::Path;

/// The processor's name, where the system reports it.
pub fn processor() -> Option<String> {
    if cfg!(target_os = "macos") {
        let asked = std::process::Command::new("sysctl")
            .args(["-n", "machdep.cpu.brand_string"])
            .output();
        let name = String::from_utf8(asked.ok()?.stdout).ok()?;
        return Some(name.trim().to_string()).filter(|name| !name.is_empty());
    }
    if let Ok(name) = std::env::var("PROCESSOR_IDENTIFIER") {
        return Some(name);
    }
    field("/proc/cpuinfo", "model name")
}

/// The relevant instruction sets: name, and whether the processor has it.
pub fn features() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    let found = vec![
        ("AVX2", std::is_x86_feature_detected!("avx2")),
        ("FMA", std::is_x86_feature_detected!("fma")),
        ("AVX-512F", std::is_x86_feature_detected!("avx512f")),
        ("AVX-512BW", std::is_x86_feature_detected!("avx512bw")),
        ("AVX-512DQ", std::is_x86_feature_detected!("avx512dq")),
        ("AVX-512VL", std::is_x86_feature_detected!("avx512vl")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let found = vec![];
    found
}

/// Logical cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Total and available memory in bytes; `None` where the system does not report it.
pub fn memory() -> Option<(u64, u64)> {
    let bytes = |name| field("/proc/meminfo", name).and_then(|text| kibibytes(&text));
    Some((bytes("MemTotal")?, bytes("MemAvailable")?))
}

/// The maximum resident set size of this process in bytes; `None` where the system does not report
/// it.
pub fn peak_resident() -> Option<u64> {
    field("/proc/self/status", "VmHWM").and_then(|text| kibibytes(&text))
}

/// Processor, cores and memory as JSON.
pub fn description() -> Value {
    let memory = memory();
    json!({
        "processor": processor(),
        "cores": cores(),
        "features": features().into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect::<Vec<_>>(),
        "memory_bytes": memory.map(|m| m.0),
        "available_bytes": memory.map(|m| m.1),
    })
}

/// The value of `name: value` in a file of such lines.
fn field(path: impl AsRef<Path>, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_string())
    })
}

/// `123 kB` in bytes.
fn kibibytes(text: &str) -> Option<u64> {
    let number: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}
