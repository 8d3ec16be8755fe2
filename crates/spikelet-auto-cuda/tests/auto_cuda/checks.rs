//! What calls refuse, on descriptions of arguments: no GPU is needed.

use spikelet_auto_cuda::neuron_kernel::{
    IFNodeFPTTKernel, ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet_auto_cuda::{
    Argument, AutoCudaError, CKernel, CKernel1D, CKernel2D, Callable, Described, Description, Dims,
    Dtype, Element, ExprSurrogate, Kernel, describe,
};

/// A contiguous tensor on the first GPU.
fn tensor(element: Element, shape: &[usize]) -> Description {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    Description::Tensor {
        element,
        shape: shape.to_vec(),
        strides,
        device: 0,
    }
}

fn on(mut description: Description, gpu: usize) -> Description {
    if let Description::Tensor { device, .. } = &mut description {
        *device = gpu;
    }
    description
}

const ONE: Dims = Dims([1, 1, 1]);

/// `y = x * factor` over `float`.
fn kernel() -> CKernel1D {
    let mut kernel = CKernel1D::new("scale");
    kernel.add_param("const float *", "x").unwrap();
    kernel.add_param("float *", "y").unwrap();
    kernel.add_param("const float &", "factor").unwrap();
    kernel
}

fn arguments() -> Described<'static> {
    [
        ("x", tensor(Element::F32, &[2, 3])),
        ("y", tensor(Element::F32, &[2, 3])),
        ("factor", Description::Float(2.0)),
        ("numel", Description::Int(6)),
    ]
    .into()
}

#[test]
fn arguments_that_fit_are_accepted() {
    kernel().check(ONE, &arguments()).unwrap();
    let mut with_tensors = arguments();
    with_tensors.insert("factor", tensor(Element::F32, &[]));
    with_tensors.insert("numel", tensor(Element::I32, &[1]));
    kernel().check(ONE, &with_tensors).unwrap();
}

#[test]
fn missing_and_unknown_arguments_are_named() {
    let mut args = arguments();
    args.remove("y");
    args.insert("z", Description::Int(1));
    let error = kernel().check_keys(&args).unwrap_err();
    assert!(
        matches!(&error, AutoCudaError::Keys { missing, unknown, .. } if missing == "y" && unknown == "z"),
        "{error}"
    );
    assert!(kernel().check(ONE, &args).is_err());
}

#[test]
fn an_argument_given_twice_is_rejected() {
    let error = describe("scale", &[("x", Argument::Int(1)), ("x", Argument::Int(2))]).unwrap_err();
    assert!(
        matches!(&error, AutoCudaError::RepeatedArgument { cname, .. } if cname == "x"),
        "{error}"
    );
}

#[test]
fn arguments_of_other_types_are_refused() {
    let refused = |name, given| {
        let mut args = arguments();
        args.insert(name, given);
        let error = kernel().check_ctypes(&args).unwrap_err();
        assert!(
            matches!(error, AutoCudaError::ArgumentType { .. }),
            "{error}"
        );
        assert!(kernel().check(ONE, &args).is_err());
        error.to_string()
    };
    assert_eq!(
        refused("x", tensor(Element::F16, &[6])),
        "kernel `scale`: `const float * x` needs a tensor of f32, not a tensor f16[6]"
    );
    assert_eq!(
        refused("x", Description::Float(1.0)),
        "kernel `scale`: `const float * x` needs a tensor of f32, not the number 1"
    );
    assert_eq!(
        refused("factor", Description::Int(2)),
        "kernel `scale`: `const float & factor` needs a number, or a tensor of one f32, not the \
         integer 2"
    );
    assert_eq!(
        refused("factor", tensor(Element::F32, &[2])),
        "kernel `scale`: `const float & factor` needs a number, or a tensor of one f32, not a \
         tensor f32[2]"
    );
    assert_eq!(
        refused("numel", Description::Float(6.0)),
        "kernel `scale`: `const int & numel` needs an integer, or a tensor of one i32, not the \
         number 6"
    );
    refused("numel", tensor(Element::F32, &[1]));
}

