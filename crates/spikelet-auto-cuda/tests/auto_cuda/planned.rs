//! Kernels as part of a plan: as data, and what the autograd functions' kernels compute with the
//! arguments that they are given, on the host, against the same operations' code for the CPU.

use crate::machine::{compile_cpp, program_head};
use spikelet_auto_cuda::neuron_kernel::{
    IFNodeATGF, IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeATGF, LIFNodeBPTTKernel,
    LIFNodeFPTTKernel, ParametricLIFNodeATGF, ParametricLIFNodeBPTTKernel,
    ParametricLIFNodeFPTTKernel,
};
use spikelet_auto_cuda::{
    AutoCudaError, CKernel, Callable, Dtype, ExprSurrogate, Kernel, PlannedArgument,
};
use spikelet_graph::op::{
    BackwardOperand, CustomOp, DeviceArgument, DeviceCall, DeviceCode, DeviceKernel, HostCall, Op,
};
use spikelet_graph::{DType, Tensor, TensorType, Tracer, Var};
use std::fmt::Write;
use std::sync::Arc;

#[test]
fn arguments_become_data_in_the_order_of_the_parameters() {
    let mut kernel = CKernel::new("k");
    for (ctype, cname) in [
        ("const float *", "x"),
        ("half2 &", "pair"),
        ("half", "one"),
        ("const int &", "N"),
        ("int", "count"),
    ] {
        kernel.add_param(ctype, cname).unwrap();
    }
    let args = [
        ("x", DeviceArgument::InputAt(1, 8).into()),
        ("pair", 1.0_f32.into()),
        ("one", 1.0_f32.into()),
        ("N", 3_i32.into()),
        ("count", 4_i32.into()),
    ];
    let planned = kernel.device_kernel([2, 3], 64, &args).unwrap();
    let expected = [
        DeviceArgument::Constant(vec![3, 0, 0, 0]),
        DeviceArgument::Value(vec![4, 0, 0, 0]),
        DeviceArgument::Value(vec![0x00, 0x3c]),
        DeviceArgument::Constant(vec![0x00, 0x3c, 0x00, 0x3c]),
        DeviceArgument::InputAt(1, 8),
    ];
    assert_eq!(planned.arguments, expected);
    assert_eq!((planned.grid, planned.block), ([2, 3, 1], 64));
    assert_eq!(
        (planned.name.as_str(), planned.source),
        ("k", kernel.full_codes())
    );
}

#[test]
fn arguments_that_do_not_match_are_rejected() {
    let mut kernel = CKernel::new("k");
    kernel.add_param("const float *", "x").unwrap();
    kernel.add_param("float", "a").unwrap();
    let x = || ("x", PlannedArgument::from(DeviceArgument::Input(0)));
    let a = || ("a", PlannedArgument::from(1.0_f32));
    let error = |args: &[(&str, PlannedArgument)]| kernel.device_kernel(1, 32, args).unwrap_err();
    kernel.device_kernel(1, 32, &[x(), a()]).unwrap();
    use AutoCudaError::{ArgumentType, Keys, RepeatedArgument};
    let missing = error(&[x()]);
    assert!(matches!(missing, Keys { missing, .. } if missing == "a"));
    let twice = error(&[x(), a(), x()]);
    assert!(matches!(twice, RepeatedArgument { cname, .. } if cname == "x"));
    let scalar = error(&[("x", 1.0_f32.into()), a()]);
    assert!(matches!(scalar, ArgumentType { cname, .. } if cname == "x"));
    let address = error(&[x(), ("a", DeviceArgument::Output(0).into())]);
    assert!(matches!(address, ArgumentType { cname, .. } if cname == "a"));
    kernel.add_param("double *", "y").unwrap();
    let y = ("y", DeviceArgument::Output(0).into());
    let error = kernel.device_kernel(1, 32, &[x(), a(), y]).unwrap_err();
    assert!(
        matches!(error, AutoCudaError::ParameterType { .. }),
        "{error}"
    );
}

