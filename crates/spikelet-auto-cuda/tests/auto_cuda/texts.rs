//! The texts of the neurons' kernels and of the statements, in full: a kernel's text is part of its
//! results, so a change of the writer must not change it.

use spikelet_auto_cuda::neuron_kernel::{
    IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeBPTTKernel, LIFNodeFPTTKernel,
    ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet_auto_cuda::{Dtype, Kernel, cfunction};

type Unary = fn(Option<&'static str>, &str, Dtype) -> String;
type Binary = fn(Option<&'static str>, &str, &str, Dtype) -> String;

fn surrogate(y: &str, x: &str, dtype: Dtype) -> String {
    cfunction::sigmoid_backward(y, x, 4.0, dtype)
}

/// The texts of a neuron's kernels for both number types, with a hard reset and with a detached soft one.
fn texts(
    forward: impl Fn(bool, Dtype) -> String,
    backward: impl Fn(bool, bool, Dtype) -> String,
) -> String {
    let mut all = String::new();
    for dtype in Dtype::ALL {
        for hard_reset in [true, false] {
            all.push_str(&forward(hard_reset, dtype));
            all.push_str(&backward(hard_reset, !hard_reset, dtype));
        }
    }
    all
}

#[test]
fn the_text_of_integrate_and_fire_stays() {
    insta::assert_snapshot!(texts(
        |hard, dtype| IFNodeFPTTKernel::new(hard, dtype).full_codes(),
        |hard, detach, dtype| IFNodeBPTTKernel::new(surrogate, hard, detach, dtype).full_codes(),
    ));
}

#[test]
fn the_text_of_leaky_integrate_and_fire_stays() {
    for decay_input in [true, false] {
        insta::assert_snapshot!(texts(
            |hard, dtype| LIFNodeFPTTKernel::new(decay_input, hard, dtype).full_codes(),
            |hard, detach, dtype| {
                LIFNodeBPTTKernel::new(decay_input, surrogate, hard, detach, dtype).full_codes()
            },
        ));
    }
}

#[test]
fn the_text_of_parametric_leaky_integrate_and_fire_stays() {
    for decay_input in [true, false] {
        insta::assert_snapshot!(texts(
            |hard, dtype| ParametricLIFNodeFPTTKernel::new(decay_input, hard, dtype).full_codes(),
            |hard, detach, dtype| {
                ParametricLIFNodeBPTTKernel::new(decay_input, surrogate, hard, detach, dtype)
                    .full_codes()
            },
        ));
    }
}

#[test]
fn the_text_of_statements_stays() {
    let mut all = String::new();
    let mut add = |text: String| {
        all.push_str(&text);
        all.push('\n');
    };
    for dtype in Dtype::ALL {
        for y in [Some("y"), None] {
            let binaries: [Binary; 9] = [
                cfunction::add,
                cfunction::sub,
                cfunction::mul,
                cfunction::div,
                cfunction::minimal,
                cfunction::maximum,
                cfunction::greater_equal,
                cfunction::greater_than,
                cfunction::power,
            ];
            for binary in binaries {
                add(binary(y, "a + b", "c[t]", dtype));
            }
            let unaries: [Unary; 4] = [
                cfunction::abs,
                cfunction::neg,
                cfunction::heaviside,
                cfunction::exp,
            ];
            for unary in unaries {
                add(unary(y, "a + b", dtype));
            }
            add(cfunction::constant(y, 0.1, dtype));
            add(cfunction::sigmoid(y, "a", 2.0, dtype));
            add(cfunction::if_else(y, "a", "b", "m + n", dtype));
            add(cfunction::if_else_else(y, "a", "b", "c", "m", "n", dtype));
            add(cfunction::select(y, "a", "b", "m + n", dtype));
            add(cfunction::select_select(y, "a", "b", "c", "m", "n", dtype));
        }
    }
    insta::assert_snapshot!(all);
}