#[test]
fn numbers_by_value_and_halves_have_their_types() {
    let mut kernel = CKernel::new("k");
    for (ctype, cname) in [
        ("float", "a"),
        ("int", "b"),
        ("half2", "c"),
        ("half2 &", "d"),
        ("const half *", "e"),
    ] {
        kernel.add_param(ctype, cname).unwrap();
    }
    let mut args: Described<'_> = [
        ("a", Description::Float(1.0)),
        ("b", Description::Int(1)),
        ("c", Description::Float(1.0)),
        ("d", Description::Float(1.0)),
        ("e", tensor(Element::F16, &[3])),
    ]
    .into();
    kernel.check_ctypes(&args).unwrap();
    args.insert("d", tensor(Element::F16, &[2]));
    kernel.check_ctypes(&args).unwrap();
    args.insert("a", tensor(Element::F32, &[]));
    let error = kernel.check_ctypes(&args).unwrap_err().to_string();
    assert_eq!(
        error,
        "kernel `k`: `float a` needs a number, not a tensor f32[]"
    );
}

#[test]
fn a_parameter_that_no_call_can_fill_is_refused() {
    let mut kernel = CKernel::new("k");
    kernel.add_param("const double *", "x").unwrap();
    let args = [("x", tensor(Element::F32, &[2]))].into();
    let error = kernel.check_ctypes(&args).unwrap_err();
    assert!(matches!(error, AutoCudaError::ParameterType { .. }));
    assert!(error.to_string().contains("`const double * x`"), "{error}");
}

#[test]
fn a_transposed_tensor_is_rejected() {
    let mut args = arguments();
    args.insert(
        "x",
        Description::Tensor {
            element: Element::F32,
            shape: vec![3, 2],
            strides: vec![1, 3],
            device: 0,
        },
    );
    let error = kernel().set_contiguous(&args).unwrap_err();
    assert!(
        matches!(&error, AutoCudaError::NotContiguous { strides, .. } if strides == "[1, 3]"),
        "{error}"
    );
    assert!(kernel().check(ONE, &args).is_err());
}

#[test]
fn all_tensors_are_on_the_gpu_of_the_first() {
    let mut args = arguments();
    assert_eq!(kernel().get_device(&args).unwrap(), 0);
    args.insert("y", on(tensor(Element::F32, &[6]), 1));
    kernel().check_device(0, &arguments()).unwrap();
    let error = kernel().check_device(0, &args).unwrap_err();
    assert!(matches!(error, AutoCudaError::OtherDevice { .. }));
    assert_eq!(
        error.to_string(),
        "kernel `scale` runs on cuda:0, but `y` is on cuda:1; copy it there"
    );
    assert!(kernel().check(ONE, &args).is_err());
}

#[test]
fn a_call_without_a_tensor_is_refused() {
    let mut kernel = CKernel::new("k");
    kernel.add_param("const int &", "a").unwrap();
    let args = [("a", Description::Int(1))].into();
    let error = kernel.check(ONE, &args).unwrap_err();
    assert!(matches!(error, AutoCudaError::NoTensor { .. }), "{error}");
}

/// A kernel over halves, and its argument `x`.
fn halves(kernel: &mut impl Kernel, shape: &[usize]) -> Described<'static> {
    if !kernel.cparams().contains_key("x") {
        kernel.add_param("const half2 *", "x").unwrap();
    }
    let numbers = ["numel", "N"].map(|name| (name, Description::Int(1)));
    let mut args: Described<'_> = [("x", tensor(Element::F16, shape))].into();
    for (name, number) in numbers {
        if kernel.cparams().contains_key(name) {
            args.insert(name, number);
        }
    }
    args
}

#[test]
fn odd_numbers_of_f16_elements_are_rejected_by_the_check_and_padded_by_the_call() {
    let mut flat = CKernel1D::new("flat");
    for (shape, even) in [
        (vec![3, 5], false),
        (vec![3, 4], true),
        (vec![], false),
        (vec![4, 3], true),
    ] {
        let args = halves(&mut flat, &shape);
        assert_eq!(flat.check_half2(&args).is_ok(), even, "{shape:?}");
        flat.check(ONE, &args).unwrap();
    }
    let mut sequence = CKernel2D::new("sequence", false);
    for (shape, even) in [
        (vec![3, 5], false),
        (vec![3, 4], true),
        (vec![4, 3], false),
        (vec![5], false),
        (vec![4], true),
        (vec![0, 3], true),
    ] {
        let args = halves(&mut sequence, &shape);
        assert_eq!(sequence.check_half2(&args).is_ok(), even, "{shape:?}");
        sequence.check(ONE, &args).unwrap();
    }
    let mut free = CKernel::new("free");
    let args = halves(&mut free, &[3]);
    let error = free.check_half2(&args).unwrap_err();
    assert!(
        matches!(&error, AutoCudaError::OddHalf2 { shape, .. } if shape == "[3]"),
        "{error}"
    );
}

