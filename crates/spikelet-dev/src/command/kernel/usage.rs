//! The resources of kernels, as reported by the assembler.

/// A kernel and its resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelUse {
    /// Its name in the machine code; mangled by C++ without `extern "C"`.
    pub name: String,
    /// Registers of a thread.
    pub registers: usize,
    /// Bytes of static shared memory of a block.
    pub shared: usize,
    /// Bytes of the stack of a thread.
    pub stack: usize,
    /// Bytes of registers that a thread spills to memory.
    pub spilled: [usize; 2],
}

/// A log without the assembler's statistics, and the kernels in these statistics, by name.
pub fn of(log: &str) -> (String, Vec<KernelUse>) {
    let mut kernels: Vec<KernelUse> = vec![];
    let mut messages = String::new();
    // The assembler also reports device functions that are not inlined.
    let mut about = "";
    for line in log.lines() {
        if line.contains(" bytes stack frame, ") {
            if let Some(kernel) = kernels.iter_mut().find(|kernel| kernel.name == about) {
                kernel.stack = before(line, " bytes stack frame").unwrap_or(0);
                kernel.spilled = ["stores", "loads"]
                    .map(|what| before(line, &format!(" bytes spill {what}")).unwrap_or(0));
            }
            continue;
        }
        let Some(text) = line.strip_prefix("ptxas info") else {
            messages.push_str(line);
            messages.push('\n');
            continue;
        };
        let text = text.trim_start_matches([' ', ':']);
        if let Some(rest) = text.strip_prefix("Compiling entry function '") {
            about = rest.split('\'').next().unwrap_or(rest);
            kernels.push(KernelUse {
                name: about.to_string(),
                ..KernelUse::default()
            });
        } else if let Some(name) = text.strip_prefix("Function properties for ") {
            about = name.trim_end();
        } else if text.starts_with("Used ")
            && let Some(kernel) = kernels.last_mut()
        {
            kernel.registers = before(text, " registers").unwrap_or(0);
            kernel.shared = before(text, " bytes smem").unwrap_or(0);
        }
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    (messages.trim_end().to_string(), kernels)
}

/// The number before the given words.
fn before(line: &str, words: &str) -> Option<usize> {
    let (start, _) = line.split_once(words)?;
    let number = start.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
k.cu(3): warning #177-D: variable \"a\" was declared but never referenced
      int a;
          ^

ptxas info    : 4 bytes gmem
ptxas info    : Compiling entry function 'twice' for 'sm_90'
ptxas info    : Function properties for twice
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 256 bytes smem
ptxas info    : Compile time = 36.958 ms
ptxas info    : Compiling entry function '_Z1fPf' for 'sm_90'
ptxas info    : Function properties for _Z1fPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, 352 bytes cmem[0]
ptxas info    : Function properties for helper
ptxas         .     800 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
";

    #[test]
    fn what_kernels_use_is_told_from_messages() {
        let (messages, kernels) = of(LOG);
        assert!(messages.starts_with("k.cu(3)") && messages.ends_with('^'));
        let kernel = |name: &str, registers, shared, stack, spilled| KernelUse {
            name: name.to_string(),
            registers,
            shared,
            stack,
            spilled,
        };
        assert_eq!(
            kernels,
            [
                kernel("_Z1fPf", 32, 0, 0, [0, 0]),
                kernel("twice", 10, 256, 8, [4, 12])
            ]
        );
    }

    #[test]
    fn a_log_without_kernels_is_all_messages() {
        assert_eq!(
            of("ptxas info    : 0 bytes gmem\n"),
            (String::new(), vec![])
        );
        assert_eq!(of(""), (String::new(), vec![]));
    }
}
