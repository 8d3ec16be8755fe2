//! Neurons' kernels with sizes that people give: odd numbers of halves, one number of decay.

use crate::machine::{Job, Trusted, Value, Values, gpu, on_gpu};
use crate::neurons::{Variant, variants};
use spikelet_auto_cuda::{Argument, BlockSum, CudaTensor, Dtype, Element, THREADS, cal_blocks};
use spikelet_cuda::Cuda;
use spikelet_graph::f16;
use std::collections::BTreeMap;

/// Seven neurons are padded to eight halves.
const ODD: usize = 7;

fn odd(variant: &Variant) -> Job {
    let mut job = variant.job(ODD);
    if let Some(Value::F16(shape, values)) = job.values.get_mut("decay") {
        *shape = vec![1];
        values.truncate(1);
    }
    job
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn odd_numbers_of_neurons_go_forward() {
    let gpu = gpu();
    for variant in variants(false) {
        let job = odd(&variant);
        let results = on_gpu(&gpu, std::slice::from_ref(&job));
        variant.check_forward(ODD, &job.values, &results[0]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn odd_numbers_of_neurons_go_backward() {
    let gpu = gpu();
    for variant in variants(true) {
        let job = odd(&variant);
        let results = on_gpu(&gpu, std::slice::from_ref(&job));
        variant.check_backward(ODD, &job.values, &results[0]);
    }
}

/// Tensors of the values, and what they hold after a simple call.
fn simply(gpu: &Cuda, variant: &Variant, values: &Values) -> Values {
    let mut tensors = BTreeMap::new();
    for (name, value) in values {
        let tensor = match value {
            Value::F32(shape, values) => CudaTensor::new(gpu, shape.clone(), values),
            Value::F16(shape, values) => CudaTensor::new(gpu, shape.clone(), values),
            Value::Int(_) | Value::Float(_) => continue,
        };
        tensors.insert(*name, tensor.unwrap());
    }
    let mut args: Vec<(&str, Argument<'_>)> = tensors.iter().map(|(k, t)| (*k, t.into())).collect();
    for (name, value) in values {
        if let Value::Float(number) = value {
            args.push((*name, (*number).into()));
        }
    }
    variant.kernel().run_simple(&args).unwrap();
    let read = |tensor: &CudaTensor| {
        let shape = tensor.shape().to_vec();
        match tensor.element() {
            Element::F16 => Value::F16(shape, tensor.to_vec::<f16>().unwrap()),
            _ => Value::F32(shape, tensor.to_vec::<f32>().unwrap()),
        }
    };
    tensors.iter().map(|(name, t)| (*name, read(t))).collect()
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_simple_call_finds_the_sizes_of_neurons() {
    let gpu = gpu();
    for n in [1, 6, 1500, 1501] {
        for variant in variants(false) {
            let values = variant.values(n);
            let after = simply(&gpu, &variant, &values);
            if n > 1 {
                variant.check_forward(n, &values, &after);
            }
        }
        for variant in variants(true) {
            let mut values = variant.values(n);
            if values.contains_key("grad_decay") {
                let lanes = if variant.dtype == Dtype::Half2 { 2 } else { 1 };
                let blocks = cal_blocks(n.div_ceil(lanes), THREADS);
                values.insert("grad_decay", Value::F32(vec![blocks], vec![0.0; blocks]));
            }
            let after = simply(&gpu, &variant, &values);
            variant.check_backward(n, &values, &after);
        }
    }
}

/// The sum of numbers by one block.
fn sum(x: &CudaTensor, gpu: &Cuda, threads: u32) -> f32 {
    let sum = CudaTensor::zeros(gpu, Element::F32, [1]).unwrap();
    let args = [
        ("numel", (x.len() as i32).into()),
        ("x", x.into()),
        ("sum", (&sum).into()),
    ];
    BlockSum::new().run(1, threads, &args).unwrap();
    sum.to_vec::<f32>().unwrap()[0]
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn partial_sums_are_added_up() {
    let gpu = gpu();
    for count in [1, 2, 31, 1024, 1025, 100_003] {
        // Eighths, of which every sum is exact in any order.
        let eighths = |k: i32| (k * 7919 % 1000 - 500) as f32 / 8.0;
        let values: Vec<f32> = (0..count).map(eighths).collect();
        let expected: f32 = values.iter().sum();
        let x = CudaTensor::new(&gpu, [values.len()], &values).unwrap();
        for threads in [1, 33, 512, 1000, 1024] {
            assert_eq!(
                sum(&x, &gpu, threads),
                expected,
                "{count}, {threads} threads"
            );
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn sums_have_the_same_bits_in_every_run() {
    let gpu = gpu();
    let values: Vec<f32> = (0..100_003)
        .map(|k| (k * 7919 % 1000) as f32 / 7.0)
        .collect();
    let x = CudaTensor::new(&gpu, [values.len()], &values).unwrap();
    let first = sum(&x, &gpu, 512);
    assert!((0..20).all(|_| sum(&x, &gpu, 512).to_bits() == first.to_bits()));
    let variants = variants(true);
    let learned = variants.iter().map(odd);
    for job in learned.filter(|job| job.values.contains_key("grad_decay")) {
        let run = || on_gpu(&gpu, std::slice::from_ref(&job))[0]["grad_decay"].numbers();
        assert_eq!(run(), run(), "{}", job.name);
    }
}
