//! Errors for buffers and plans that do not match.

use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{HostTensor, HostTensorMut, Recurrence};
use spikelet_graph::{Backend, Buffer, DType, Error, Graph, Plan, TensorType, Tracer, Var};
use std::sync::{Arc, OnceLock};

fn cpu() -> &'static Cpu {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    CPU.get_or_init(|| Cpu::new(1).unwrap())
}

fn buffer(dtype: DType, shape: &[usize]) -> Buffer {
    cpu().allocate(&TensorType::new(dtype, shape)).unwrap()
}

#[test]
fn a_tensor_that_no_memory_holds_is_refused() {
    // Its number of bytes is 4 where it wraps.
    let error = cpu().allocate(&TensorType::new(DType::F32, [(1 << 62) + 1]));
    let error = error.expect_err("it is refused");
    assert!(
        matches!(&error, Error::Shape { operation, .. } if operation == "allocate"),
        "{error}"
    );
}

#[test]
fn values_of_another_type_or_number_are_refused() {
    let b = buffer(DType::F32, &[2, 2]);
    let errors = [
        (cpu().upload(&b, HostTensor::F32(&[0.0; 3])), "3 f32"),
        (cpu().upload(&b, HostTensor::F64(&[0.0; 4])), "4 f64"),
        (cpu().download(&b, HostTensorMut::I64(&mut [0; 4])), "4 i64"),
    ];
    for (result, given) in errors {
        let Err(Error::Backend { backend, problem }) = result else {
            panic!("{result:?}");
        };
        assert_eq!(backend, "cpu");
        for value in ["f32[2, 2]", given] {
            assert!(problem.contains(value), "{value}: {problem}");
        }
    }
    let mut whole = [1.0; 4];
    cpu().download(&b, HostTensorMut::F32(&mut whole)).unwrap();
    assert_eq!(whole, [0.0; 4]);
}

#[test]
fn a_foreign_buffer_and_one_that_lies_about_its_size_are_refused() {
    let other = Cpu::new(1).unwrap();
    let foreign = other.allocate(&TensorType::new(DType::F32, [4])).unwrap();
    let error = cpu().upload(&foreign, HostTensor::F32(&[0.0; 4]));
    assert!(
        matches!(error, Err(Error::ForeignBuffer { .. })),
        "{error:?}"
    );
    let mut lies = buffer(DType::F32, &[1]);
    lies.ty = TensorType::new(DType::F32, [1000]);
    let error = cpu().upload(&lies, HostTensor::F32(&[0.0; 1000]));
    assert!(
        matches!(&error, Err(Error::Storage { bytes: 4, ty, .. }) if *ty == lies.ty),
        "{error:?}"
    );
}

/// y = x + w and w' = y
fn graph() -> Graph {
    let tracer = Tracer::new(DType::F32);
    let (x, w) = (
        tracer.input("x", DType::F32, [4]),
        tracer.parameter("w", [4]),
    );
    let y = &x + &w;
    tracer.output("y", &y);
    tracer.update(&w, &(&y * 2.0));
    tracer.finish().unwrap()
}

fn load(inputs: &[Buffer], outputs: &[Option<Buffer>]) -> Result<(), Error> {
    let plan = Plan::new(graph(), cpu());
    cpu().load(&plan, inputs, outputs).map(drop)
}

/// The names of inputs and outputs in the message of a plan that cannot be loaded.
fn names(result: Result<(), Error>) -> Vec<String> {
    let Err(Error::Plan { problem }) = result else {
        panic!("{result:?}");
    };
    let quoted = problem.split('`').skip(1).step_by(2);
    quoted.map(str::to_string).collect()
}

#[test]
fn a_plan_is_loaded_with_buffers_of_its_types_for_all_inputs_and_outputs() {
    let four = || buffer(DType::F32, &[4]);
    load(&[four(), four()], &[Some(four()), None]).unwrap();
    assert_eq!(names(load(&[four(), four()], &[None, None])), ["y"]);
    let too_few = load(&[four()], &[Some(four()), None]);
    assert!(matches!(too_few, Err(Error::Plan { .. })), "{too_few:?}");
    let (double, square) = (buffer(DType::F64, &[4]), buffer(DType::F32, &[2, 2]));
    for (result, which, wrong) in [
        (
            load(&[four(), double.clone()], &[Some(four()), None]),
            "w",
            double,
        ),
        (
            load(&[four(), four()], &[Some(square.clone()), None]),
            "y",
            square,
        ),
    ] {
        let Err(Error::Type {
            name,
            given,
            expected,
        }) = result
        else {
            panic!("{result:?}");
        };
        assert_eq!((name.as_str(), given), (which, wrong.ty));
        assert_eq!(expected, TensorType::new(DType::F32, [4]));
    }
}

