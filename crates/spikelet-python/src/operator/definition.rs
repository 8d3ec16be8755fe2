//! Definitions of layers, from their text.

use super::trace;
use serde_json::{Value, json};
use spikelet_core::{Error, Result};
use spikelet_nn::module::{Mode, Module};
use spikelet_nn::network::{LayerKind, Layers, layer_kinds};
use spikelet_nn::neuron::{self, Granularity, Neuron};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A layer that can be called.
pub(crate) struct Definition {
    /// A number for caches, unique in the process.
    pub(crate) id: u32,
    /// Its name in messages.
    name: String,
    kind: Kind,
    /// The shapes of a step, if they do not follow from that of the input.
    shapes: Option<Shapes>,
    /// Whether every element is computed independently of its position, so that any order of the elements of a step
    /// gives the same results.
    pub(crate) elementwise: bool,
}

enum Kind {
    Neuron(Arc<dyn Neuron>),
    /// Another layer of the library, and how it is run.
    Layer(Arc<dyn Module>, Mode),
}

/// The shapes of a time step of one sample.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) input: Vec<usize>,
    pub(crate) output: Vec<usize>,
    /// One for each state.
    pub(crate) states: Vec<Vec<usize>>,
}

/// What the names of the tensors of a layer begin with: it is the first of a list.
const PREFIX: &str = "0.";

/// Definitions by their text. They live as long as the process: programs have a few.
fn known() -> &'static RwLock<HashMap<Box<str>, Arc<Definition>>> {
    static KNOWN: OnceLock<RwLock<HashMap<Box<str>, Arc<Definition>>>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

impl Definition {
    /// The definition with this text, one of two tables: a neuron with its `name` and constants; or `layer`, a layer as in the
    /// files of networks, with `input`, the shape of a step, and `training`, true by default.
    ///
    /// # Errors
    /// When the text is not a specification.
    pub(crate) fn find(text: &str) -> Result<Arc<Self>> {
        if let Some(found) = known()
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(text)
        {
            return Ok(found.clone());
        }
        let made = Arc::new(Self::read(text)?);
        let mut all = known().write().unwrap_or_else(PoisonError::into_inner);
        Ok(all.entry(text.into()).or_insert(made).clone())
    }

    fn read(text: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let spec: Value = serde_json::from_str(text).map_err(|error| {
            Error::invalid(
                "the definition of a layer",
                format!("`{text}` is not JSON: {error}"),
                r#"pass an object such as {"name": "lif", "tau": 2.0}"#,
            )
        })?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Some(layer) = spec.get("layer") {
            return Self::of_layer(id, layer, &spec);
        }
        let neuron = neuron::from_spec(&spec).map_err(Error::other)?;
        let common = neuron.common();
        if common.draws() {
            return Err(Error::invalid(
                "the surrogate of a neuron",
                "it draws random numbers, which this layer does not do",
                "use another surrogate, or run the network on spikelet's engine",
            ));
        }
        let whole_layer = |granularity| granularity == Granularity::Layer;
        let params = neuron::trainables(&*neuron).map_err(Error::other)?;
        let elementwise =
            !neuron::is_parallel(&*neuron) && params.iter().all(|p| whole_layer(p.granularity));
        Ok(Self {
            id,
            name: neuron.name().to_string(),
            elementwise,
            kind: Kind::Neuron(neuron),
            shapes: None,
        })
    }

    /// The definition of a layer as in the files of networks.
    fn of_layer(id: u32, layer: &Value, spec: &Value) -> Result<Self> {
        let list = json!({
            "version": Layers::VERSION, "name": "layer", "input": spec.get("input"), "layers": [layer],
        });
        let layers = Layers::from_json(&list).map_err(Error::other)?;
        let kinds = layer_kinds();
        let is_this = |kind: &&str| layer.get(*kind).is_some() || layer == *kind;
        let name = kinds.iter().map(LayerKind::name).find(is_this);
        let mode = match spec.get("training").and_then(Value::as_bool) {
            Some(false) => Mode::EVAL,
            _ => Mode::TRAIN,
        };
        let mut made = Self {
            id,
            name: name.unwrap_or("layer").to_string(),
            kind: Kind::Layer(layers.module()?, mode),
            shapes: None,
            elementwise: false,
        };
        made.shapes = Some(made.traced_shapes(&layers.input)?);
        Ok(made)
    }

    /// The shapes of a step for inputs of a shape.
    fn traced_shapes(&self, input: &[usize]) -> Result<Shapes> {
        const STEPS: usize = 3;
        const BATCH: usize = 2;
        let problem = |what: String| {
            let help = "use a layer that keeps the time steps and the samples";
            Error::invalid(format!("the layer `{}`", self.name), what, help)
        };
        let traced = trace::signature(self, &[&[STEPS, BATCH], input].concat())?;
        let [STEPS, BATCH, output @ ..] = &traced.output[..] else {
            let shape = &traced.output;
            return Err(problem(format!(
                "for {STEPS} steps of {BATCH} samples its output has shape {shape:?}"
            )));
        };
        let of_state = |state: &trace::Tensor| match &state.shape[..] {
            [BATCH, rest @ ..] | [1, BATCH, rest @ ..] => Ok(rest.to_vec()),
            shape => Err(problem(format!(
                "for {BATCH} samples its state `{}` has shape {shape:?}",
                state.name
            ))),
        };
        Ok(Shapes {
            input: input.to_vec(),
            output: output.to_vec(),
            states: traced.states.iter().map(of_state).collect::<Result<_>>()?,
        })
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The neuron, if it is one.
    pub(crate) fn neuron(&self) -> Option<&dyn Neuron> {
        match &self.kind {
            Kind::Neuron(neuron) => Some(&**neuron),
            Kind::Layer(..) => None,
        }
    }

    /// The shapes of a step, if they do not follow from that of the input.
    pub(crate) fn shapes(&self) -> Option<&Shapes> {
        self.shapes.as_ref()
    }

    /// How the layer is run. Neurons are the same in training and evaluation.
    pub(crate) fn mode(&self) -> Mode {
        match self.kind {
            Kind::Neuron(_) => Mode::TRAIN,
            Kind::Layer(_, mode) => mode,
        }
    }

    /// The name of a state or a parameter as the layer alone has it.
    pub(crate) fn own_name<'a>(&self, name: &'a str) -> &'a str {
        match self.kind {
            Kind::Layer(..) => name.strip_prefix(PREFIX).unwrap_or(name),
            _ => name,
        }
    }

    /// The layer.
    pub(crate) fn module(&self) -> Box<dyn Module> {
        match &self.kind {
            Kind::Neuron(neuron) => Box::new(neuron.clone()),
            Kind::Layer(layer, _) => Box::new(layer.clone()),
        }
    }
}