/// Bytes of a tensor.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let floats = tensor.to_f64();
    match tensor.ty().dtype {
        DType::F16 => (floats.iter())
            .flat_map(|x| spikelet_graph::f16::from_f64(*x).to_le_bytes())
            .collect(),
        _ => floats
            .iter()
            .flat_map(|x| (*x as f32).to_le_bytes())
            .collect(),
    }
}

fn numbers(ty: &TensorType, bytes: &[u8]) -> Vec<f64> {
    match ty.dtype {
        DType::F16 => {
            let (words, _) = bytes.as_chunks();
            let values = words.iter().map(|w| spikelet_graph::f16::from_le_bytes(*w));
            values.map(f64::from).collect()
        }
        _ => {
            let (words, _) = bytes.as_chunks();
            words
                .iter()
                .map(|w| f64::from(f32::from_le_bytes(*w)))
                .collect()
        }
    }
}

/// One operation with its operands.
struct Case {
    op: Arc<dyn CustomOp>,
    inputs: Vec<Tensor>,
    input_types: Vec<TensorType>,
    output_types: Vec<TensorType>,
}

impl Case {
    fn new(op: Arc<dyn CustomOp>, inputs: Vec<Tensor>) -> Self {
        let input_types: Vec<TensorType> = inputs.iter().map(Tensor::ty).collect();
        let output_types = op.infer(&input_types).expect("they fit");
        Self {
            op,
            inputs,
            input_types,
            output_types,
        }
    }

    fn code(&self) -> DeviceCode {
        let call = DeviceCall {
            inputs: &self.input_types,
            outputs: &self.output_types,
            wanted: &vec![true; self.output_types.len()],
        };
        let code = self.op.device_code(&call).expect("it has code");
        code.expect("it has code for GPUs")
    }

    fn on_the_cpu(&self) -> Vec<Tensor> {
        let mut made: Vec<Tensor> = self
            .output_types
            .iter()
            .map(|ty| Tensor::zeros(ty).unwrap())
            .collect();
        let mut call = HostCall {
            input_types: &self.input_types,
            output_types: &self.output_types,
            inputs: self.inputs.iter().map(Into::into).collect(),
            outputs: made.iter_mut().map(Into::into).collect(),
        };
        self.op.run(&mut call).expect("it has code for the CPU");
        drop(call);
        made
    }

    /// Reads operands, runs the kernels, writes results; buffers have nothing to spare.
    fn cpp(&self, k: usize, text: &mut String, main: &mut String) {
        let code = self.code();
        writeln!(main, "{{").expect("a string");
        let mut buffer = |name: String, bytes: usize| {
            writeln!(
                main,
                "unsigned char *{name} = (unsigned char *)malloc({bytes});"
            )
            .expect("a string");
        };
        for (i, ty) in self.input_types.iter().enumerate() {
            buffer(format!("in{i}"), ty.bytes());
        }
        for (i, ty) in self.output_types.iter().enumerate() {
            buffer(format!("out{i}"), ty.bytes());
        }
        buffer("scratch".to_string(), code.scratch_bytes());
        for (i, ty) in self.input_types.iter().enumerate() {
            writeln!(main, "fread(in{i}, 1, {}, stdin);", ty.bytes()).expect("a string");
        }
        for (j, kernel) in code.kernels().iter().enumerate() {
            let source = kernel.source.replace("#include <cuda_fp16.h>", "");
            let source = source.replace("extern \"C\"", "");
            write!(text, "namespace case_{k}_{j} {{\n{source}}}\n").expect("a string");
            let arguments: Vec<String> = kernel
                .arguments
                .iter()
                .zip(types(kernel))
                .enumerate()
                .map(|(a, (argument, ctype))| {
                    let place = match argument {
                        DeviceArgument::Input(i) => format!("in{i}"),
                        DeviceArgument::InputAt(i, at) => format!("(in{i} + {at})"),
                        DeviceArgument::Output(i) => format!("out{i}"),
                        DeviceArgument::OutputAt(i, at) => format!("(out{i} + {at})"),
                        DeviceArgument::Scratch(at) => format!("(scratch + {at})"),
                        DeviceArgument::Constant(bytes) | DeviceArgument::Value(bytes) => {
                            let name = format!("c{j}_{a}");
                            let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
                            writeln!(
                                main,
                                "alignas(16) unsigned char {name}[] = {{{}}};",
                                list.join(", ")
                            )
                            .expect("a string");
                            name
                        }
                    };
                    match ctype.strip_suffix('*') {
                        Some(base) => format!("({base} *){place}"),
                        None => format!("*({} *){place}", ctype.trim_end_matches('&')),
                    }
                })
                .collect();
            writeln!(
                main,
                "run({}, {}, [&] {{ case_{k}_{j}::{}({}); }});",
                kernel.grid[0],
                kernel.block,
                kernel.name,
                arguments.join(", ")
            )
            .expect("a string");
        }
        for (i, ty) in self.output_types.iter().enumerate() {
            writeln!(main, "fwrite(out{i}, 1, {}, stdout);", ty.bytes()).expect("a string");
        }
        writeln!(main, "}}").expect("a string");
    }
}

