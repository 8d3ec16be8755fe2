//! Convolutions on a GPU against loops in f64 on the host.

use super::*;
use crate::error::in_context;
use crate::memory::DeviceMemory;
use half::{bf16, f16};
use problem::Choice;
use spikelet_graph::TensorType;
use spikelet_graph::op::MatmulPrecision;
use std::path::Path;

/// The first GPU; tests that call this are ignored by default.
fn gpu() -> Arc<Gpu> {
    Arc::new(Gpu::open(0).unwrap_or_else(|error| panic!("{error}")))
}

/// A library whose choices are stored in `folder`.
fn dnn(gpu: &Arc<Gpu>, folder: &Path) -> Dnn {
    Dnn {
        store: OnceLock::from(Store::new(Some(folder.to_path_buf()))),
        ..Dnn::new(gpu.clone())
    }
}

/// The sizes of a convolution; those of y are computed from them.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    images: usize,
    axes: &'static [usize],
    channels: (usize, usize),
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
    groups: usize,
}

const PLAIN: Case = Case {
    name: "3 × 3",
    images: 2,
    axes: &[9, 7],
    channels: (16, 24),
    kernel: 3,
    stride: 1,
    padding: 1,
    dilation: 1,
    groups: 1,
};

#[rustfmt::skip]
const CASES: [Case; 11] = [
    PLAIN,
    Case { name: "stride 2", stride: 2, ..PLAIN },
    Case { name: "1 × 1", kernel: 1, padding: 0, ..PLAIN },
    Case { name: "dilation 2", padding: 2, dilation: 2, ..PLAIN },
    Case { name: "2 groups", groups: 2, channels: (16, 32), ..PLAIN },
    Case { name: "depthwise", groups: 16, channels: (16, 16), ..PLAIN },
    Case { name: "1 axis", axes: &[33], ..PLAIN },
    Case { name: "3 axes", axes: &[4, 5, 6], ..PLAIN },
    Case { name: "1 channel", channels: (1, 16), ..PLAIN },
    Case { name: "3 channels", channels: (3, 16), kernel: 5, stride: 2, padding: 2, ..PLAIN },
    Case { name: "no padding, 1 axis, stride 3", axes: &[40], stride: 3, padding: 0, ..PLAIN },
];

impl Case {
    fn convolution(&self, part: ConvPart, operands: DType, result: DType) -> Convolution {
        let axes = self.axes.len();
        let enable_peer_access = self.dilation * (self.kernel - 1) + 1;
        let out = |size: &usize| (size + 2 * self.padding - enable_peer_access) / self.stride + 1;
        let (from, to) = self.channels;
        let op = Conv {
            stride: vec![self.stride; axes],
            padding: vec![self.padding; axes],
            dilation: vec![self.dilation; axes],
            groups: self.groups,
            ..Conv::new(axes)
        };
        Convolution {
            op: op.part(part, []),
            sizes: ConvSizes {
                batch: self.images,
                inputs: from,
                outputs: to,
                x: self.axes.to_vec(),
                kernel: vec![self.kernel; axes],
                y: self.axes.iter().map(out).collect(),
            },
            operands,
            result,
        }
    }
}

/// Small values that every type represents exactly.
fn numbers(shape: &[usize], seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 24) as f32 - 127.5) / 64.0
    };
    (0..shape.iter().product())
        .map(next)
        .map(|v: f32| (v * 16.0).round() / 16.0)
        .collect()
}

