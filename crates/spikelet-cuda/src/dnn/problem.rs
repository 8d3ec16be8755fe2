//! A convolution as a cuDNN graph of one operation, the engines that compute it, and their plans.

use super::Convolution;
use super::api::{Api, ApiResult};
use super::descriptor::{Descriptor, Knob, Note};
use super::names::{ConvolutionMode, DataType, HeurMode, Kind, Name};
use super::session::Running;
use spikelet_graph::op::{ConvPart, MatmulPrecision};
use spikelet_graph::{DType, TensorType};
use std::ffi::c_void;
use std::sync::Arc;

/// The largest workspace of an engine in bytes, beyond copies of the tensors.
const WORKSPACE: usize = 1 << 30;
/// The most plans that are compared, of one engine and in total.
const MAX_VARIANTS: usize = 4;
const MAX_PLANS: usize = 12;
/// Number of plans from which cuDNN's slow fallback engines are not tried.
const ENOUGH_PLANS: usize = 4;
/// The most knobs of an engine.
const MAX_KNOBS: usize = 64;
/// The ids of x, w and y in a graph.
const IDS: [i64; 3] = [1, 2, 3];
/// Alignment of addresses in bytes.
const ALIGNMENT: i64 = 16;

/// An engine and the values of its knobs, from which a plan can be built again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) engine: i64,
    pub(super) knobs: Vec<(Knob, i64)>,
}

/// A convolution in the form that one engine executes.
pub(crate) struct Plan {
    descriptor: Arc<Descriptor>,
    part: ConvPart,
    pub(super) engine: i64,
    /// The choice that is cached on disk; `None` if cuDNN does not report the knobs' values.
    pub(super) choice: Option<Choice>,
    pub(super) workspace: usize,
    /// Whether the engine computes on tensor cores.
    pub(super) on_tensor_cores: bool,
}

/// A convolution as a cuDNN operation graph.
pub(super) struct Problem<'a> {
    handle: &'a Running<'a>,
    graph: Arc<Descriptor>,
    convolution: &'a Convolution,
}

fn data_type(dtype: DType) -> ApiResult<DataType> {
    match dtype {
        DType::F32 => Ok(DataType::CUDNN_DATA_FLOAT),
        DType::F16 => Ok(DataType::CUDNN_DATA_HALF),
        DType::BF16 => Ok(DataType::CUDNN_DATA_BFLOAT16),
        other => Err(format!("convolutions of {other} are not supported")),
    }
}

/// A value for each spatial axis; one axis is passed as two, of which the first has size one.
fn spatial(values: &[usize], first: i64) -> Vec<i64> {
    let values = values.iter().map(|v| *v as i64);
    match values.len() {
        1 => [first].into_iter().chain(values).collect(),
        _ => values.collect(),
    }
}

/// A tensor whose memory is in the order of `shape`: images, spatial axes, channels.
fn tensor(api: &'static Api, id: i64, dtype: DType, shape: &[usize]) -> ApiResult<Arc<Descriptor>> {
    let [images, axes @ .., channels] = shape else {
        return Err(format!("{shape:?} has no axes of images and channels"));
    };
    let (images, axes, channels) = (*images as i64, spatial(axes, 1), *channels as i64);
    let mut stride = channels;
    let mut strides = vec![0; axes.len()];
    for (to, size) in strides.iter_mut().zip(&axes).rev() {
        *to = stride;
        stride *= size;
    }
    Descriptor::new(api, Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)?
        .with(Name::CUDNN_ATTR_TENSOR_DATA_TYPE, &[data_type(dtype)?])?
        .with(
            Name::CUDNN_ATTR_TENSOR_DIMENSIONS,
            &[&[images, channels], &axes[..]].concat(),
        )?
        .with(
            Name::CUDNN_ATTR_TENSOR_STRIDES,
            &[&[stride, 1], &strides[..]].concat(),
        )?
        .with(Name::CUDNN_ATTR_TENSOR_UNIQUE_ID, &[id])?
        .with(Name::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[ALIGNMENT])?
        .finish()
}

/// The operation's kind and the names of its attributes: x, w, y, the convolution, and the factors
/// of the result and of its old content.
fn names(part: ConvPart) -> (Kind, [Name; 3], Name, [Name; 2]) {
    match part {
        ConvPart::Forward => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            ],
            Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
            ],
        ),
        ConvPart::Input => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            ],
            Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
            ],
        ),
        ConvPart::Weight => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            ],
            Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
            ],
        ),
    }
}

