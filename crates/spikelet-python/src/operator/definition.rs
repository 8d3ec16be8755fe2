//! Definitions of layers, from their text.

use serde_json::Value;
use spikelet_core::{Error, Result};
use spikelet_nn::layer::Recurrent;
use spikelet_nn::module::Module;
use spikelet_nn::neuron::{self, Granularity, Neuron};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A layer that can be called: a neuron, or a neuron with recurrent connections.
#[derive(Debug)]
pub(crate) struct Definition {
    /// A number for caches, unique in the process.
    pub(crate) id: u32,
    pub(crate) neuron: Arc<dyn Neuron>,
    /// The number of features of a recurrent layer.
    recurrent: Option<usize>,
    /// Whether every element is computed independently of its position, so that any order of the elements of a step
    /// gives the same results.
    pub(crate) elementwise: bool,
}

/// Definitions by their text. They live as long as the process: programs have a few.
fn known() -> &'static RwLock<HashMap<Box<str>, Arc<Definition>>> {
    static KNOWN: OnceLock<RwLock<HashMap<Box<str>, Arc<Definition>>>> = OnceLock::new();
    KNOWN.get_or_init(RwLock::default)
}

impl Definition {
    /// The definition with this text: the specification of a neuron, as `neuron::from_spec` reads it. A
    /// `recurrent` entry with a number of features adds recurrent connections.
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
                r#"pass an object such as {"neuron": "lif", "params": {"tau": 2.0}}"#,
            )
        })?;
        let neuron = neuron::from_spec(&spec).map_err(Error::other)?;
        let common = neuron.common();
        if common.surrogate.needs_noise() && common.spiking {
            return Err(Error::invalid(
                "the surrogate of a neuron",
                "it draws random numbers, which this layer does not do",
                "use another surrogate, or run the network on spikelet's engine",
            ));
        }
        let recurrent = match spec.get("recurrent") {
            None | Some(Value::Null) => None,
            Some(features) => Some(features.as_u64().ok_or_else(|| {
                Error::invalid(
                    "`recurrent` of a layer",
                    format!("{features} was given, expected the number of features"),
                    "pass the length of the last axis of the input",
                )
            })? as usize),
        };
        let whole_layer = |granularity| granularity == Granularity::Layer;
        let params = neuron::trainables(&*neuron).map_err(Error::other)?;
        let elementwise = recurrent.is_none()
            && !neuron::is_parallel(&*neuron)
            && params.iter().all(|p| whole_layer(p.granularity));
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            elementwise,
            recurrent,
            neuron,
        })
    }

    /// The layer.
    pub(crate) fn module(&self) -> Box<dyn Module> {
        match self.recurrent {
            None => Box::new(self.neuron.clone()),
            Some(features) => Box::new(Recurrent::new(self.neuron.clone(), features)),
        }
    }
}
