//! A convolution as cuDNN's graph of one operation, the engines that compute it, and their plans.

use super::api::{Api, ApiResult};
use super::descriptor::{Descriptor, Kind, Knob, Name, Note};
use super::session::Running;
use super::{Convolution, Part};
use cudarc::cudnn::sys;
use spikelet_graph::DType;
use std::ffi::c_void;
use std::sync::Arc;

use sys::cudnnBackendHeurMode_t as Mode;
use sys::cudnnBackendNumericalNote_t as Numerical;

/// Scratch memory that an engine may ask for.
const WORKSPACE: usize = 1 << 30;
/// Plans that are compared, of one engine and in all.
const VARIANTS: usize = 4;
const PLANS: usize = 12;
/// So many that the engines which compute anything, slowly, need not be tried.
const ENOUGH: usize = 4;
/// Knobs that an engine may have.
const KNOBS: usize = 64;
/// The numbers that x, w and y have in a graph.
const IDS: [i64; 3] = [1, 2, 3];
/// What addresses are multiples of.
const ALIGNMENT: i64 = 16;

/// An engine and how its knobs are turned: all that is needed to make a plan again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) engine: i64,
    pub(super) knobs: Vec<(Knob, i64)>,
}

/// A convolution in the form that one engine executes.
pub(crate) struct Plan {
    descriptor: Arc<Descriptor>,
    part: Part,
    engine: i64,
    /// What is kept on disk; `None` if cuDNN does not tell how the knobs are turned.
    pub(super) choice: Option<Choice>,
    pub(super) workspace: usize,
}

/// A convolution as a graph that engines can be asked about.
pub(super) struct Problem<'a> {
    handle: &'a Running<'a>,
    graph: Arc<Descriptor>,
    convolution: &'a Convolution,
}

fn number_type(dtype: DType) -> ApiResult<sys::cudnnDataType_t> {
    match dtype {
        DType::F32 => Ok(sys::cudnnDataType_t::CUDNN_DATA_FLOAT),
        DType::F16 => Ok(sys::cudnnDataType_t::CUDNN_DATA_HALF),
        DType::BF16 => Ok(sys::cudnnDataType_t::CUDNN_DATA_BFLOAT16),
        other => Err(format!("it has no convolution of {other}")),
    }
}