#[test]
fn buffers_that_are_written_are_not_shared() {
    let four = || buffer(DType::F32, &[4]);
    let one = four();
    let input_is_output = load(&[one.clone(), four()], &[Some(one.clone()), None]);
    assert_eq!(names(input_is_output), ["x", "y"]);
    let input_is_updated = load(&[one.clone(), one.clone()], &[Some(four()), None]);
    assert_eq!(names(input_is_updated), ["x", "w"]);
}

#[test]
fn a_plan_that_was_tampered_with_is_rejected() {
    let mut plan = Plan::new(graph(), cpu());
    plan.allocations.push(spikelet_graph::Allocation {
        value: None,
        offset: 0,
        bytes: 64,
        alive: (0, 0),
    });
    let four = || buffer(DType::F32, &[4]);
    let error = cpu().load(&plan, &[four(), four()], &[Some(four()), None]);
    assert!(matches!(error.err(), Some(Error::Plan { .. })));
}

fn load_graph(tracer: &Tracer) -> Result<(), Error> {
    let plan = Plan::new(tracer.finish().unwrap(), cpu());
    let graph = &plan.graph;
    let of = |v| buffer(graph.ty(v).dtype, &graph.ty(v).shape);
    let inputs: Vec<Buffer> = graph.inputs.iter().map(|i| of(i.value)).collect();
    let outputs: Vec<_> = graph.outputs.iter().map(|o| Some(of(o.value))).collect();
    cpu().load(&plan, &inputs, &outputs)?.run()
}

/// The sum of this many tensors, as one operation.
fn sum_of(operands: usize, dtype: DType) -> Result<(), Error> {
    let tracer = Tracer::new(DType::F32);
    let inputs: Vec<Var> = (0..operands)
        .map(|k| tracer.input(&format!("x{k}"), dtype, [4]))
        .collect();
    let all: Vec<&Var> = inputs.iter().collect();
    let made = tracer.scope("fc", || {
        Var::map(&all, |x| x.iter().skip(1).fold(x[0].clone(), |a, b| a + b))
    });
    tracer.output("y", &made);
    load_graph(&tracer)
}

#[test]
fn more_operands_than_a_kernel_takes_are_an_error_that_names_both_numbers() {
    for dtype in [DType::F32, DType::F16] {
        sum_of(32, dtype).unwrap();
        match sum_of(33, dtype).unwrap_err() {
            Error::Shape {
                layer,
                operation,
                problem,
                ..
            } => {
                assert_eq!((layer.as_str(), operation.as_str()), ("fc", "map"));
                assert!(problem.contains("33 operands"), "{problem}");
                assert!(problem.contains("at most 32"), "{problem}");
            }
            other => panic!("{other}"),
        }
    }
}

/// A neuron with as many states, three sequences and one output, and its gradient.
fn states(count: usize) -> Result<(), Error> {
    let names: Vec<String> = (0..count).map(|k| format!("v{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let x = ["a", "b", "c"];
    let input = x
        .map(Expr::symbol)
        .into_iter()
        .fold(Expr::constant(0.0), |a, b| a + b);
    let next: Vec<Expr> = names
        .iter()
        .map(|v| Expr::symbol(v) * 0.5 + &input)
        .collect();
    let out = next.iter().fold(Expr::constant(0.0), |a, b| a + b);
    let neuron = Recurrence::new("many", x, names.clone())
        .output("y", out, false)
        .next(next);
    let tracer = Tracer::new(DType::F32);
    let inputs = x.map(|name| tracer.input(name, DType::F32, [2, 4]));
    let states: Vec<Var> = names
        .iter()
        .map(|v| tracer.input(v, DType::F32, [4]))
        .collect();
    let y = Var::scan(
        &Arc::new(neuron),
        2,
        &inputs.each_ref(),
        &states.iter().collect::<Vec<_>>(),
        &[],
    );
    let grads = tracer.gradients(&y[0].sum_all(), &inputs.each_ref());
    for (grad, name) in grads.iter().zip(["da", "db", "dc"]) {
        tracer.output(name, grad);
    }
    load_graph(&tracer)
}

#[test]
fn a_backward_step_that_reads_more_than_a_kernel_takes_is_an_error_too() {
    states(14).unwrap();
    let error = states(15).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}