/// The operation; groups follow from the channels of x and w.
pub(super) fn operation(api: &'static Api, c: &Convolution) -> ApiResult<Arc<Descriptor>> {
    let axes = c.op.axes();
    let s = &c.sizes;
    let all = [&c.op.padding, &c.op.dilation, &s.x, &s.kernel, &s.y];
    if !(1..=3).contains(&axes) || all.iter().any(|sizes| sizes.len() != axes) {
        return Err(format!(
            "it has {axes} spatial axes; cuDNN supports one, two or three, with padding, dilation \
             and sizes for each"
        ));
    }
    let shapes = c.shapes();
    let convolution = Descriptor::new(api, Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
            &[axes.max(2) as i64],
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
            &[DataType::CUDNN_DATA_FLOAT],
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_CONV_MODE,
            &[ConvolutionMode::CUDNN_CROSS_CORRELATION],
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
            &spatial(&c.op.padding, 0),
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
            &spatial(&c.op.padding, 0),
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_DILATIONS,
            &spatial(&c.op.dilation, 1),
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
            &spatial(&c.op.stride, 1),
        )?
        .finish()?;
    let (kind, [x, w, y], descriptor, [alpha, beta]) = names(c.op.part);
    let [dx, dw, dy] = IDS;
    let typed = |result: ConvPart| {
        if c.op.part == result {
            c.result
        } else {
            c.operands
        }
    };
    Descriptor::new(api, kind)?
        .with_parts(x, &[tensor(api, dx, typed(ConvPart::Input), &shapes[0])?])?
        .with_parts(w, &[tensor(api, dw, typed(ConvPart::Weight), &shapes[1])?])?
        .with_parts(y, &[tensor(api, dy, typed(ConvPart::Forward), &shapes[2])?])?
        .with_parts(descriptor, &[convolution])?
        .with(alpha, &[1.0_f32])?
        .with(beta, &[0.0_f32])?
        .finish()
}

impl<'a> Problem<'a> {
    pub(super) fn new(handle: &'a Running<'a>, convolution: &'a Convolution) -> ApiResult<Self> {
        let api = handle.api();
        let graph = Descriptor::new(api, Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)?
            .with(Name::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, &[handle.raw()])?
            .with_parts(
                Name::CUDNN_ATTR_OPERATIONGRAPH_OPS,
                &[operation(api, convolution)?],
            )?
            .finish()?;
        Ok(Self {
            handle,
            graph,
            convolution,
        })
    }

    /// The plan of a cached choice.
    pub(super) fn plan(&self, choice: &Choice) -> ApiResult<Plan> {
        let api = self.handle.api();
        let engine = Descriptor::new(api, Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR)?
            .with_parts(
                Name::CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                std::slice::from_ref(&self.graph),
            )?
            .with(Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX, &[choice.engine])?
            .finish()?;
        let knobs: Vec<_> = choice
            .knobs
            .iter()
            .map(|(knob, value)| {
                Descriptor::new(api, Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)?
                    .with(Name::CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, &[*knob])?
                    .with(Name::CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, &[*value])?
                    .finish()
            })
            .collect::<ApiResult<_>>()?;
        let mut config = Descriptor::new(api, Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)?
            .with_parts(
                Name::CUDNN_ATTR_ENGINECFG_ENGINE,
                std::slice::from_ref(&engine),
            )?;
        if !knobs.is_empty() {
            config = config.with_parts(Name::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, &knobs)?;
        }
        let choice = Some(choice.clone());
        self.finish(config.finish()?, &engine, choice)
    }

    /// A plan of an engine with its knobs.
    fn finish(
        &self,
        config: Arc<Descriptor>,
        engine: &Descriptor,
        choice: Option<Choice>,
    ) -> ApiResult<Plan> {
        let plan = Descriptor::new(
            self.handle.api(),
            Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
        )?
        .with(Name::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, &[self.handle.raw()])?
        .with_parts(Name::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &[config])?
        .finish()?;
        let workspace: i64 = plan.value(Name::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)?;
        Ok(Plan {
            descriptor: plan,
            part: self.convolution.op.part,
            engine: engine.value(Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX)?,
            choice,
            workspace: usize::try_from(workspace).unwrap_or(0),
            on_tensor_cores: numerical_notes(engine)?.contains(&Note::TENSOR_CORE),
        })
    }

    /// The plans that may be used, in the order of cuDNN's estimate, the fastest first.
    ///
    /// # Errors
    /// If there is none; the error counts the engines that were offered, by the reason of rejection.
    pub(super) fn candidates(&self) -> ApiResult<Vec<Plan>> {
        let mut plans: Vec<Plan> = Vec::new();
        let (mut offered, mut inexact, mut large) = (0, 0, 0);
        let largest = self.largest_workspace();
        let mut last_error = None;
        for mode in [
            HeurMode::CUDNN_HEUR_MODE_A,
            HeurMode::CUDNN_HEUR_MODE_FALLBACK,
        ] {
            if plans.len() >= ENOUGH_PLANS {
                break;
            }
            let configs = self.configs(mode).unwrap_or_else(|problem| {
                last_error = Some(problem);
                Vec::new()
            });
            offered += configs.len();
            for config in configs {
                if plans.len() >= MAX_PLANS {
                    break;
                }
                match self.candidate(config, &plans) {
                    Ok(Some(plan)) if plan.workspace <= largest => plans.push(plan),
                    Ok(Some(_)) => large += 1,
                    Ok(None) => inexact += 1,
                    Err(problem) => last_error = Some(problem),
                }
            }
        }
        if plans.is_empty() {
            let last_error = last_error.map_or_else(String::new, |error| format!("; {error}"));
            let version = self.handle.api().version();
            return Err(format!(
                "no usable engine in version {}.{}.{}: {offered} offered, of which {inexact} are \
                 nondeterministic or round their operands, and {large} need a workspace over \
                 {largest} bytes{last_error}",
                version / 10_000,
                version % 10_000 / 100,
                version % 100,
            ));
        }
        Ok(plans)
    }