/// The types of a kernel's parameters, from its text.
fn types(kernel: &DeviceKernel) -> Vec<String> {
    let begin = format!("void {}(", kernel.name);
    let (_, after) = kernel.source.split_once(&begin).expect("the kernel's head");
    let (params, _) = after.split_once("\n)").expect("its end");
    let of_one = |param: &str| {
        let (ctype, _) = param.trim().rsplit_once(' ').expect("a type and a name");
        ctype.trim().to_string()
    };
    params.split(',').map(of_one).collect()
}

/// The numbers of each result.
type Results = Vec<Vec<f64>>;

/// Results of all cases.
fn on_the_host(name: &str, cases: &[Case]) -> Vec<Results> {
    let (mut text, mut main) = (program_head(), String::new());
    for (k, case) in cases.iter().enumerate() {
        case.cpp(k, &mut text, &mut main);
    }
    let program = format!("{text}\nint main() {{\n{main}}}\n");
    let input: Vec<u8> = cases
        .iter()
        .flat_map(|case| case.inputs.iter().flat_map(bytes))
        .collect();
    let output = compile_cpp(name, &program, &input);
    let mut rest = output.as_slice();
    let mut all = vec![];
    for case in cases {
        let mut results = vec![];
        for ty in &case.output_types {
            let (own, after) = rest.split_at(ty.bytes());
            results.push(numbers(ty, own));
            rest = after;
        }
        all.push(results);
    }
    assert!(rest.is_empty());
    all
}

const STEPS: usize = 4;
/// More than a block has, in pairs too.
const NEURONS: usize = 1030;

/// Multiples of 1/8 between −1.5 and 2.5.
fn eighths(ty: TensorType, seed: u32) -> Tensor {
    let drawn = (0..ty.len() as u32)
        .map(|k| (k.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 16) % 33)
        .map(|x| x as f32 / 8.0 - 1.5);
    Tensor::f32(ty.shape, drawn.collect::<Vec<f32>>()).cast(ty.dtype)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    If,
    Lif,
    Plif,
}

/// The forward operation of a neuron, taken out of a graph.
fn forward_op(kind: Kind, dtype: Dtype, v_reset: Option<f64>) -> Arc<dyn CustomOp> {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", storage(dtype), [STEPS, NEURONS]);
    let v = tracer.input("v", storage(dtype), [NEURONS]);
    let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x)).expect("of its argument");
    let hard = v_reset.is_some();
    apply(kind, &x, &v, v_reset, |detach| {
        (surrogate.clone(), hard, detach, dtype)
    });
    tracer.check().expect("it fits");
    let graph = tracer.traced();
    let found = graph.nodes.iter().find_map(|node| match &node.op {
        Op::Custom(custom) => Some(custom.0.clone()),
        _ => None,
    });
    found.expect("a custom operation")
}

