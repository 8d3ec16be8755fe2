//! Uploads and downloads.

use crate::harness::{Loaded, download, gpu, numbers, tensor, traced, upload};
use spikelet_graph::{Backend, DType, Tensor, TensorType};

fn f32s(shape: &[usize]) -> TensorType {
    TensorType::new(DType::F32, shape)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn fresh_memory_is_zero() {
    let gpu = gpu();
    for n in [0, 1, 1000, 1_000_000] {
        // Memory that was used before, if the driver reuses it.
        let used = gpu.allocate(&f32s(&[n])).expect("memory");
        upload(&gpu, &used, &tensor(&[n], 1));
        gpu.synchronize().expect("no error");
        drop(used);
        let fresh = gpu.allocate(&f32s(&[n])).expect("memory");
        assert_eq!(download(&gpu, &fresh), Tensor::f32([n], vec![0.0; n]));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_upload_to_a_dropped_buffer_changes_no_other_buffer() {
    let gpu = gpu();
    for n in [1, 1000, 1_000_000] {
        let gone = gpu.allocate(&f32s(&[n])).expect("memory");
        upload(&gpu, &gone, &tensor(&[n], 1));
        drop(gone);
        let fresh = gpu.allocate(&f32s(&[n])).expect("memory");
        assert_eq!(
            download(&gpu, &fresh),
            Tensor::f32([n], vec![0.0; n]),
            "{n}"
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn values_of_every_size_are_copied_exactly() {
    let gpu = gpu();
    // Around the bytes that a thread copies, the alignment of a slab, and the largest staged input
    // (32 MiB).
    let direct = (32 << 20) / 4;
    for n in [
        0,
        1,
        3,
        4,
        5,
        63,
        64,
        65,
        1000,
        16_384,
        70_001,
        direct - 1,
        direct,
        direct + 1,
    ] {
        let buffer = gpu.allocate(&f32s(&[n])).expect("memory");
        let values = tensor(&[n], n as u64);
        upload(&gpu, &buffer, &values);
        assert!(download(&gpu, &buffer) == values, "{n} elements");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn values_of_every_type_are_copied_exactly() {
    let gpu = gpu();
    let values = tensor(&[7, 11], 2);
    let integers = Tensor::i64([3], [i64::MIN, -1, i64::MAX]);
    let all = [DType::F32, DType::F64, DType::F16, DType::BF16].map(|dtype| values.cast(dtype));
    for values in all.iter().chain([&integers]) {
        let buffer = gpu.allocate(&values.ty()).expect("memory");
        upload(&gpu, &buffer, values);
        assert_eq!(download(&gpu, &buffer), *values);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_last_of_several_uploads_to_one_buffer_is_used() {
    let gpu = gpu();
    let (a, b) = (f32s(&[100]), f32s(&[9_000_000]));
    let (small, large) = (
        gpu.allocate(&a).expect("memory"),
        gpu.allocate(&b).expect("memory"),
    );
    for k in 0..5 {
        upload(&gpu, &small, &tensor(&[100], k));
    }
    // Copied directly, between uploads that are staged in slabs.
    upload(&gpu, &large, &tensor(&[9_000_000], 6));
    upload(&gpu, &small, &tensor(&[100], 7));
    assert_eq!(download(&gpu, &small), tensor(&[100], 7));
    assert!(download(&gpu, &large) == tensor(&[9_000_000], 6));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn more_uploads_than_fit_a_slab_or_a_launch_are_copied() {
    let gpu = gpu();
    let buffers: Vec<_> = (0..100)
        .map(|k| gpu.allocate(&f32s(&[1 + k * 37 % 500])).expect("memory"))
        .collect();
    for round in 0..4_u64 {
        for (k, buffer) in buffers.iter().enumerate() {
            upload(
                &gpu,
                buffer,
                &tensor(&buffer.ty.shape, 1000 * round + k as u64),
            );
        }
        for (k, buffer) in buffers.iter().enumerate().step_by(1 + round as usize) {
            let expected = tensor(&buffer.ty.shape, 1000 * round + k as u64);
            assert_eq!(
                download(&gpu, buffer),
                expected,
                "round {round}, buffer {k}"
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_slab_that_grows_loses_no_upload() {
    let gpu = gpu();
    let sizes = [
        10, 20_000, 30, 200_000, 5, 2_000_000, 64, 4_000_000, 1, 7_999_999, 8,
    ];
    let buffers: Vec<_> = sizes
        .iter()
        .map(|&n| gpu.allocate(&f32s(&[n])).expect("memory"))
        .collect();
    for (k, buffer) in buffers.iter().enumerate() {
        upload(&gpu, buffer, &tensor(&buffer.ty.shape, k as u64));
    }
    for (k, buffer) in buffers.iter().enumerate() {
        assert!(
            download(&gpu, buffer) == tensor(&buffer.ty.shape, k as u64),
            "{k}"
        );
    }
}

/// y = x + a, and a sum over a long row besides.
fn graph(n: usize) -> spikelet_graph::Graph {
    traced(|tracer| {
        let x = tracer.input("x", DType::F32, [n]);
        let a = tracer.input("a", DType::F32, [1]);
        let t = tracer.input("t", DType::I64, [3]);
        tracer.output("y", &(&x + &a));
        tracer.output("t out", &t);
    })
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_run_sees_the_uploads_before_it_and_none_after_it() {
    let gpu = gpu();
    let n = 50_000;
    let mut loaded = Loaded::new(graph(n), &gpu);
    let mut waiting = vec![];
    let x = tensor(&[n], 1);
    loaded.set("x", &x);
    for run in 0..12_i64 {
        // Twice: the first is overwritten before it is read.
        loaded.set("a", &Tensor::f32([1], [-1.0]));
        loaded.set("a", &Tensor::f32([1], [run as f32]));
        loaded.set("t", &Tensor::i64([3], [run, -run, 7]));
        if run % 3 == 0 {
            loaded.set("x", &x);
        }
        loaded.run();
        let buffers = [loaded.buffer("y"), loaded.buffer("t out")];
        waiting.push(gpu.fetch(&buffers).expect("a fetch"));
        // Uploaded after the run and its fetch.
        loaded.set("a", &Tensor::f32([1], [f32::NAN]));
    }
    let values = numbers(n, 1);
    // In reverse: results can be waited for in any order.
    for (run, pending) in waiting.into_iter().enumerate().rev() {
        let made = pending.wait().expect("results");
        let expected: Vec<f32> = values.iter().map(|x| x + run as f32).collect();
        assert!(made[0].as_f32() == Some(&expected[..]), "run {run}");
        let run = run as i64;
        assert_eq!(made[1], Tensor::i64([3], [run, -run, 7]));
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_large_input_between_runs_is_copied_completely() {
    let gpu = gpu();
    let n = 9_000_000;
    let mut loaded = Loaded::new(graph(n), &gpu);
    loaded.set("t", &Tensor::i64([3], [1, 2, 3]));
    for run in 0..5 {
        loaded.set("a", &Tensor::f32([1], [run as f32]));
        let x = tensor(&[n], run);
        loaded.set("x", &x);
        loaded.run();
        let made = loaded.get("y");
        let mut pairs = made
            .as_f32()
            .expect("f32")
            .iter()
            .zip(x.as_f32().expect("f32"));
        assert!(pairs.all(|(y, x)| *y == x + run as f32), "run {run}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_fetch_returns_the_values_at_its_start() {
    let gpu = gpu();
    let buffer = gpu.allocate(&f32s(&[1000])).expect("memory");
    let empty = gpu.allocate(&f32s(&[0])).expect("memory");
    let mut waiting = vec![];
    for k in 0..6 {
        upload(&gpu, &buffer, &tensor(&[1000], k));
        waiting.push(gpu.fetch(&[&buffer, &empty, &buffer]).expect("a fetch"));
    }
    // Some are never waited for.
    drop(waiting.remove(2));
    drop(waiting.remove(0));
    for (pending, k) in waiting.into_iter().zip([1, 3, 4, 5]) {
        let made = pending.wait().expect("results");
        assert_eq!(made[0], tensor(&[1000], k));
        assert_eq!(made[1].len(), 0);
        assert_eq!(made[2], made[0]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn memory_of_fetches_is_reused_for_other_sizes() {
    let gpu = gpu();
    for n in [1000, 10, 100_000, 1, 0, 50_000] {
        let buffer = gpu.allocate(&f32s(&[n])).expect("memory");
        upload(&gpu, &buffer, &tensor(&[n], n as u64));
        let made = gpu
            .fetch(&[&buffer])
            .expect("a fetch")
            .wait()
            .expect("results");
        assert_eq!(made, [tensor(&[n], n as u64)]);
    }
    assert!(
        gpu.fetch(&[])
            .expect("a fetch")
            .wait()
            .expect("results")
            .is_empty()
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn results_outlive_their_buffers_and_the_gpu_handle() {
    let gpu = gpu();
    let buffer = gpu.allocate(&f32s(&[1000])).expect("memory");
    upload(&gpu, &buffer, &tensor(&[1000], 3));
    let pending = gpu.fetch(&[&buffer]).expect("a fetch");
    drop(buffer);
    drop(gpu);
    assert_eq!(pending.wait().expect("results"), [tensor(&[1000], 3)]);
}
