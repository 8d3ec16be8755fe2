//! The built-in header against the toolkit's: the same functions, the same values.

use super::{BUILTIN, Headers};
use crate::compiler::{Architecture, CompileError, Compiler, Text};
use crate::gpu::Gpu;
use crate::launch::Launch;
use crate::memory::DeviceMemory;
use spikelet_graph::f16;
use std::sync::Arc;

/// Calls with the operands a, b and c, and the tolerance in units of the last place.
const CALLS: [(&str, i32); 37] = [
    ("__hadd2(a, b)", 0),
    ("__hsub2(a, b)", 0),
    ("__hmul2(a, b)", 0),
    ("__hfma2(a, b, c)", 0),
    ("__h2div(a, b)", 1),
    ("__hmin2(a, b)", 0),
    ("__hmax2(a, b)", 0),
    ("__heq2(a, b)", 0),
    ("__hne2(a, b)", 0),
    ("__hlt2(a, b)", 0),
    ("__hle2(a, b)", 0),
    ("__hgt2(a, b)", 0),
    ("__hge2(a, b)", 0),
    ("__hequ2(a, b)", 0),
    ("__hneu2(a, b)", 0),
    ("__hltu2(a, b)", 0),
    ("__hleu2(a, b)", 0),
    ("__hgtu2(a, b)", 0),
    ("__hgeu2(a, b)", 0),
    ("__hneg2(a)", 0),
    ("__habs2(a)", 0),
    ("h2exp(a)", 2),
    ("h2exp2(a)", 2),
    ("h2log(a)", 2),
    ("h2log2(a)", 2),
    ("h2sqrt(a)", 1),
    ("h2rcp(a)", 1),
    (
        "__floats2half2_rn(__low2float(a) / 3.0f, __high2float(b))",
        0,
    ),
    ("__float2half2_rn(__low2float(a) * 1.0001f)", 0),
    ("__float22half2_rn(__half22float2(a))", 0),
    ("__half2half2(__low2half(a))", 0),
    ("__halves2half2(__high2half(a), __low2half(b))", 0),
    (
        "__half2half2(__float2half(__half2float(__high2half(a))))",
        0,
    ),
    ("__half2half2(__float2half_rn(0.1f))", 0),
    ("__halves2half2(a.y, b.x)", 0),
    ("__float2half2_rn((float)sizeof(half2))", 0),
    (
        "__float2half2_rn((float)sizeof(__half) + alignof(__half2))",
        0,
    ),
];

fn source() -> String {
    let calls: String = CALLS
        .iter()
        .enumerate()
        .map(|(k, (call, _))| format!("    out[{} * i + {k}] = {call};\n", CALLS.len()))
        .collect();
    format!(
        "#include <cuda_fp16.h>
extern \"C\" __global__ void halves(const half2* from, half2* out, int count) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {{
    const half2 a = from[3 * i], b = from[3 * i + 1], c = from[3 * i + 2];
{calls}  }}
}}
"
    )
}

/// The headers on this machine.
fn headers(compiler: &Compiler) -> Vec<Headers> {
    let mut all = vec![Headers::Builtin];
    match compiler.headers(&source()) {
        Headers::Builtin => {
            eprintln!("the toolkit's headers are not here: only the own one is tried")
        }
        theirs => all.push(theirs.clone()),
    }
    all
}

/// Compiles with these headers, even if they are incomplete.
fn compile_with(
    compiler: &Compiler,
    source: &str,
    target: Architecture,
    headers: &Headers,
) -> Result<Vec<u8>, CompileError> {
    let text = Text {
        source,
        name: "halves",
        file: "halves.cu",
    };
    let made = compiler.compile_with(&text, target, headers, &[])?;
    Ok(made.code)
}

