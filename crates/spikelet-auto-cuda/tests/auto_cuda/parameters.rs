//! Parameters, attributes and the names of kernels.

use proptest::prelude::*;
use spikelet_auto_cuda::neuron_kernel::{
    IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeBPTTKernel, LIFNodeFPTTKernel,
    ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet_auto_cuda::{
    AutoCudaError, CKernel, CKernel1D, CKernel2D, Dtype, ExprSurrogate, Kernel, cfunction,
};

fn rational() -> ExprSurrogate {
    ExprSurrogate::new(|x| 1.0 / (1.0 + x * x)).unwrap()
}

#[test]
fn reserved_and_repeated_names_are_rejected() {
    let mut kernel = CKernel2D::new("k", false);
    assert_eq!(kernel.reserved_cnames(), ["index", "dt", "t"]);
    for name in ["index", "dt", "t"] {
        let error = kernel.add_param("float *", name).unwrap_err();
        assert!(
            matches!(&error, AutoCudaError::ReservedName { cname, reserved, .. }
                if cname == name && reserved == "index, dt, t"),
            "{error}"
        );
    }
    let error = kernel.add_param("float *", "N").unwrap_err();
    assert!(
        matches!(&error, AutoCudaError::RepeatedName { cname, known, given, .. }
            if cname == "N" && known == "const int &" && given == "float *"),
        "{error}"
    );
    assert_eq!(CKernel1D::new("k").reserved_cnames(), ["index"]);
    assert!(CKernel::new("k").reserved_cnames().is_empty());
}

#[test]
fn what_declares_no_parameter_is_refused() {
    let mut kernel = CKernel::new("k");
    for (ctype, cname) in [
        ("float *", "a b"),
        ("float *", ""),
        ("float *", "1x"),
        (" ", "x"),
    ] {
        let error = kernel.add_param(ctype, cname).unwrap_err();
        assert!(
            matches!(error, AutoCudaError::Declaration { .. }),
            "{error}"
        );
    }
    assert!(kernel.cparams().is_empty());
}

#[test]
fn variables_of_a_neurons_kernel_are_reserved() {
    let mut kernel = IFNodeBPTTKernel::new(rational(), true, false, Dtype::Float);
    for name in ["grad_h", "over_th", "temp_var", "t"] {
        assert!(kernel.add_param("float &", name).is_err(), "{name}");
    }
    assert!(kernel.add_param("float &", "other").is_ok());
}

#[test]
fn kernels_are_named_after_what_they_are_made_for() {
    use Dtype::{Float, Half2};
    let s = rational;
    for (name, expected) in [
        (
            IFNodeFPTTKernel::new(true, Float).kernel_name(),
            "IFNodeFPTTKernel_float_hard_reset",
        ),
        (
            IFNodeBPTTKernel::new(s(), true, false, Float).kernel_name(),
            "IFNodeBPTTKernel_float_hard_reset_nodetach_reset",
        ),
        (
            LIFNodeFPTTKernel::new(true, false, Half2).kernel_name(),
            "LIFNodeFPTTKernel_half2_soft_reset",
        ),
        (
            LIFNodeBPTTKernel::new(true, s(), false, true, Half2).kernel_name(),
            "LIFNodeBPTTKernel_half2_soft_reset_detach_reset",
        ),
        (
            ParametricLIFNodeFPTTKernel::new(false, true, Float).kernel_name(),
            "ParametricLIFNodeFPTTKernel_float_hard_reset",
        ),
        (
            ParametricLIFNodeBPTTKernel::new(false, s(), true, true, Float).kernel_name(),
            "ParametricLIFNodeBPTTKernel_float_hard_reset_detach_reset",
        ),
    ] {
        assert_eq!(name, expected);
    }
}

#[test]
fn only_a_hard_reset_needs_v_reset() {
    for hard_reset in [true, false] {
        let forward = IFNodeFPTTKernel::new(hard_reset, Dtype::Float);
        let backward = IFNodeBPTTKernel::new(rational(), hard_reset, false, Dtype::Float);
        for kernel in [&forward as &dyn Kernel, &backward] {
            assert_eq!(kernel.cparams().contains_key("v_reset"), hard_reset);
            assert_eq!(kernel.full_codes().contains("v_reset"), hard_reset);
        }
    }
}

#[test]
fn a_detached_reset_passes_no_gradient_through_the_spike() {
    let core = |hard, detach| IFNodeBPTTKernel::new(rational(), hard, detach, Dtype::Float).core();
    assert!(core(true, false).contains("v_reset - h_seq[t]"));
    assert!(!core(true, true).contains("v_reset"));
    assert!(core(false, false).contains("v_th * grad_s_to_h"));
    assert_eq!(core(false, true).matches("v_th").count(), 1);
}

#[test]
fn attributes_are_compared() {
    let kernel = LIFNodeBPTTKernel::new(true, rational(), true, false, Dtype::Half2);
    let same = |attributes: &[_]| kernel.check_attributes(attributes).unwrap();
    assert!(same(&[
        ("decay_input", true.into()),
        ("hard_reset", true.into()),
        ("detach_reset", false.into()),
        ("dtype", Dtype::Half2.into()),
        ("dtype", "half2".into()),
        ("reverse", true.into()),
    ]));
    let printed = spikelet_auto_cuda::SurrogateCodes::cuda_codes;
    let text = printed(&rational(), "y", "x", Dtype::Half2);
    assert!(same(&[("surrogate_function", text.into())]));
    let other = cfunction::atan_backward("y", "x", 2.0, Dtype::Half2);
    assert!(!same(&[("surrogate_function", other.into())]));
    assert!(!same(&[
        ("dtype", "half2".into()),
        ("decay_input", false.into())
    ]));
    let error = kernel
        .check_attributes(&[("tau", true.into())])
        .unwrap_err();
    assert!(error.to_string().contains("no attribute `tau`"), "{error}");
    assert!(
        CKernel1D::new("k")
            .check_attributes(&[("reverse", false.into())])
            .is_err()
    );
}

#[test]
fn the_library_stands_before_the_kernel_only_where_it_is_called() {
    let mut kernel = CKernel1D::new("k");
    kernel.add_param("float *", "y").unwrap();
    kernel.set_core("y[index] = 1.0f;");
    assert!(!kernel.full_codes().contains("spk_"));
    kernel.set_core("y[index] = twice(spk_tanh(y[index]));");
    kernel.set_preamble("__device__ float twice(float x) { return 2.0f * x; }");
    let text = kernel.full_codes();
    let places = [
        "#include",
        "float spk_exp(float x)",
        "float spk_tanh(float x)",
        "float twice(",
        "extern",
    ];
    let at = places.map(|part| {
        text.find(part)
            .unwrap_or_else(|| panic!("no `{part}` in {text}"))
    });
    assert!(at.is_sorted(), "{text}");
}

#[test]
fn a_scalar_type_is_parsed_from_its_name() {
    assert_eq!("float".parse::<Dtype>().unwrap(), Dtype::Float);
    let error = "half".parse::<Dtype>().unwrap_err();
    assert!(matches!(error, AutoCudaError::Dtype { given } if given == "half"));
}

proptest! {
    /// The text and the call read the same map.
    #[test]
    fn parameters_stand_in_the_order_of_their_bytes(names in prop::collection::btree_set("[A-Za-z_][A-Za-z0-9_]{0,6}", 1..12), seed in any::<prop::sample::Index>()) {
        let mut kernel = CKernel::new("k");
        let mut names: Vec<String> = names.into_iter().collect();
        let middle = seed.index(names.len());
        names.rotate_left(middle);
        for name in &names {
            kernel.add_param("const float *", name).unwrap();
        }
        let text = kernel.declaration();
        let printed: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("const float * "))
            .map(|name| name.trim_end_matches(','))
            .collect();
        names.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        prop_assert_eq!(&printed, &names);
        let mapped: Vec<&String> = kernel.cparams().keys().collect();
        prop_assert_eq!(mapped, names.iter().collect::<Vec<_>>());
    }
}
