//! Shapes that no memory holds are errors; none of them panics or wraps.

use crate::graphs::{F, neuron};
use crate::targets::Plain;
use proptest::prelude::*;
use spikelet_graph::op::{
    ConcatChunks, Conv, ConvPart, MatMul, Pooling, Port, Scan, ScanGrad, Window,
};
use spikelet_graph::{
    DType, Error, Plan, RandomAxes, Tensor, TensorType, Tracer, Var, broadcast_strides,
};

/// More elements than 64-bit byte offsets reach; their number of bytes is 4 where it wraps.
const WRAPS: usize = (1 << 62) + 1;

/// The first error of a trace.
fn error(build: impl FnOnce(&Tracer)) -> Error {
    let tracer = Tracer::new(F);
    build(&tracer);
    tracer.finish().unwrap_err()
}

fn is_shape(error: &Error) -> bool {
    matches!(error, Error::Shape { problem, .. } if problem.contains("more elements"))
}

#[test]
fn inputs_and_results_that_no_memory_holds_are_refused() {
    let cases: [fn(&Tracer); 9] = [
        |t| drop(t.input("x", F, [WRAPS]).relu()),
        |t| drop(t.input("x", F, [1 << 62, 4])),
        |t| drop(t.input("x", F, [1 << 62, 4, 0])),
        |t| drop(t.fill(F, [WRAPS], 1.0)),
        |t| drop(t.input("x", F, [3, 1]) * t.input("y", F, [1, 1 << 60])),
        |t| {
            drop(
                t.input("x", F, [1 << 40, 1])
                    .matmul(&t.input("y", F, [1, 1 << 40])),
            )
        },
        |t| drop(t.input("x", F, [1 << 30]).repeat_over_time(1 << 31)),
        |t| drop(t.input("x", DType::I64, [1 << 30]).one_hot(1 << 31)),
        |t| {
            let x = t.input("x", F, [1 << 58, 2]);
            t.apply1(ConcatChunks, &[&x; 9]);
        },
    ];
    for (k, case) in cases.into_iter().enumerate() {
        let error = error(case);
        assert!(is_shape(&error), "case {k}: {error}");
    }
}

#[test]
fn the_refusal_names_the_input_and_its_type() {
    let Error::Shape {
        operation, given, ..
    } = error(|t| drop(t.input("x", F, [1 << 40, 1 << 40])))
    else {
        panic!("not a shape error");
    };
    assert_eq!(operation, "input `x`");
    assert_eq!(given, "f32[1099511627776, 1099511627776]");
}

#[test]
fn the_bytes_of_data_sets_are_no_tensor_of_a_graph() {
    let error = error(|t| drop(t.input("x", DType::U8, [4]).relu()));
    assert!(
        matches!(&error, Error::Shape { operation, problem, .. }
            if operation == "input `x`" && problem.contains("data sets")),
        "{error}"
    );
    assert!(Tensor::zeros(&TensorType::new(DType::U8, [4])).is_err());
}

#[test]
fn windows_of_any_size_are_refused_rather_than_wrap() {
    let most = usize::MAX;
    for (padding, dilation, stride) in [
        (most, 1, 1),
        (most / 2 + 1, 1, 1),
        (0, most, 1),
        (0, 1, most),
        (1 << 31, 1 << 31, 1 << 31),
    ] {
        let error = error(|t| {
            let (x, w) = (t.input("x", F, [2, 8, 8, 1]), t.input("w", F, [1, 3, 3, 1]));
            let mut conv = Conv::new(2);
            conv.padding = vec![padding; 2];
            conv.dilation = vec![dilation; 2];
            conv.stride = vec![stride; 2];
            x.conv(&w, conv);
        });
        assert!(matches!(error, Error::Shape { .. }), "{error}");
        for (kernel, ceil) in [(2, false), (most, true), (1 << 31, true)] {
            let window = Window::Sliding {
                kernel,
                stride,
                padding,
                dilation,
                ceil,
            };
            assert_eq!(window.outputs(8), 0, "{window:?}");
        }
    }
    let image = error(|t| {
        let (y, w) = (t.input("y", F, [2, 8, 8, 1]), t.input("w", F, [1, 3, 3, 1]));
        let mut conv = Conv::new(2).part(ConvPart::Input, [most, 8]);
        conv.groups = most;
        y.conv(&w, conv);
    });
    assert!(matches!(image, Error::Shape { .. }), "{image}");
}

#[test]
fn host_tensors_check_their_shape() {
    for (shape, dtype) in [
        ([1 << 32, 1 << 32], F),
        ([1 << 40, 1 << 10], DType::F64),
        ([1 << 62, 4], DType::Bits),
    ] {
        let error = Tensor::zeros(&TensorType::new(dtype, shape)).unwrap_err();
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    }
    let empty = |shape: [usize; 2]| std::panic::catch_unwind(|| Tensor::f32(shape, []));
    assert!(empty([1 << 32, 1 << 32]).is_err());
    assert!(empty([3, 0]).is_ok());
}

#[test]
fn strides_are_given_for_what_broadcasts_alone() {
    assert_eq!(broadcast_strides(&[2, 3], &[3]), None);
    assert_eq!(broadcast_strides(&[2], &[3]), None);
    assert_eq!(broadcast_strides(&[3, 1], &[2, 3, 4]), Some(vec![0, 1, 0]));
}

