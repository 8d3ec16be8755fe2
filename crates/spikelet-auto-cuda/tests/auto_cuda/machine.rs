//! What runs kernels: a GPU, or a C++ compiler and the host.

use spikelet_auto_cuda::{Argument, AutoCudaError, Callable, CudaTensor, Dims, Kernel};
use spikelet_cuda::Cuda;
use spikelet_graph::f16;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::{Command, Stdio};

/// The first GPU; tests that call this are ignored where there is none.
pub fn gpu() -> Cuda {
    Cuda::new(0).unwrap_or_else(|error| panic!("{error}"))
}

/// Calls of kernels whose texts are this library's or these tests'.
pub trait Trusted: Callable {
    fn run(
        &self,
        grid: impl Into<Dims>,
        block: impl Into<Dims>,
        args: &[(&str, Argument<'_>)],
    ) -> Result<(), AutoCudaError> {
        // SAFETY: the texts of the tests stay within their tensors.
        unsafe { self.call(grid, block, args) }
    }

    fn run_simple(&self, args: &[(&str, Argument<'_>)]) -> Result<(), AutoCudaError> {
        // SAFETY: as above.
        unsafe { self.simple_call(args) }
    }
}

impl<K: Callable + ?Sized> Trusted for K {}

/// An argument, with its values.
#[derive(Clone, Debug)]
pub enum Value {
    F32(Vec<usize>, Vec<f32>),
    F16(Vec<usize>, Vec<f16>),
    Int(i32),
    Float(f32),
}

impl Value {
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Value::F32(_, values) => values.iter().map(|x| f64::from(*x)).collect(),
            Value::F16(_, values) => values.iter().map(|x| f64::from(*x)).collect(),
            Value::Int(value) => vec![f64::from(*value)],
            Value::Float(value) => vec![f64::from(*value)],
        }
    }

    /// As the kernel of this parameter reads it.
    fn bytes(&self, ctype: &str) -> Vec<u8> {
        match self {
            Value::F32(_, values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Value::F16(_, values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Value::Int(value) => value.to_le_bytes().into(),
            Value::Float(value) if ctype.contains("half2") => {
                f16::from_f32(*value).to_le_bytes().repeat(2)
            }
            Value::Float(value) => value.to_le_bytes().into(),
        }
    }

    /// The same with other values.
    fn with_bytes(&self, bytes: &[u8]) -> Value {
        match self {
            Value::F32(shape, _) => {
                let (words, _) = bytes.as_chunks();
                let values = words.iter().map(|word| f32::from_le_bytes(*word));
                Value::F32(shape.clone(), values.collect())
            }
            Value::F16(shape, _) => {
                let (words, _) = bytes.as_chunks();
                let values = words.iter().map(|word| f16::from_le_bytes(*word));
                Value::F16(shape.clone(), values.collect())
            }
            number => number.clone(),
        }
    }
}

pub type Values = BTreeMap<&'static str, Value>;

/// A kernel to be run once.
pub struct Job {
    pub name: String,
    pub kernel: Box<dyn Kernel>,
    pub blocks: u32,
    pub threads: u32,
    pub values: Values,
}

/// Runs jobs: all values afterwards.
pub fn on_gpu(gpu: &Cuda, jobs: &[Job]) -> Vec<Values> {
    jobs.iter().map(|job| run_one(gpu, job)).collect()
}

fn run_one(gpu: &Cuda, job: &Job) -> Values {
    let tensors: BTreeMap<&str, CudaTensor> = job
        .values
        .iter()
        .filter_map(|(name, value)| {
            let tensor = match value {
                Value::F32(shape, values) => CudaTensor::new(gpu, shape.clone(), values),
                Value::F16(shape, values) => CudaTensor::new(gpu, shape.clone(), values),
                Value::Int(_) | Value::Float(_) => return None,
            };
            Some((*name, tensor.expect("memory")))
        })
        .collect();
    let argument = |(name, value): (&&'static str, &Value)| -> (&'static str, Argument<'_>) {
        let argument = match value {
            Value::F32(..) | Value::F16(..) => (&tensors[name]).into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
        };
        (name, argument)
    };
    // In any order.
    let args: Vec<_> = job.values.iter().rev().map(argument).collect();
    job.kernel
        .run(job.blocks, job.threads, &args)
        .unwrap_or_else(|error| panic!("{}: {error}", job.name));
    let after = |(name, value): (&&'static str, &Value)| {
        let value = match value {
            Value::F32(shape, _) => {
                Value::F32(shape.clone(), tensors[name].to_vec().expect("values"))
            }
            Value::F16(shape, _) => {
                Value::F16(shape.clone(), tensors[name].to_vec().expect("values"))
            }
            number => number.clone(),
        };
        (*name, value)
    };
    job.values.iter().map(after).collect()
}

const SHIM: &str = include_str!("../../../spikelet-expr/tests/cuda_text/shim.h");
const HOST: &str = include_str!("host.h");

/// Runs jobs on the host, with a g++ that knows threads and halves. `name` is for files.
pub fn on_host(name: &str, jobs: &[Job]) -> Vec<Values> {
    let input: Vec<u8> = jobs
        .iter()
        .flat_map(|job| {
            let params = job.kernel.cparams().iter();
            params.flat_map(|(cname, ctype)| job.values[cname.as_str()].bytes(ctype))
        })
        .collect();
    let output = compile_cpp(name, &program(jobs), &input);
    let mut rest = output.as_slice();
    let mut results = vec![];
    for job in jobs {
        let mut values = job.values.clone();
        for (cname, ctype) in job.kernel.cparams() {
            let value = values.get_mut(cname.as_str()).expect("all are given");
            let (bytes, after) = rest.split_at(value.bytes(ctype).len());
            *value = value.with_bytes(bytes);
            rest = after;
        }
        results.push(values);
    }
    assert!(rest.is_empty());
    results
}

/// Compiles a program, runs it with this on its standard input: its standard output.
pub fn compile_cpp(name: &str, program: &str, input: &[u8]) -> Vec<u8> {
    // The tests may have been brought here from elsewhere, without cargo's own folder.
    let folder = tempfile::tempdir().expect("a folder of one's own");
    let path = |suffix: &str| folder.path().join(format!("{name}{suffix}"));
    let write = |suffix, text: &[u8]| {
        std::fs::write(path(suffix), text).expect("the folder for tests is writable");
    };
    write(".cpp", program.as_bytes());
    write(".in", input);
    let compiled = Command::new("g++")
        .args([
            "-std=c++20",
            "-O1",
            "-ffp-contract=off",
            "-pthread",
            "-w",
            "-o",
        ])
        .args([path(""), path(".cpp")])
        .output()
        .expect("g++ can be started");
    let messages = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{messages}");
    let ran = Command::new(path(""))
        .stdin(std::fs::File::open(path(".in")).expect("it has just been written"))
        .stderr(Stdio::inherit())
        .output()
        .expect("a program that was compiled can be started");
    assert!(ran.status.success(), "{name} failed");
    ran.stdout
}

/// What stands before the kernels in a program for the host.
pub fn program_head() -> String {
    let headers = [
        "cmath",
        "cstdio",
        "cstdlib",
        "vector",
        "barrier",
        "functional",
        "thread",
    ];
    let mut text: String = headers.map(|h| format!("#include <{h}>\n")).concat();
    text += SHIM;
    text += HOST;
    text
}

/// A program that reads the arguments of each job from its standard input in the order of its
/// parameters, and writes them to its standard output when it has run.
fn program(jobs: &[Job]) -> String {
    let mut text = program_head();
    let mut main = String::new();
    for (k, job) in jobs.iter().enumerate() {
        let codes = job
            .kernel
            .full_codes()
            .replace("#include <cuda_fp16.h>", "")
            .replace("extern \"C\"", "");
        write!(text, "namespace job_{k} {{\n{codes}}}\n").expect("a string");
        let (mut reads, mut arguments, mut writes) = (String::new(), vec![], String::new());
        for (j, (cname, ctype)) in job.kernel.cparams().iter().enumerate() {
            let bytes = job.values[cname.as_str()].bytes(ctype).len();
            writeln!(
                reads,
                "std::vector<float> a{j}({bytes} / 4 + 1); fread(a{j}.data(), 1, {bytes}, stdin);"
            )
            .expect("a string");
            let (base, is_pointer) = match ctype.strip_suffix('*') {
                Some(base) => (base, true),
                None => (ctype.trim_end_matches('&'), false),
            };
            let value = if is_pointer { "" } else { "*" };
            arguments.push(format!("{value}({base} *)a{j}.data()"));
            writeln!(writes, "fwrite(a{j}.data(), 1, {bytes}, stdout);").expect("a string");
        }
        writeln!(
            main,
            "{{ {reads} run({}, {}, [&] {{ job_{k}::{}({}); }}); {writes} }}",
            job.blocks,
            job.threads,
            job.kernel.kernel_name(),
            arguments.join(", ")
        )
        .expect("a string");
    }
    format!("{text}\nint main() {{\n{main}}}\n")
}

/// A test on the host and one on a GPU, of the same jobs and checks.
#[macro_export]
macro_rules! on_both {
    ($name:ident, $jobs:expr, $check:expr) => {
        mod $name {
            use super::*;

            #[test]
            #[ignore = "needs g++"]
            fn on_the_host() {
                let jobs = $jobs;
                let results = $crate::machine::on_host(stringify!($name), &jobs);
                $check(&jobs, &results);
            }

            #[test]
            #[ignore = "needs an NVIDIA GPU"]
            fn on_a_gpu() {
                let jobs = $jobs;
                let results = $crate::machine::on_gpu(&$crate::machine::gpu(), &jobs);
                $check(&jobs, &results);
            }
        }
    };
}

/// Irregular numbers in [−1, 1], the same for the same seed.
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    };
    (0..count).map(next).collect()
}