fn to_bytes(values: &[f32], dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F16 => values
            .iter()
            .flat_map(|v| f16::from_f32(*v).to_le_bytes())
            .collect(),
        DType::BF16 => values
            .iter()
            .flat_map(|v| bf16::from_f32(*v).to_le_bytes())
            .collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

fn from_bytes(bytes: &[u8], dtype: DType) -> Vec<f32> {
    let (two, four) = (bytes.as_chunks::<2>().0, bytes.as_chunks::<4>().0);
    match dtype {
        DType::F16 => two
            .iter()
            .map(|b| f16::from_le_bytes(*b).to_f32())
            .collect(),
        DType::BF16 => two
            .iter()
            .map(|b| bf16::from_le_bytes(*b).to_f32())
            .collect(),
        _ => four.iter().map(|b| f32::from_le_bytes(*b)).collect(),
    }
}

/// Every product that a convolution sums: indices into x, w and y.
fn products(c: &Convolution, mut visit: impl FnMut(usize, usize, usize)) {
    let axes = c.op.axes();
    let ([x, w, y], op) = (c.shapes(), &c.op);
    let (images, per_group) = (x[0], w[axes + 1]);
    let (from, to) = (x[axes + 1], y[axes + 1]);
    let places = |shape: &[usize]| -> Vec<Vec<usize>> {
        shape[1..=axes].iter().fold(vec![vec![]], |all, size| {
            let longer = |at: &Vec<usize>| {
                (0..*size)
                    .map(|k| [&at[..], &[k]].concat())
                    .collect::<Vec<_>>()
            };
            all.iter().flat_map(longer).collect()
        })
    };
    let flat = |at: &[usize], shape: &[usize]| {
        at.iter()
            .zip(&shape[1..=axes])
            .fold(0, |sum, (k, size)| sum * size + k)
    };
    let volume = |shape: &[usize]| shape[1..=axes].iter().product::<usize>();
    for out in places(&y) {
        for tap in places(&w) {
            let input: Option<Vec<usize>> = (0..axes)
                .map(|k| {
                    let at = (out[k] * op.stride[k] + tap[k] * op.dilation[k])
                        .checked_sub(op.padding[k])?;
                    (at < x[k + 1]).then_some(at)
                })
                .collect();
            let Some(input) = input else { continue };
            for image in 0..images {
                for o in 0..to {
                    for i in 0..per_group {
                        let channel = o / (to / op.groups) * per_group + i;
                        visit(
                            (image * volume(&x) + flat(&input, &x)) * from + channel,
                            (o * volume(&w) + flat(&tap, &w)) * per_group + i,
                            (image * volume(&y) + flat(&out, &y)) * to + o,
                        );
                    }
                }
            }
        }
    }
}

fn expected(c: &Convolution, a: &[f32], b: &[f32]) -> Vec<f64> {
    let [_, _, result] = c.operand_shapes();
    let mut sums = vec![0.0; result.iter().product()];
    products(c, |x, w, y| {
        let (to, from, other) = match c.op.part {
            ConvPart::Forward => (y, x, w),
            ConvPart::Input => (x, y, w),
            ConvPart::Weight => (w, x, y),
        };
        sums[to] += f64::from(a[from]) * f64::from(b[other]);
    });
    sums
}

/// The result of a call on a GPU, in memory with other content.
fn computed(gpu: &Arc<Gpu>, call: &ConvCall, c: &Convolution, a: &[f32], b: &[f32]) -> Vec<f32> {
    let [_, _, result] = c.operand_shapes();
    let bytes = TensorType::new(c.result, result).bytes();
    let memory = |bytes| DeviceMemory::new(gpu, bytes, "a test").unwrap();
    let upload = |values: Vec<u8>| {
        let memory = memory(values.len());
        // SAFETY: the memory has this size; the copy is synchronized.
        unsafe { gpu.stream.upload(memory.pointer, &values) }.unwrap();
        gpu.synchronize().unwrap();
        memory
    };
    let (a, b) = (
        upload(to_bytes(a, c.operands)),
        upload(to_bytes(b, c.operands)),
    );
    let y = upload(vec![0xff; bytes]);
    let workspace = memory(call.plan.workspace);
    let mut back = vec![0; bytes];
    // SAFETY: the memory has the sizes of the convolution and is alive until all work is done.
    unsafe {
        let tensors = [a.pointer, b.pointer, y.pointer];
        call.run(gpu, &gpu.stream, tensors, workspace.pointer)
            .unwrap();
        gpu.stream.download(&mut back, y.pointer).unwrap();
    }
    gpu.synchronize().unwrap();
    from_bytes(&back, c.result)
}

/// Compares one part with the host; `Err` if there is no engine for it.
fn compare(gpu: &Arc<Gpu>, dnn: &Dnn, case: &Case, c: &Convolution, tolerance: f64) -> Result<()> {
    let [a, b, _] = c.operand_shapes();
    let (a, b) = (numbers(&a, 1), numbers(&b, 2));
    let call = dnn.call(c)?;
    let (found, again) = (
        computed(gpu, &call, c, &a, &b),
        computed(gpu, &call, c, &a, &b),
    );
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(
        bits(&found),
        bits(&again),
        "{}: {c} differs from run to run",
        case.name
    );
    let expected = expected(c, &a, &b);
    let largest = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let worst = found
        .iter()
        .zip(&expected)
        .map(|(found, expected)| (f64::from(*found) - expected).abs())
        .fold(0.0_f64, |m, v| if v.is_nan() { v } else { m.max(v) });
    println!(
        "{}, {:?}, {} to {}: engine {}, workspace {}, off by {:.1e}",
        case.name,
        c.op.part,
        c.operands,
        c.result,
        call.plan.choice.as_ref().unwrap().engine,
        call.plan.workspace,
        worst / largest
    );
    assert!(
        worst <= tolerance * largest,
        "{}: {c} is off by {worst} of {largest}",
        case.name
    );
    Ok(())
}

const PARTS: [ConvPart; 3] = [ConvPart::Forward, ConvPart::Input, ConvPart::Weight];

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_part_in_f32_is_what_loops_on_the_host_compute() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    let dnn = dnn(&gpu, folder.path());
    for case in &CASES {
        for part in PARTS {
            let c = case.convolution(part, DType::F32, DType::F32);
            compare(&gpu, &dnn, case, &c, 1e-4)
                .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        }
    }
    let mut tf32 = PLAIN.convolution(ConvPart::Forward, DType::F32, DType::F32);
    tf32.op.precision = MatmulPrecision::Tf32;
    compare(&gpu, &dnn, &PLAIN, &tf32, 1e-2).unwrap();
}

