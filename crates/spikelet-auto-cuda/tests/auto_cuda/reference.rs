//! Every text that the two documents print, collected in `reference/`.
//!
//! The documents sort parameters in some places and not in others, so they are sorted before texts
//! are compared; runs of white space count as one space.

use spikelet_auto_cuda::neuron_kernel::{
    IFNodeBPTTKernel, IFNodeFPTTKernel, NeuronBPTTKernel, NeuronFPTTKernel,
};
use spikelet_auto_cuda::{
    CKernel, CKernel1D, CKernel2D, CodeBlock, CodeTyper, Dtype, Kernel, SurrogateCodes, cfunction,
};

/// One space for each run of white space, and parameters in order.
fn normal(text: &str) -> String {
    let collapsed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((before, rest)) = collapsed.split_once("( ") else {
        return collapsed;
    };
    let Some((params, after)) = rest.split_once(" )") else {
        return collapsed;
    };
    if !before.contains("__global__") {
        return collapsed;
    }
    let mut params: Vec<&str> = params.split(", ").collect();
    params.sort_by_key(|param| param.rsplit(' ').next());
    format!("{before}( {} ){after}", params.join(", "))
}

macro_rules! reference {
    ($name:literal) => {
        include_str!(concat!("reference/", $name))
    };
}

#[track_caller]
fn same(given: &str, expected: &str) {
    assert_eq!(normal(given), normal(expected));
}

fn sigmoid(y: &str, x: &str, dtype: Dtype) -> String {
    cfunction::sigmoid_backward(y, x, 4.0, dtype)
}

fn heaviside() -> CKernel1D {
    let mut kernel = CKernel1D::new("heaviside");
    kernel.add_param("const float *", "x").unwrap();
    kernel.add_param("float *", "y").unwrap();
    kernel.set_core(
        "
        y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;
        ",
    );
    kernel
}

fn cumsum() -> CKernel2D {
    let mut kernel = CKernel2D::new("cumsum", false);
    kernel.add_param("const float *", "x").unwrap();
    kernel.add_param("float *", "y").unwrap();
    kernel.set_core(
        "
        if (t - dt < 0)
        {
            y[t] = x[t];
        }
        else
        {
            y[t] = x[t] + y[t - dt];
        }
        ",
    );
    kernel
}

#[test]
fn empty_kernels_are_printed_as_in_the_reference() {
    same(
        &CKernel::new("example_ck").full_codes(),
        reference!("empty.cu"),
    );
    same(
        &CKernel1D::new("temp_kernel").full_codes(),
        reference!("empty_1d.cu"),
    );
    same(
        &CKernel2D::new("temp_kernel", false).full_codes(),
        reference!("empty_2d.cu"),
    );
}

#[test]
fn sections_are_marked_as_in_the_reference() {
    same(
        &CKernel::new("example_ck").full_codes_marked(),
        reference!("empty_marked.cu"),
    );
    same(
        &CKernel1D::new("temp_kernel").full_codes_marked(),
        reference!("empty_1d_marked.cu"),
    );
    same(
        &CKernel2D::new("temp_kernel", false).full_codes_marked(),
        reference!("empty_2d_marked.cu"),
    );
}

/// The document prints declarations with `numel`, which only a 1D kernel has.
#[test]
fn parameters_are_added_as_in_the_reference() {
    let mut kernel = CKernel1D::new("example_ck");
    same(&kernel.declaration(), reference!("declaration_before.cu"));
    kernel.add_param("const float*", "x").unwrap();
    kernel.add_param("const float*", "y").unwrap();
    kernel.add_param("float", "z").unwrap();
    same(&kernel.declaration(), reference!("declaration_after.cu"));
}