#[test]
#[ignore = "needs NVRTC"]
fn both_headers_have_the_same_functions() {
    let compiler = Compiler::get().unwrap();
    for headers in headers(compiler) {
        for gpu in [(7, 5), (9, 0), (99, 9)] {
            let target = compiler.target(gpu).unwrap();
            let made = compile_with(compiler, &source(), target, &headers);
            assert!(!made.unwrap().is_empty());
        }
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn an_error_mentions_the_built_in_header() {
    let compiler = Compiler::get().unwrap();
    let source = source().replace("__hadd2(a, b)", "h2trunc(a)");
    let target = compiler.target((9, 0)).unwrap();
    let error = compile_with(compiler, &source, target, &Headers::Builtin)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("identifier \"h2trunc\" is undefined"),
        "{error}"
    );
    assert!(error.contains("nvidia-cuda-runtime"), "{error}");
}

#[test]
#[ignore = "needs NVRTC"]
fn incomplete_headers_are_replaced_by_the_built_in_one() {
    let compiler = Compiler::get().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = "#include \"vector_types_that_are_not_there.h\"\n";
    std::fs::write(folder.path().join("cuda_fp16.h"), text).unwrap();
    let headers = Headers::Folder(folder.path().to_path_buf(), String::new());
    let target = compiler.target((9, 0)).unwrap();
    let code = compiler.compile(&source(), "halves", target, &headers);
    assert!(!code.unwrap().is_empty());
}

/// Half-precision values of every kind, in groups of three.
fn operands() -> Vec<f16> {
    let special: Vec<f16> = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        0.1,
        7.3,
        100.0,
        1000.0,
        65504.0,
        6e-8,
        3e-5,
        6.1e-5,
        f64::INFINITY,
    ]
    .into_iter()
    .flat_map(|x| [f16::from_f64(x), f16::from_f64(-x)])
    .chain([f16::NAN])
    .collect();
    let n = special.len();
    let mut all = vec![];
    for i in 0..n {
        for j in 0..n {
            // Two values per `half2`.
            let c = (5 * i + 7 * j) % n;
            for (x, y) in [(i, j), (j, i), (c, i)] {
                all.extend([special[x], special[y]]);
            }
        }
    }
    let random = (0..6 * 2000_u32).map(|k| f16::from_bits((k.wrapping_mul(40503) >> 3) as u16));
    all.extend(random);
    all
}

/// The results of the functions on a GPU.
fn run(gpu: &Arc<Gpu>, compiler: &Compiler, headers: &Headers) -> Vec<f16> {
    let operands = operands();
    let count = operands.len() / 6;
    let target = compiler.target(gpu.properties.capability).unwrap();
    let code = compile_with(compiler, &source(), target, headers);
    // SAFETY: NVRTC's result.
    let module = unsafe { gpu.context.load_module(&code.unwrap()) }.unwrap();
    let mut results = vec![f16::ZERO; 2 * count * CALLS.len()];
    let from = DeviceMemory::new(gpu, 2 * operands.len(), "operands").unwrap();
    let to = DeviceMemory::new(gpu, 2 * results.len(), "results").unwrap();
    let function = Arc::new(module.function("halves").unwrap());
    let blocks = count.div_ceil(256) as u32;
    let mut launch = Launch::new("halves", function, [blocks, 1, 1], [256, 1, 1]);
    for word in [from.pointer, to.pointer, count as u64] {
        launch.word(word);
    }
    // SAFETY: the buffers have the sizes of the copies, and the kernel stays inside them; all work is done
    // before they are dropped.
    unsafe {
        gpu.stream
            .upload(from.pointer, crate::bytes::raw(&operands))
            .unwrap();
        launch.run(gpu, &gpu.stream, |word| word).unwrap();
        let bytes = crate::bytes::raw_mut(&mut results);
        gpu.stream.download(bytes, to.pointer).unwrap();
    }
    gpu.synchronize().unwrap();
    results
}

/// The distance of two values in units of the last place of f16.
fn apart(a: f16, b: f16) -> i32 {
    let place = |x: f16| {
        let magnitude = i32::from(x.to_bits() & 0x7fff);
        if x.is_sign_negative() {
            -magnitude
        } else {
            magnitude
        }
    };
    match (a.is_nan(), b.is_nan()) {
        (true, true) => 0,
        (false, false) => (place(a) - place(b)).abs(),
        _ => i32::MAX,
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn both_headers_give_the_same_values() {
    let gpu = Arc::new(Gpu::open(0).unwrap());
    let compiler = Compiler::get().unwrap();
    let headers = headers(compiler);
    let [own, theirs] = headers.as_slice() else {
        panic!("the toolkit's headers are not here; the package nvidia-cuda-runtime has them");
    };
    let (own, theirs) = (run(&gpu, compiler, own), run(&gpu, compiler, theirs));
    let operands = operands();
    for (k, (a, b)) in own.iter().zip(&theirs).enumerate() {
        let (call, places) = CALLS[k / 2 % CALLS.len()];
        let at = &operands[k / 2 / CALLS.len() * 6..][..6];
        assert!(apart(*a, *b) <= places, "{call} of {at:?}: {a}, not {b}");
    }
}

#[test]
fn every_function_of_the_header_is_tested() {
    for name in BUILTIN.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        let is_function = (name.starts_with("__h") || name.starts_with("h2"))
            && BUILTIN.contains(&format!("({name}, "))
                | BUILTIN.contains(&format!("half2 {name}("));
        let tried = CALLS
            .iter()
            .any(|(call, _)| call.contains(&format!("{name}(")));
        assert!(!is_function || tried, "{name}");
    }
}