/// Channels of fewer than 16 bytes, and mixed types, may have no engine: that is an error of `call` and not
/// of this test.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_part_in_16_bits_is_what_loops_on_the_host_compute_where_an_engine_has_it() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    let dnn = dnn(&gpu, folder.path());
    for (operands, tolerance, cases) in [
        (DType::BF16, 1e-2, &CASES[..]),
        (DType::F16, 2e-3, &CASES[..2]),
    ] {
        for case in cases {
            for (part, result) in PARTS
                .map(|part| (part, operands))
                .into_iter()
                .chain([(ConvPart::Weight, DType::F32)])
            {
                let c = case.convolution(part, operands, result);
                let compared = compare(&gpu, &dnn, case, &c, tolerance);
                let plain = case.name == PLAIN.name && result == operands;
                match compared {
                    Err(error) if plain => panic!("{error}"),
                    Err(error) => println!("no engine: {}: {error}", case.name),
                    Ok(()) => {}
                }
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_choice_is_read_from_disk_by_the_next_process() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    for part in PARTS {
        let c = PLAIN.convolution(part, DType::BF16, DType::BF16);
        let first = dnn(&gpu, folder.path());
        let chosen = first.call(&c).unwrap().plan.choice.clone().unwrap();
        // A choice on disk that differs from the measured one.
        let (others, key) = {
            let session = first.session(&first.session).unwrap();
            let running = session.lock();
            let plans = Problem::new(&running, &c).unwrap().candidates().unwrap();
            let others: Vec<Choice> = plans.into_iter().filter_map(|plan| plan.choice).collect();
            (
                others,
                store::key(&c, &first.kind_of_gpu(), running.api().version()),
            )
        };
        let store = Store::new(Some(folder.path().to_path_buf()));
        assert_eq!(store.read(&key), Some(chosen.clone()));
        println!("{part:?}: {chosen:?} of {} candidates", others.len());
        for other in others {
            store.write(&key, &other);
            let next = dnn(&gpu, folder.path());
            assert_eq!(next.call(&c).unwrap().plan.choice.as_ref(), Some(&other));
            compare(&gpu, &next, &PLAIN, &c, 1e-2).unwrap();
        }
        // An invalid choice is measured again.
        let knobs = Vec::new();
        store.write(
            &key,
            &Choice {
                engine: 1 << 40,
                knobs,
            },
        );
        let next = dnn(&gpu, folder.path());
        let measured = next.call(&c).unwrap().plan.choice.clone().unwrap();
        assert_eq!(store.read(&key), Some(measured));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn convolutions_run_while_engines_are_measured() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    let dnn = dnn(&gpu, folder.path());
    let c = PLAIN.convolution(ConvPart::Forward, DType::F32, DType::F32);
    dnn.call(&c).unwrap();
    let measuring = dnn.session(&dnn.measuring).unwrap();
    let _measured = measuring.lock();
    // It would wait for ever.
    compare(&gpu, &dnn, &PLAIN, &c, 1e-4).unwrap();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_convolution_can_be_captured_and_replayed() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    let dnn = dnn(&gpu, folder.path());
    for part in PARTS {
        let c = PLAIN.convolution(part, DType::F32, DType::F32);
        let call = dnn.call(&c).unwrap();
        let [a, b, result] = c.operand_shapes();
        let memory = |shape: &[usize], fill: u8| {
            let bytes = 4 * shape.iter().product::<usize>();
            let memory = DeviceMemory::new(&gpu, bytes, "a test").unwrap();
            // SAFETY: the memory has this size; the copy is synchronized.
            unsafe { gpu.stream.upload(memory.pointer, &vec![fill; bytes]) }.unwrap();
            gpu.synchronize().unwrap();
            memory
        };
        let (a, b, y) = (memory(&a, 0x3c), memory(&b, 0x3c), memory(&result, 0));
        let workspace = DeviceMemory::new(&gpu, call.plan.workspace, "a test").unwrap();
        let tensors = [a.pointer, b.pointer, y.pointer];
        // SAFETY: the memory has the sizes of the convolution and is alive until all work is done.
        let start = || unsafe { call.run(&gpu, &gpu.stream, tensors, workspace.pointer) };
        let error = in_context(&gpu.name, "recording");
        let graph = gpu.stream.capture(error, start).unwrap().unwrap();
        graph.launch().unwrap();
        let mut back = vec![0; y.bytes];
        // SAFETY: as above.
        unsafe { gpu.stream.download(&mut back, y.pointer) }.unwrap();
        gpu.synchronize().unwrap();
        assert!(from_bytes(&back, DType::F32).iter().all(|v| *v > 0.0));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_unsupported_convolution_is_an_error_that_names_it() {
    let gpu = gpu();
    let folder = tempfile::tempdir().unwrap();
    let dnn = dnn(&gpu, folder.path());
    let good = PLAIN.convolution(ConvPart::Forward, DType::F32, DType::F32);
    let integers = Convolution {
        operands: DType::I64,
        ..good.clone()
    };
    let mut flat = good.clone();
    flat.op.padding = vec![1];
    let mut larger = good;
    larger.sizes.y = vec![90, 70];
    for c in [integers, flat, larger] {
        let error = dnn.call(&c).err().unwrap().to_string();
        println!("{error}");
        assert!(
            error.contains("conv [2, 9, 7, 16] * [24, 3, 3, 16]"),
            "{error}"
        );
        assert_eq!(dnn.workspace(&c), 0);
    }
}