#[test]
fn heaviside_and_cumsum_are_printed_as_in_the_reference() {
    same(&heaviside().full_codes(), reference!("heaviside.cu"));
    same(&cumsum().full_codes(), reference!("cumsum.cu"));
    insta::assert_snapshot!(cumsum().full_codes(), @r#"
    #include <cuda_fp16.h>
    extern "C" __global__
    void cumsum(
        const int & N,
        const int & numel,
        const float * x,
        float * y
    )
    {
        const int index = blockIdx.x * blockDim.x + threadIdx.x;
        if (index < N)
        {
            const int dt = N;
            for(int t = index; t < numel; t += dt)
            {
                if (t - dt < 0)
                {
                    y[t] = x[t];
                }
                else
                {
                    y[t] = x[t] + y[t - dt];
                }
            }
        }
    }
    "#);
}

#[test]
fn head_core_and_tail_make_up_the_text() {
    let kernel = cumsum();
    let parts = [
        kernel.declaration(),
        kernel.head(),
        kernel.core(),
        kernel.tail(),
    ];
    same(&parts.join("\n"), &kernel.full_codes());
}

#[test]
fn a_reversed_kernel_begins_with_the_last_step() {
    let mut kernel = CKernel2D::new("back", true);
    kernel.set_pre_core("float sum = 0.0f;");
    kernel.set_core("sum += 1.0f;");
    kernel.set_post_core("float all = sum;");
    insta::assert_snapshot!(kernel.full_codes_marked(), @r#"
    //------declaration start------
    #include <cuda_fp16.h>
    extern "C" __global__
    void back(
        const int & N,
        const int & numel
    )
    //------declaration end--------
    //------head start------
    {
        const int index = blockIdx.x * blockDim.x + threadIdx.x;
        if (index < N)
        {
            const int dt = N;
    //------pre_core start------
            float sum = 0.0f;
    //------pre_core end--------
            for(int t = numel - N + index; t >= 0; t -= dt)
            {
    //------head end--------
    //------core start------
                sum += 1.0f;
    //------core end--------
    //------tail start------
            }
    //------post_core start------
            float all = sum;
    //------post_core end--------
        }
    }
    //------tail end--------
    "#);
}

#[test]
fn statements_are_typed_as_in_the_reference() {
    let line = "// ------------------\n";
    let code0 = cfunction::if_else("z", "x", "y", "mask", Dtype::Float);
    let code1 = cfunction::sigmoid_backward("y", "x", 2.0, Dtype::Float);
    let mut typer = CodeTyper::new(4);
    typer.append(&code0);
    typer.append(&code1);
    let text = format!(
        "// Without CodeTyper:\n{line}{code0}{code1}\n{line}// With CodeTyper:\n{line}{}{line}",
        typer.codes()
    );
    same(&text, reference!("code_typer.txt"));
    insta::assert_snapshot!(typer.codes(), @r"
    z = x * mask + y * (1.0f - mask);
    const float sigmoid_backward__sigmoid_ax = 1.0f / (1.0f + expf(- (2.0f) * x));
    y = (1.0f - sigmoid_backward__sigmoid_ax) * sigmoid_backward__sigmoid_ax * (2.0f);
    ");
}

#[test]
fn a_block_is_typed_as_in_the_reference() {
    let mut typer = CodeTyper::new(4);
    {
        let mut block = CodeBlock::new(&mut typer);
        block.append("// swap x and y");
        block.append("float temp_var = x;");
        block.append("x = y;");
        block.append("y = temp_var;");
    }
    same(typer.codes(), reference!("code_block.cu"));
}

#[test]
fn the_sigmoid_surrogate_is_printed_as_in_the_tutorial() {
    let text = sigmoid.cuda_codes("grad_s", "over_th", Dtype::Float);
    same(&text, reference!("sigmoid_codes.cu"));
}

/// `key="…", value="…"` lines in any order.
fn listed(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split("key=").map(str::trim).collect();
    lines.sort_unstable();
    lines
}

#[track_caller]
fn same_params(kernel: &impl Kernel, expected: &str) {
    let own: String = kernel
        .cparams()
        .iter()
        .map(|(key, value)| format!("key=\"{key}\", value=\"{value}\" "))
        .collect();
    assert_eq!(listed(&own), listed(expected));
}

#[test]
fn forward_kernels_are_printed_as_in_the_tutorial() {
    let base = NeuronFPTTKernel::new(true, Dtype::Float);
    same_params(&base, reference!("neuron_fptt_params.txt"));
    same(&base.full_codes(), reference!("neuron_fptt_float.cu"));
    same(
        &IFNodeFPTTKernel::new(true, Dtype::Float).full_codes(),
        reference!("if_fptt_float.cu"),
    );
    let half = IFNodeFPTTKernel::new(true, Dtype::Half2);
    same(&half.full_codes(), reference!("if_fptt_half2.cu"));
    insta::assert_snapshot!(half.core(), @r"
    h_seq[t] = __hadd2(x_seq[t], v_v_seq[t]);
    spike_seq[t] = __hgeu2(__hsub2(h_seq[t], v_th), __float2half2_rn(0.0f));
    v_v_seq[t + dt] = __hfma2(h_seq[t], __hsub2(__float2half2_rn(1.0f), spike_seq[t]), __hmul2(v_reset, spike_seq[t]));
    ");
}

#[test]
fn backward_kernels_are_printed_as_in_the_tutorial() {
    let base = NeuronBPTTKernel::new(sigmoid, true, false, Dtype::Float);
    same_params(&base, reference!("neuron_bptt_params.txt"));
    same(&base.full_codes(), reference!("neuron_bptt_float.cu"));
    let own = IFNodeBPTTKernel::new(sigmoid, true, false, Dtype::Float);
    same(&own.full_codes(), reference!("if_bptt_float.cu"));
    insta::assert_snapshot!(own.core(), @r"
    const float over_th = h_seq[t] - v_th;
    const float spike_seq_t = over_th >= 0.0f ? 1.0f: 0.0f;
    const float sigmoid_backward__sigmoid_ax = 1.0f / (1.0f + expf(- (4.0f) * over_th));
    const float grad_s_to_h = (1.0f - sigmoid_backward__sigmoid_ax) * sigmoid_backward__sigmoid_ax * (4.0f);
    float grad_v_to_h = (1.0f) - spike_seq_t;
    {
        float temp_var = v_reset - h_seq[t];
        temp_var = temp_var * grad_s_to_h;
        grad_v_to_h = temp_var + grad_v_to_h;
    }
    const float grad_h_next_to_v = 1.0f;
    grad_h = grad_h * grad_h_next_to_v;
    grad_h = grad_v_seq[t] + grad_h;
    grad_h = grad_h * grad_v_to_h;
    {
        float temp_var = grad_spike_seq[t] * grad_s_to_h;
        grad_h = grad_h + temp_var;
    }
    const float grad_h_to_x = 1.0f;
    grad_x_seq[t] = grad_h * grad_h_to_x;
    ");
}

/// Takes whatever is logged.
struct Everything;

impl tracing::Subscriber for Everything {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::Id {
        tracing::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &tracing::Id) {}
    fn exit(&self, _: &tracing::Id) {}
}

#[test]
fn sections_are_marked_where_debug_messages_are_logged() {
    let kernel = heaviside();
    assert!(!kernel.full_codes().contains("------"));
    tracing::subscriber::with_default(Everything, || {
        assert_eq!(kernel.full_codes(), kernel.full_codes_marked());
    });
}
