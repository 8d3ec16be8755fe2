//! The neurons of auto_cuda as layers, and what they make of a sequence.

use spikelet::auto_cuda::neuron_kernel::{
    IFNodeATGF, IFNodeBPTTKernel, IFNodeFPTTKernel, LIFNodeATGF, LIFNodeBPTTKernel,
    LIFNodeFPTTKernel, ParametricLIFNodeATGF, ParametricLIFNodeBPTTKernel,
    ParametricLIFNodeFPTTKernel,
};
use spikelet::auto_cuda::{Callable, Dtype, Kernel};
use spikelet::device;
use spikelet::neuron::Inputs;
use spikelet::prelude::*;
use spikelet::runtime::host;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The first GPU; tests that call this are ignored where there is none.
pub fn gpu() -> Arc<dyn Backend> {
    device::cuda(0).unwrap_or_else(|error| panic!("{error}"))
}

/// Compiles a kernel, which needs NVRTC.
pub fn compile(kernel: &dyn Kernel) {
    if let Err(error) = kernel.compile((9, 0)) {
        panic!("{error}\n{}", kernel.full_codes());
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    If,
    Lif { decay_input: bool },
    Plif { decay_input: bool },
}

impl Kind {
    pub const ALL: [Kind; 5] = [
        Kind::If,
        Kind::Lif { decay_input: true },
        Kind::Lif { decay_input: false },
        Kind::Plif { decay_input: true },
        Kind::Plif { decay_input: false },
    ];
}

/// 1/τ is 1/2 and so exact, however it is computed.
pub const TAU: f64 = 2.0;

/// A neuron of auto_cuda; sequences of f16 get kernels of `half2`.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub common: Common,
}

impl Node {
    /// The same neuron, built in.
    pub fn built_in(&self) -> Arc<dyn Neuron> {
        let common = self.common.clone();
        match self.kind {
            Kind::If => Arc::new(If { common }),
            Kind::Lif { decay_input } => Arc::new(Lif {
                tau: TAU,
                decay_input,
                common,
            }),
            Kind::Plif { decay_input } => Arc::new(Plif {
                init_tau: TAU,
                decay_input,
                granularity: Granularity::Layer,
                common,
            }),
        }
    }

    /// Spikes and potentials.
    pub fn sequences(&self, cx: &Context, x: &Var) -> (Var, Var) {
        let Common {
            v_threshold: v_th,
            v_reset,
            ..
        } = self.common;
        let (hard, detach) = (
            v_reset.is_some(),
            self.common.reset_grad == ResetGrad::Detach,
        );
        let dtype = match x.ty().dtype {
            DType::F16 => Dtype::Half2,
            _ => Dtype::Float,
        };
        let surrogate =
            spikelet::auto_cuda::surrogate(&*self.common.surrogate).expect("an expression of x");
        let step = &x.shape()[1..];
        let v = cx.state("v", step, self.common.v_start());
        let (spike_seq, v_seq) = match self.kind {
            Kind::If => apply!(
                IFNodeATGF,
                x,
                &v,
                v_th,
                v_reset,
                IFNodeFPTTKernel::new(hard, dtype),
                IFNodeBPTTKernel::new(surrogate, hard, detach, dtype),
            ),
            Kind::Lif { decay_input } => apply!(
                LIFNodeATGF,
                x,
                &v,
                v_th,
                v_reset,
                1.0 / TAU,
                LIFNodeFPTTKernel::new(decay_input, hard, dtype),
                LIFNodeBPTTKernel::new(decay_input, surrogate, hard, detach, dtype),
            ),
            Kind::Plif { decay_input } => apply!(
                ParametricLIFNodeATGF,
                x,
                &v,
                v_th,
                v_reset,
                &(cx.parameter("w", [], Init::Constant(-(TAU - 1.0).ln()))).map1(Expr::sigmoid),
                ParametricLIFNodeFPTTKernel::new(decay_input, hard, dtype),
                ParametricLIFNodeBPTTKernel::new(decay_input, surrogate, hard, detach, dtype),
            ),
        };
        let last = v_seq.slice(0, x.dim(0) - 1..x.dim(0)).reshape(step);
        cx.set_state(&v, &last.cast(v.ty().dtype));
        (spike_seq, v_seq)
    }
}

impl Module for Node {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let spike_seq = self.sequences(cx, x).0;
        cx.tracer().check()?;
        Ok(spike_seq)
    }
}

/// As [`spikelet::neuron::run`], which runs the neurons that are built in.
pub fn run(
    sequences: &dyn Fn(&Context, &Var) -> (Var, Var),
    inputs: &Inputs,
    backend: Arc<dyn Backend>,
) -> Result<BTreeMap<String, Tensor>> {
    let given = |tensor: &Option<Tensor>| tensor.clone().expect("all three are given");
    let [x, grad_s, grad_v] =
        [&inputs.x_seq, &inputs.grad_spike_seq, &inputs.grad_v_seq].map(given);
    let cx = Context::new(Mode::STREAM, DType::F32);
    let tracer = cx.tracer();
    let input = |name: &str, t: &Tensor| tracer.input(name, t.ty().dtype, t.shape.clone());
    let x_seq = input("x_seq", &x);
    let (spike_seq, v_seq) = sequences(&cx, &x_seq);
    tracer.check()?;
    let weighted = |name: &str, t: &Tensor, value: &Var| {
        (input(name, t).cast(DType::F32) * value.cast(DType::F32)).sum_all()
    };
    let loss =
        weighted("grad_spike_seq", &grad_s, &spike_seq) + weighted("grad_v_seq", &grad_v, &v_seq);
    let mut wrt = vec![("grad_x_seq", x_seq)];
    wrt.extend(tracer.find_input("v").map(|v| ("grad_v_init", v)));
    wrt.extend(tracer.find_input("w").map(|w| ("grad_w", w)));
    let vars: Vec<&Var> = wrt.iter().map(|(_, var)| var).collect();
    let grads = tracer.gradients(&loss, &vars);
    tracer.output("spike_seq", &spike_seq);
    tracer.output("v_seq", &v_seq);
    for ((name, _), grad) in wrt.iter().zip(&grads) {
        tracer.output(name, grad);
    }
    let mut store = VarStore::new(backend);
    store.initialize(&cx.traced(), DType::F32, 0)?;
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    let mut made = BTreeMap::new();
    // On a GPU the second run is recorded and replayed.
    for _ in 0..3 {
        for (name, tensor) in &inputs.states {
            store.insert(name, tensor)?;
        }
        program.set("x_seq", host(&x))?;
        program.set("grad_spike_seq", host(&grad_s))?;
        program.set("grad_v_seq", host(&grad_v))?;
        program.run()?;
        let names = ["spike_seq", "v_seq"]
            .into_iter()
            .chain(wrt.iter().map(|(name, _)| *name));
        let results = names.map(|name| Ok((name.to_string(), program.get(name)?)));
        let again = results.collect::<Result<BTreeMap<_, _>>>()?;
        assert!(
            made.is_empty() || made == again,
            "runs of one program differ"
        );
        made = again;
    }
    Ok(made)
}