#[test]
fn a_kernel_over_sequences_takes_two_dimensions_at_most() {
    let mut kernel = CKernel2D::new("sequence", true);
    let args = halves(&mut kernel, &[2, 2, 2]);
    let error = kernel.check(ONE, &args).unwrap_err();
    assert!(matches!(error, AutoCudaError::Dimensions { .. }), "{error}");
}

/// Four steps of three neurons in `float`, or of six in `half2`.
fn forward_arguments(element: Element) -> Described<'static> {
    let n = if element == Element::F16 { 6 } else { 3 };
    [
        ("x_seq", tensor(element, &[4, n])),
        ("v_v_seq", tensor(element, &[5, n])),
        ("h_seq", tensor(element, &[4, n])),
        ("spike_seq", tensor(element, &[4, n])),
        ("v_th", Description::Float(1.0)),
        ("v_reset", Description::Float(0.0)),
        ("numel", Description::Int(12)),
        ("N", Description::Int(3)),
    ]
    .into()
}

#[test]
fn a_neurons_kernel_knows_how_long_its_tensors_are() {
    for (dtype, element) in [(Dtype::Float, Element::F32), (Dtype::Half2, Element::F16)] {
        let kernel = IFNodeFPTTKernel::new(true, dtype);
        kernel.check(ONE, &forward_arguments(element)).unwrap();
        let wrong = [
            ("numel", Description::Int(15)),
            ("N", Description::Int(4)),
            ("v_v_seq", tensor(element, &[4, 6])),
            ("h_seq", tensor(element, &[3, 6])),
        ];
        for (name, given) in wrong {
            let mut args = forward_arguments(element);
            args.insert(name, given);
            let error = kernel.check(ONE, &args).unwrap_err();
            assert!(
                matches!(error, AutoCudaError::Length { .. }),
                "{name}: {error}"
            );
        }
    }
    let kernel = IFNodeFPTTKernel::new(true, Dtype::Float);
    let mut args = forward_arguments(Element::F32);
    args.insert("v_v_seq", tensor(Element::F32, &[4, 3]));
    assert_eq!(
        kernel.check(ONE, &args).unwrap_err().to_string(),
        "kernel `IFNodeFPTTKernel_float_hard_reset`: `v_v_seq` has 12 elements; with the `numel`, \
         `N` and blocks of this call it needs 15"
    );
}

#[test]
fn odd_sequences_of_halves_have_the_lengths_that_they_are_padded_to() {
    let kernel = ParametricLIFNodeFPTTKernel::new(true, true, Dtype::Half2);
    let mut args = forward_arguments(Element::F16);
    for (name, steps) in [("x_seq", 4), ("v_v_seq", 5), ("h_seq", 4), ("spike_seq", 4)] {
        args.insert(name, tensor(Element::F16, &[steps, 5]));
    }
    args.insert("decay", tensor(Element::F16, &[1]));
    kernel.check(ONE, &args).unwrap();
}

#[test]
fn partial_sums_have_room_for_every_block() {
    let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x)).unwrap();
    let kernel = ParametricLIFNodeBPTTKernel::new(false, surrogate, false, true, Dtype::Float);
    let mut args: Described<'_> = [
        ("v_th", Description::Float(1.0)),
        ("numel", Description::Int(12)),
        ("N", Description::Int(3)),
        ("decay", tensor(Element::F32, &[1])),
        ("grad_v_init", tensor(Element::F32, &[3])),
        ("v_v_seq", tensor(Element::F32, &[5, 3])),
        ("grad_decay", tensor(Element::F32, &[2])),
    ]
    .into();
    for name in ["grad_spike_seq", "grad_v_seq", "h_seq", "grad_x_seq"] {
        args.insert(name, tensor(Element::F32, &[4, 3]));
    }
    kernel.check(Dims::from(2), &args).unwrap();
    let error = kernel.check(Dims::from(3), &args).unwrap_err();
    assert!(
        error.to_string().contains("`grad_decay` has 2 elements"),
        "{error}"
    );
}