fn apply(
    kind: Kind,
    x: &Var,
    v: &Var,
    v_reset: Option<f64>,
    form: impl Fn(bool) -> (ExprSurrogate, bool, bool, Dtype),
) {
    let (s, hard, detach, dtype) = form(kind == Kind::Lif);
    match kind {
        Kind::If => {
            let forward = IFNodeFPTTKernel::new(hard, dtype);
            let backward = IFNodeBPTTKernel::new(s, hard, detach, dtype);
            apply!(IFNodeATGF, x, v, 1.0, v_reset, forward, backward);
        }
        Kind::Lif => {
            let forward = LIFNodeFPTTKernel::new(false, hard, dtype);
            let backward = LIFNodeBPTTKernel::new(false, s, hard, detach, dtype);
            apply!(LIFNodeATGF, x, v, 1.0, v_reset, 0.5, forward, backward);
        }
        Kind::Plif => {
            let forward = ParametricLIFNodeFPTTKernel::new(true, hard, dtype);
            let backward = ParametricLIFNodeBPTTKernel::new(true, s, hard, detach, dtype);
            let decay = x.tracer().parameter("decay", []);
            apply!(
                ParametricLIFNodeATGF,
                x,
                v,
                1.0,
                v_reset,
                &decay,
                forward,
                backward
            );
        }
    }
}

fn storage(dtype: Dtype) -> DType {
    match dtype {
        Dtype::Float => DType::F32,
        Dtype::Half2 => DType::F16,
    }
}

/// The operands of the backward operation.
fn saved(forward: &Case, made: &[Tensor]) -> Vec<Tensor> {
    let list = forward
        .op
        .backward_operands(forward.inputs.len(), made.len());
    let operand = |(k, operand): (usize, BackwardOperand)| match operand {
        BackwardOperand::Input(k) => forward.inputs[k].clone(),
        BackwardOperand::Output(k) => made[k].clone(),
        BackwardOperand::Gradient(of) => eighths(made[of].ty(), 40 + k as u32),
    };
    list.into_iter().enumerate().map(operand).collect()
}

#[track_caller]
fn near(what: &str, given: &[f64], expected: &[f64], share: f64) {
    assert_eq!(given.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    for (k, (a, b)) in given.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= share * largest,
            "{what} at {k}: {a}, not {b}"
        );
    }
}

#[test]
#[ignore = "needs g++"]
fn the_kernels_of_a_plan_compute_what_the_operation_computes_on_the_cpu() {
    let (mut cases, mut names) = (vec![], vec![]);
    for kind in [Kind::If, Kind::Lif, Kind::Plif] {
        for dtype in Dtype::ALL {
            for v_reset in [Some(-0.25), None] {
                let op = forward_op(kind, dtype, v_reset);
                let ty = |shape: &[usize]| TensorType::new(storage(dtype), shape);
                let mut inputs = vec![
                    eighths(ty(&[STEPS, NEURONS]), 1),
                    eighths(ty(&[NEURONS]), 2),
                ];
                if kind == Kind::Plif {
                    inputs.push(Tensor::f32([1], [0.5]));
                }
                let forward = Case::new(op.clone(), inputs);
                let operands = saved(&forward, &forward.on_the_cpu());
                let backward = Case::new(op.backward().expect("a gradient"), operands);
                cases.extend([forward, backward]);
                let name = format!("{kind:?} of {dtype}, reset to {v_reset:?}");
                names.extend([(name.clone(), false, dtype), (name, true, dtype)]);
            }
        }
    }
    let results = on_the_host("planned", &cases);
    for ((case, results), (name, backward, dtype)) in cases.iter().zip(results).zip(names) {
        let share = match (backward, dtype) {
            // Multiples of 1/8 with τ = 2 are exact.
            (false, _) => 0.0,
            (true, Dtype::Float) => 1e-6,
            (true, Dtype::Half2) => 2e-2,
        };
        for (k, (given, expected)) in results.iter().zip(case.on_the_cpu()).enumerate() {
            let what = format!("result {k} of {}, {name}", case.op.name());
            near(&what, given, &expected.to_f64(), share);
        }
    }
}