#[test]
fn a_backward_scan_checks_its_operands_as_the_scan_does() {
    let refused = |operands: &[(&str, &[usize])], present: Vec<Port>| {
        let error = error(|t| {
            let operands: Vec<Var> = operands.iter().map(|(n, s)| t.input(n, F, *s)).collect();
            let op = ScanGrad::new(Scan::new(neuron(), 4), present);
            t.apply(op, &operands.iter().collect::<Vec<_>>());
        });
        assert!(matches!(error, Error::Shape { .. }), "{error}");
    };
    let present = || vec![Port::OutputGrad(0)];
    refused(&[("x", &[]), ("v", &[]), ("g", &[4, 3])], present());
    refused(&[("x", &[4, 3]), ("v", &[5]), ("g", &[4, 3])], present());
    refused(&[("x", &[4, 3]), ("v", &[3]), ("g", &[3])], present());
    refused(
        &[("x", &[4, 3]), ("v", &[3]), ("g", &[4, 3])],
        vec![Port::OutputGrad(1)],
    );
    let last = vec![Port::LastGrad(0)];
    refused(&[("x", &[4, 3]), ("v", &[3]), ("g", &[4, 3])], last);
}

#[test]
fn a_budget_for_what_no_memory_holds_is_refused() {
    let t = Tracer::new(F);
    let x = t.input("x", F, [1 << 54]).exp();
    t.output("y", &Var::concat(&[&x, &x, &x], 0).log_softmax());
    let error = Plan::within(t.finish().unwrap(), &Plain, 1 << 10).unwrap_err();
    assert!(matches!(error, Error::Budget { .. }), "{error}");
}

/// Small lengths, and those near the limits of 32 and 64 bits.
fn length() -> impl Strategy<Value = usize> {
    let near = (20_u32..64, -2_i64..3).prop_map(|(bits, by)| {
        let length = (1_usize << bits).wrapping_add_signed(by as isize);
        length.max(1 << 19)
    });
    prop_oneof![3 => 0..5_usize, 2 => near, 1 => Just(usize::MAX)]
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(length(), 0..4)
}

/// Applies operation `kind` to two values; `n` and `m` are its numbers.
fn apply(t: &Tracer, kind: usize, x: &Var, y: &Var, n: usize, m: usize) -> Var {
    match kind {
        0 => x + y,
        1 => x.matmul(y),
        2 => t.apply1(MatMul::new(true, true), &[x, y]),
        3 => x.repeat_over_time(n),
        4 => x.expand([n, m]),
        5 => x.reshape([n, m]),
        6 => Var::concat(&[x, y, x], n % 4),
        7 => x.argmax().one_hot(n),
        8 => x.flatten(n % 5).mean_all(),
        9 => x.mean(&[n % 4, m % 4]),
        10 => x.slice(n % 4, m.min(n)..m.max(n)),
        11 => {
            let mut conv = Conv::new(1 + n % 3);
            conv.padding.fill(m);
            conv.dilation.fill(n.max(1));
            conv.groups = m % 3;
            x.conv(y, conv)
        }
        12 => {
            let window = Window::Sliding {
                kernel: n,
                stride: m,
                padding: n / 2,
                dilation: 1,
                ceil: n.is_multiple_of(2),
            };
            x.pool(Pooling::Max, vec![window; 1 + m % 3])
        }
        13 => x.pool(
            Pooling::Average {
                count_padding: true,
            },
            [Window::Adaptive { outputs: n }],
        ),
        14 => Var::scan(&neuron(), n, &[x], &[y], &[]).swap_remove(0),
        15 => {
            let generator = t.input(&format!("generator{m}"), DType::I64, [4]);
            generator.uniform([n, m], RandomAxes::TimeAndBatch)
        }
        16 => x.permute(&[n % 3, m % 3]),
        17 => x.mean_var()[1].clone(),
        _ => x.log_softmax(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_shape_panics_or_wraps(
        shapes in (shape(), shape()),
        kinds in prop::collection::vec((0..19_usize, length(), length(), any::<bool>()), 1..5),
    ) {
        let t = Tracer::new(F);
        let (mut x, mut y) = (t.input("x", F, shapes.0), t.input("y", F, shapes.1));
        for (kind, n, m, swap) in kinds {
            if swap {
                std::mem::swap(&mut x, &mut y);
            }
            let made = apply(&t, kind, &x, &y, n, m);
            // The next operation does not receive the refused value.
            if t.check().is_err() {
                break;
            }
            x = made;
        }
        t.output("made", &x);
        let Ok(graph) = t.finish() else { return Ok(()) };
        let plan = Plan::new(graph, &Plain);
        let _ = plan.check();
        let _ = (plan.flops(), plan.moved_bytes(), plan.peak_bytes(), plan.to_string());
        for node in &plan.graph.nodes {
            for value in node.inputs.iter().chain(&node.outputs) {
                let ty = plan.graph.ty(*value);
                let exact: u128 = ty.shape.iter().map(|n| *n as u128).product();
                prop_assert_eq!(ty.len() as u128, exact);
                let size = if ty.dtype == DType::I64 { 8 } else { 4 };
                prop_assert_eq!(ty.bytes() as u128, size * exact);
            }
        }
    }

    #[test]
    fn sizes_saturate(shape in shape(), dtype in prop::sample::select(vec![
        DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::Bits,
    ])) {
        let ty = TensorType::new(dtype, shape);
        let zero = ty.shape.contains(&0);
        let axes = ty.shape.iter().map(|n| (*n).max(1) as u128);
        let exact = axes.fold(1_u128, |a, n| a.saturating_mul(n));
        let fits = exact <= isize::MAX as u128 / 8;
        prop_assert_eq!(ty.check("test").is_ok(), fits);
        if fits {
            prop_assert_eq!(ty.len() as u128, if zero { 0 } else { exact });
            prop_assert!(ty.bytes() <= isize::MAX as usize);
        }
        prop_assert!(ty.bytes() <= ty.len().saturating_mul(8));
    }
}