    /// The plan of an engine with its knobs; `None` if it may not be used or adds nothing to the
    /// others.
    fn candidate(&self, config: Arc<Descriptor>, others: &[Plan]) -> ApiResult<Option<Plan>> {
        let engine = engine_of(&config)?;
        let number = engine.value(Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX)?;
        let variants = others.iter().filter(|plan| plan.engine == number);
        if !self.is_exact(&engine)? || variants.count() >= MAX_VARIANTS {
            return Ok(None);
        }
        let knobs = knobs(&config).ok();
        let choice = knobs.map(|knobs| Choice {
            engine: number,
            knobs,
        });
        if choice.is_some() && others.iter().any(|plan| plan.choice == choice) {
            return Ok(None);
        }
        self.finish(config, &engine, choice).map(Some)
    }

    /// Engines of other layouts of memory copy the tensors.
    fn largest_workspace(&self) -> usize {
        let c = self.convolution;
        let bytes = |shape| TensorType::new(DType::F32, shape).bytes();
        let copies = c.operand_shapes().map(bytes);
        copies.into_iter().fold(WORKSPACE, usize::saturating_add)
    }

    fn configs(&self, mode: HeurMode) -> ApiResult<Vec<Arc<Descriptor>>> {
        let heuristic =
            Descriptor::new(self.handle.api(), Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)?
                .with_parts(
                    Name::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                    std::slice::from_ref(&self.graph),
                )?
                .with(Name::CUDNN_ATTR_ENGINEHEUR_MODE, &[mode])?
                .finish()?;
        let results = Name::CUDNN_ATTR_ENGINEHEUR_RESULTS;
        heuristic.parts(
            results,
            Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
            heuristic.count(results)?,
        )
    }

    /// Whether an engine is deterministic and as precise as requested.
    fn is_exact(&self, engine: &Descriptor) -> ApiResult<bool> {
        let notes = numerical_notes(engine)?;
        let has = |note| notes.contains(&note);
        // An engine for f32 that uses tensor cores rounds its operands to TF32.
        let exact = self.convolution.operands == DType::F32
            && self.convolution.op.precision != MatmulPrecision::Tf32;
        let differs = has(Note::NONDETERMINISTIC);
        let rounds = has(Note::DOWN_CONVERT_INPUTS) || exact && has(Note::TENSOR_CORE);
        Ok(!differs && !rounds)
    }
}

fn numerical_notes(engine: &Descriptor) -> ApiResult<Vec<Note>> {
    engine.values(Name::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 64)
}

fn engine_of(config: &Descriptor) -> ApiResult<Arc<Descriptor>> {
    config
        .parts(
            Name::CUDNN_ATTR_ENGINECFG_ENGINE,
            Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR,
            1,
        )?
        .pop()
        .ok_or_else(|| "a configuration has no engine".to_string())
}

/// The knobs of a configuration and their values. A query of their number alone returns 0.
fn knobs(config: &Descriptor) -> ApiResult<Vec<(Knob, i64)>> {
    let knobs = config.parts(
        Name::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
        Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
        MAX_KNOBS,
    )?;
    let read = |knob: &Arc<Descriptor>| {
        let kind = knob.value(Name::CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE)?;
        let value = knob.value(Name::CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)?;
        Ok((kind, value))
    };
    knobs.iter().map(read).collect()
}

impl Plan {
    /// Starts it on the handle's stream.
    ///
    /// # Safety
    /// The addresses must lead to the two operands, the result and the workspace, alive until it
    /// has run; they must be multiples of [`ALIGNMENT`], and the GPU's context current.
    pub(super) unsafe fn start(
        &self,
        handle: &Running<'_>,
        [a, b, result]: [u64; 3],
        workspace: u64,
    ) -> ApiResult<()> {
        let [x, w, y] = IDS;
        let order = match self.part {
            ConvPart::Forward => [x, w, y],
            ConvPart::Input => [y, w, x],
            ConvPart::Weight => [x, y, w],
        };
        let api = self.descriptor.api();
        let addresses = [a, b, result].map(|address| address as *mut c_void);
        let pack = Descriptor::new(api, Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)?
            .with(Name::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &order)?
            .with(Name::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, &addresses)?
            .with(
                Name::CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                &[workspace as *mut c_void],
            )?
            .finish()?;
        // SAFETY: the caller's promise; cuDNN reads the pack before it returns.
        let status = unsafe { (api.execute)(handle.raw(), self.descriptor.raw(), pack.raw()) };
        api.check(status, format_args!("cudnnBackendExecute"))
    }
}
