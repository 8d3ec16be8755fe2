//! f16 and bf16 as storage: each result is computed in f32 and rounded once.
//!
//! The results are compared with those of the CPU. If the CPU does not support a program, it runs the
//! program in f32 on rounded inputs, and its results are rounded; such a program must round only once.

use crate::harness::{
    Loaded, Near, apart, data, gpu, numbers, on_cpu, run_twice, scaled, special, tensor, thorough,
    traced,
};
use crate::scan::{adaptive, lif, plif};
use spikelet_cuda::Cuda;
use spikelet_graph::op::{Distribution, Draw, MatMul, Recurrence};
use spikelet_graph::{Backend, DType, Tensor, Tracer, Var};
use std::sync::Arc;

const HALVES: [DType; 2] = [DType::F16, DType::BF16];

/// The relative distance of adjacent values of a type.
fn step(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => 1e-5,
    }
}

/// The inputs of a program: those marked are stored in 16 bits.
type Inputs = Vec<(&'static str, Tensor, bool)>;

/// Runs `trace` with a 16-bit type on the GPU and compares. The program gets its variables
/// in the order of the inputs. `near` is for f32 results and for the others as they are stored.
fn same(gpu: &Cuda, inputs: &Inputs, exact: bool, trace: impl Fn(&Tracer, &[Var], DType)) {
    for dtype in HALVES {
        let as_stored = |to: DType| -> Vec<(&str, Tensor)> {
            let one = |(name, t, half): &(&'static str, Tensor, bool)| {
                let t = if *half {
                    t.cast(dtype).cast(to)
                } else {
                    t.clone()
                };
                (*name, t)
            };
            inputs.iter().map(one).collect()
        };
        let program = |to: DType| {
            let given = as_stored(to);
            let graph = traced(|tracer| {
                let vars: Vec<Var> = given.iter().map(|(n, t)| data(tracer, n, t)).collect();
                trace(tracer, &vars, to);
            });
            (graph, given)
        };
        let (graph, given) = program(dtype);
        let mut loaded = Loaded::new(graph.clone(), gpu);
        let made = run_twice(&mut loaded, &given);
        let expected = on_cpu(graph, &given).unwrap_or_else(|refusal| {
            println!("note: compared with f32, {refusal}");
            let (graph, given) = program(DType::F32);
            on_cpu(graph, &given).expect("the CPU supports f32")
        });
        for (name, made) in &made {
            let stored = made.ty().dtype;
            let near = match exact {
                true => Near::Bits,
                false => Near::OfLargest(step(stored)),
            };
            let apart = apart(made, &expected[name].cast(stored), near);
            assert_eq!(apart, None, "`{name}` with {dtype}\n{}", loaded.plan);
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn values_are_rounded_to_nearest_ties_to_even() {
    let gpu = gpu();
    let mut values = special();
    values.extend(numbers(5000, 1));
    values.extend(numbers(5000, 2).iter().map(|x| x * 1e-6));
    values.extend(numbers(5000, 3).iter().map(|x| x * 1e5));
    for dtype in HALVES {
        // Values of the type, their midpoints, and the neighbors of the midpoints.
        let mut all = values.clone();
        for bits in 0..=u16::MAX {
            let x = match dtype {
                DType::F16 => spikelet_graph::f16::from_bits(bits).to_f32(),
                _ => spikelet_graph::bf16::from_bits(bits).to_f32(),
            };
            let middle =
                f32::from_bits(x.to_bits() ^ if dtype == DType::F16 { 0x1000 } else { 0x8000 });
            all.extend([x, middle, f32::from_bits(middle.to_bits() ^ 1)]);
        }
        let x = Tensor::f32([all.len()], all);
        let graph = traced(|tracer| {
            let x = data(tracer, "x", &x);
            let rounded = x.cast(dtype);
            tracer.output("rounded", &rounded);
            tracer.output("back", &rounded.cast(DType::F32));
        });
        let made = run_twice(&mut Loaded::new(graph, &gpu), &[("x", x.clone())]);
        let expected = x.cast(dtype);
        assert_eq!(apart(&made["rounded"], &expected, Near::Bits), None);
        assert_eq!(
            apart(&made["back"], &expected.cast(DType::F32), Near::Bits),
            None
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn regions_over_any_mix_of_types_round_each_result_once() {
    let gpu = gpu();
    let sizes: &[[usize; 2]] = if thorough() {
        &[[3, 5], [40, 64], [1024, 1024], [600, 1001]]
    } else {
        &[[3, 5], [40, 64]]
    };
    for &[rows, columns] in sizes {
        let inputs = vec![
            ("a", tensor(&[rows, columns], 1), true),
            ("b", tensor(&[rows, columns], 2), false),
            ("c", tensor(&[columns], 3), true),
            ("d", tensor(&[rows, 1], 4), true),
        ];
        same(&gpu, &inputs, true, |tracer, x, dtype| {
            tracer.output("halves", &Var::map(&[&x[0], &x[2]], |x| &x[0] * &x[1]));
            tracer.output(
                "mixed",
                &Var::map(&[&x[0], &x[1]], |x| &x[0] / (&x[1] + 2.0)),
            );
            tracer.output(
                "outer",
                &Var::map(&[&x[2], &x[3]], |x| (&x[0] + &x[1]).tanh()),
            );
            tracer.output("stored", &(&x[1] * 1.7).cast(dtype));
            tracer.output("wide", &x[0].cast(DType::F32));
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn movement_preserves_sixteen_bit_values() {
    let gpu = gpu();
    let inputs = vec![
        ("x", tensor(&[3, 5, 7], 5), true),
        ("y", tensor(&[1, 5, 1], 6), true),
    ];
    same(&gpu, &inputs, true, |tracer, x, dtype| {
        tracer.output("permuted", &x[0].permute(&[2, 0, 1]));
        tracer.output("slice", &x[0].slice(1, 1..4));
        tracer.output("joined", &Var::concat(&[&x[0], &x[0]], 1));
        tracer.output("expanded", &x[1].expand([3, 5, 7]));
        tracer.output("filled", &tracer.fill(dtype, [33], 0.1));
        tracer.output("flat", &x[0].flatten(0));
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_of_all_sizes_and_transposes_are_summed_in_f32() {
    let gpu = gpu();
    for [m, n, k] in [
        [1, 1, 1],
        [3, 17, 5],
        [17, 3, 64],
        [64, 64, 64],
        [129, 10, 33],
        [7, 1, 1000],
        [129, 200, 1000],
    ] {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let a = if ta { [k, m] } else { [m, k] };
            let b = if tb { [n, k] } else { [k, n] };
            let inputs = vec![("a", tensor(&a, 7), true), ("b", tensor(&b, 8), true)];
            same(&gpu, &inputs, false, |tracer, x, _| {
                let op = MatMul::new(ta, tb);
                tracer.output("half", &tracer.apply1(op, &[&x[0], &x[1]]));
                let out = Some(DType::F32);
                let op = MatMul { out, ..op };
                tracer.output("single", &tracer.apply1(op, &[&x[0], &x[1]]));
            });
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn sums_are_computed_in_f32() {
    let gpu = gpu();
    for shape in [[3, 40, 11], [2, 5000, 3], [1, 1, 70_000]] {
        let inputs = vec![("x", scaled(&shape, 9, 1.0, 0.2), true)];
        same(&gpu, &inputs, false, |tracer, x, _| {
            for axes in [vec![0], vec![1], vec![2], vec![0, 2], vec![0, 1, 2], vec![]] {
                tracer.output(&format!("sum {axes:?}"), &x[0].sum(&axes));
                tracer.output(&format!("max {axes:?}"), &x[0].max(&axes));
            }
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn scores_of_sixteen_bits_have_log_softmax_in_f32_and_a_largest() {
    let gpu = gpu();
    let inputs = vec![("x", scaled(&[33, 50], 10, 4.0, 0.0), true)];
    same(&gpu, &inputs, false, |tracer, x, _| {
        tracer.output("log_softmax", &x[0].log_softmax());
    });
    same(&gpu, &inputs, true, |tracer, x, _| {
        tracer.output("at", &x[0].argmax())
    });
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn draws_in_sixteen_bits_are_those_of_f32_rounded() {
    let gpu = gpu();
    for shape in [[4, 3, 10], [3, 5, 64], [2, 1, 7]] {
        for over_time in [true, false] {
            let p = scaled(&shape[1..], 11, 0.5, 0.5);
            let g = Tensor::i64([4], [1 << 40, 3, 2, 0]);
            let inputs = vec![("g", g, false), ("p", p, true)];
            same(&gpu, &inputs, true, |tracer, x, dtype| {
                let draw = |distribution| Draw {
                    distribution,
                    stream: 3,
                    over_time,
                    first_step: 1,
                    per_image: 0,
                    shape: shape.to_vec(),
                    dtype,
                };
                for distribution in [Distribution::Uniform, Distribution::Normal] {
                    let drawn = tracer.apply1(draw(distribution), &[&x[0]]);
                    tracer.output(&format!("{distribution:?}"), &drawn);
                }
                let spikes = tracer.apply1(draw(Distribution::Bernoulli), &[&x[0], &x[1]]);
                tracer.output("spikes", &spikes);
            });
        }
    }
}

/// Fewer neurons than saturate a GPU, and numbers for packs of 1, 2, 4 and 8.
fn crowds(gpu: &Cuda) -> Vec<usize> {
    let full = gpu.properties().multiprocessors * 512;
    match thorough() {
        true => vec![
            1,
            40,
            1001,
            full + 3,
            2 * full + 2,
            4 * full + 4,
            8 * full + 8,
        ],
        false => vec![1, 40],
    }
}

fn operands(r: &Recurrence, time: usize, neurons: usize) -> Inputs {
    let names = r
        .inputs
        .iter()
        .chain(&r.states)
        .chain(&r.params)
        .enumerate();
    let one = |(k, name): (usize, &String)| {
        let sequence = k < r.inputs.len();
        let shape = if sequence {
            vec![time, neurons]
        } else {
            vec![neurons]
        };
        let shift = if r.params.contains(name) { 2.0 } else { 0.2 };
        // Names of a test's inputs live as long as the program.
        let name: &'static str = name.clone().leak();
        (name, scaled(&shape, k as u64, 0.8, shift), sequence)
    };
    names.map(one).collect()
}

fn scan(r: &Arc<Recurrence>, time: usize, x: &[Var]) -> Vec<Var> {
    let (inputs, rest) = x.split_at(r.inputs.len());
    let (states, rest) = rest.split_at(r.states.len());
    let [inputs, states, params] =
        [inputs, states, &rest[..r.params.len()]].map(|v| v.iter().collect::<Vec<&Var>>());
    Var::scan(r, time, &inputs, &states, &params)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn scans_of_sixteen_bits_keep_their_states_in_f32() {
    let gpu = gpu();
    for neurons in crowds(&gpu) {
        for time in [1, 2, 7, 33] {
            for r in [lif(), adaptive()] {
                same(&gpu, &operands(&r, time, neurons), true, |tracer, x, _| {
                    for (k, y) in scan(&r, time, x).iter().enumerate() {
                        tracer.output(&format!("result {k}"), y);
                    }
                });
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn gradients_of_scans_of_sixteen_bits_agree() {
    let gpu = gpu();
    for neurons in crowds(&gpu) {
        for time in [1, 7, 16, 33, 130] {
            if neurons > 2000 && time > 33 {
                continue;
            }
            for r in [lif(), plif()] {
                let mut inputs = operands(&r, time, neurons);
                inputs.push(("grad_s", tensor(&[time, neurons], 50), true));
                inputs.push(("grad_v_seq", tensor(&[time, neurons], 51), true));
                inputs.push(("grad_v", tensor(&[neurons], 52), false));
                same(&gpu, &inputs, false, |tracer, x, _| {
                    let own = x.len() - 3;
                    let made = scan(&r, time, &x[..own]);
                    let given = [
                        (&made[0], &x[own]),
                        (&made[2], &x[own + 1]),
                        (&made[1], &x[own + 2]),
                    ];
                    let wrt: Vec<&Var> = x[..own].iter().collect();
                    for (k, d) in tracer.gradients_given(&given, &wrt).iter().enumerate() {
                        tracer.output(&format!("gradient {k}"), d);
                    }
                    tracer.output("spikes", &made[0]);
                });
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn values_of_another_type_are_not_uploaded_to_a_sixteen_bit_buffer() {
    let gpu = gpu();
    let x = tensor(&[8], 1);
    let buffer = gpu.allocate(&x.cast(DType::F16).ty()).expect("memory");
    let values = spikelet_graph::op::HostTensor::F32(&[0.0; 4]);
    let error = gpu
        .upload(&buffer, values)
        .expect_err("refused")
        .to_string();
    assert!(error.contains("f16[8]"), "{error}");
}