/// A value for each spatial axis; one axis is given as two, the first of which has one place.
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
        return Err(format!("{shape:?} is no tensor of images"));
    };
    let (images, axes, channels) = (*images as i64, spatial(axes, 1), *channels as i64);
    let mut stride = channels;
    let mut strides = vec![0; axes.len()];
    for (to, size) in strides.iter_mut().zip(&axes).rev() {
        *to = stride;
        stride *= size;
    }
    Descriptor::new(api, Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)?
        .with(Name::CUDNN_ATTR_TENSOR_DATA_TYPE, &[number_type(dtype)?])?
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
/// of the result and of what the result's memory held.
fn names(part: Part) -> (Kind, [Name; 3], Name, [Name; 2]) {
    match part {
        Part::Forward => (
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
        Part::Input => (
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
        Part::Weight => (
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
    let axes = c.stride.len();
    let fits = |shape: &[usize]| shape.len() == axes + 2;
    if ![&c.x, &c.w, &c.y].into_iter().all(|shape| fits(shape))
        || c.padding.len() != axes
        || c.dilation.len() != axes
        || !(1..=3).contains(&axes)
    {
        return Err("a convolution has one, two or three spatial axes".to_string());
    }
    let convolution = Descriptor::new(api, Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
            &[axes.max(2) as i64],
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
            &[sys::cudnnDataType_t::CUDNN_DATA_FLOAT],
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_CONV_MODE,
            &[sys::cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION],
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
            &spatial(&c.padding, 0),
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
            &spatial(&c.padding, 0),
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_DILATIONS,
            &spatial(&c.dilation, 1),
        )?
        .with(
            Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
            &spatial(&c.stride, 1),
        )?
        .finish()?;
    let (kind, [x, w, y], how, [factor, kept]) = names(c.part);
    let [dx, dw, dy] = IDS;
    let typed = |result: Part| {
        if c.part == result {
            c.result
        } else {
            c.operands
        }
    };
    Descriptor::new(api, kind)?
        .with_parts(x, &[tensor(api, dx, typed(Part::Input), &c.x)?])?
        .with_parts(w, &[tensor(api, dw, typed(Part::Weight), &c.w)?])?
        .with_parts(y, &[tensor(api, dy, typed(Part::Forward), &c.y)?])?
        .with_parts(how, &[convolution])?
        .with(factor, &[1.0_f32])?
        .with(kept, &[0.0_f32])?
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

    /// The plan of a choice that was made before.
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
            .with_parts(Name::CUDNN_ATTR_ENGINECFG_ENGINE, &[engine])?;
        if !knobs.is_empty() {
            config = config.with_parts(Name::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, &knobs)?;
        }
        self.finish(config.finish()?, choice.engine, Some(choice.clone()))
    }

    /// A plan of an engine with its knobs.
    fn finish(
        &self,
        config: Arc<Descriptor>,
        engine: i64,
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
            part: self.convolution.part,
            engine,
            choice,
            workspace: usize::try_from(workspace).unwrap_or(0),
        })
    }

    /// The plans that may be used, the one that cuDNN holds to be the fastest first.
    ///
    /// # Errors
    /// When there is none; the error says what became of those that were offered.
    pub(super) fn candidates(&self) -> ApiResult<Vec<Plan>> {
        let mut plans: Vec<Plan> = Vec::new();
        let (mut offered, mut unfit, mut large) = (0, 0, 0);
        let mut refusal = None;
        for mode in [Mode::CUDNN_HEUR_MODE_A, Mode::CUDNN_HEUR_MODE_FALLBACK] {
            if plans.len() >= ENOUGH {
                break;
            }
            let configs = self.configs(mode).unwrap_or_else(|problem| {
                refusal = Some(problem);
                Vec::new()
            });
            offered += configs.len();
            for config in configs {
                if plans.len() >= PLANS {
                    break;
                }
                match self.candidate(config, &plans) {
                    Ok(Some(plan)) if plan.workspace <= WORKSPACE => plans.push(plan),
                    Ok(Some(_)) => large += 1,
                    Ok(None) => unfit += 1,
                    Err(problem) => refusal = Some(problem),
                }
            }
        }
        if plans.is_empty() {
            let refusal = refusal.map_or_else(String::new, |problem| format!("; {problem}"));
            let version = self.handle.api().version;
            return Err(format!(
                "no engine of version {}.{}.{} computes it: {offered} are offered, of which \
                 {unfit} round otherwise or differ from run to run and {large} need over 1 GiB \
                 of scratch memory{refusal}",
                version / 10_000,
                version % 10_000 / 100,
                version % 100,
            ));
        }
        Ok(plans)
    }

    /// The plan of an engine with its knobs; `None` if it may not be used or is not worth
    /// measuring beside the others.
    fn candidate(&self, config: Arc<Descriptor>, others: &[Plan]) -> ApiResult<Option<Plan>> {
        let engine = engine_of(&config)?;
        let number = engine.value(Name::CUDNN_ATTR_ENGINE_GLOBAL_INDEX)?;
        let variants = others.iter().filter(|plan| plan.engine == number);
        if !self.is_fit(&engine)? || variants.count() >= VARIANTS {
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
        self.finish(config, number, choice).map(Some)
    }

    fn configs(&self, mode: Mode) -> ApiResult<Vec<Arc<Descriptor>>> {
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

    /// Whether an engine's results are the same in each run and as exact as was asked for.
    fn is_fit(&self, engine: &Descriptor) -> ApiResult<bool> {
        let notes: Vec<Note> = engine.values(Name::CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 64)?;
        let has = |note: Numerical| notes.contains(&note.into());
        // An engine for f32 that uses tensor cores rounds its operands to TF32.
        let exact = self.convolution.operands == DType::F32 && !self.convolution.tf32;
        let differs = has(Numerical::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
        let rounds = has(Numerical::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)
            || exact && has(Numerical::CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
        Ok(!differs && !rounds)
    }
}

fn engine_of(config: &Descriptor) -> ApiResult<Arc<Descriptor>> {
    config
        .parts(
            Name::CUDNN_ATTR_ENGINECFG_ENGINE,
            Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR,
            1,
        )?
        .pop()
        .ok_or_else(|| "a configuration names no engine".to_string())
}

/// How the knobs of a configuration are turned. Asked for their number alone, cuDNN says 0.
fn knobs(config: &Descriptor) -> ApiResult<Vec<(Knob, i64)>> {
    let knobs = config.parts(
        Name::CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
        Kind::CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
        KNOBS,
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
            Part::Forward => [x, w, y],
            Part::Input => [y, w, x],
            Part::Weight => [x, y, w],
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
