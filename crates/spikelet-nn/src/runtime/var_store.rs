//! Named tensors, shared by programs.

use super::{download, host};
use crate::RuntimeError;
use crate::module::{LearnedStart, Traced, TracedState, TracedTensor};
use crate::trainable::Granularity;
use spikelet_core::Result;
use spikelet_graph::{Backend, Buffer, DType, Plan, Tensor, TensorType};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Named tensors on a device: parameters, optimizer tensors, carried states. Programs that are
/// compiled with one store share the tensors that have the same name.
///
/// The tensors of a network on several devices are on each of them; [`VarStore::place`] sets the device of new
/// tensors.
pub struct VarStore {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) buffers: BTreeMap<String, StoredTensor>,
    /// Tensors that are not part of a checkpoint.
    pub(super) scratch: BTreeMap<String, StoredTensor>,
    /// The arena of all programs, which run one after the other.
    arena: Option<StoredTensor>,
}

/// A tensor on its device.
#[derive(Clone)]
pub(super) struct StoredTensor {
    backend: Arc<dyn Backend>,
    buffer: Buffer,
}

impl StoredTensor {
    fn new(backend: &Arc<dyn Backend>, ty: &TensorType) -> Result<Self> {
        Ok(Self {
            buffer: backend.allocate(ty)?,
            backend: backend.clone(),
        })
    }

    /// The buffer, for a program on `backend`.
    fn on(&self, backend: &Arc<dyn Backend>, name: &str) -> Result<Buffer> {
        if Arc::ptr_eq(&self.backend, backend) {
            return Ok(self.buffer.clone());
        }
        Err(RuntimeError::OtherDevice {
            name: name.to_string(),
            device: self.backend.name().to_string(),
            program: backend.name().to_string(),
        }
        .into())
    }
}

impl VarStore {
    /// An empty store.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            buffers: BTreeMap::new(),
            scratch: BTreeMap::new(),
            arena: None,
        }
    }

    /// Sets the device of new tensors.
    pub fn place(&mut self, backend: &Arc<dyn Backend>) {
        self.backend = backend.clone();
    }

    /// All tensors, copied to one device.
    ///
    /// # Errors
    /// When a device fails or has not enough memory.
    pub fn gathered(&self, backend: &Arc<dyn Backend>) -> Result<Self> {
        let mut all = Self::new(backend.clone());
        for name in self.buffers.keys() {
            all.insert(name, &self.get(name)?)?;
        }
        Ok(all)
    }

    /// A store of some of the tensors under other names, in the same memory: pairs of a new name and the tensor's
    /// name in this store.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// store.insert("ema.weight", &Tensor::f32([2], [1.0, 2.0]))?;
    /// let averaged = store.renamed([("weight".to_string(), "ema.weight".to_string())])?;
    /// assert_eq!(averaged.get("weight")?, store.get("ema.weight")?);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTensor`].
    pub fn renamed(&self, names: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut renamed = Self::new(self.backend.clone());
        for (new, name) in names {
            let Some(stored) = self.buffers.get(&name) else {
                return Err(RuntimeError::unknown(&name, self.names()));
            };
            renamed.buffers.insert(new, stored.clone());
        }
        renamed.arena = self.arena.clone();
        Ok(renamed)
    }

    /// A store with the same names. `make` returns the device and buffer of a tensor in it for the device and type
    /// in this store.
    pub fn mirrored(
        &self,
        backend: &Arc<dyn Backend>,
        make: impl Fn(&Arc<dyn Backend>, &TensorType) -> Option<(Arc<dyn Backend>, Buffer)>,
    ) -> Self {
        let mirrored = |all: &BTreeMap<String, StoredTensor>| {
            let each = all.iter().filter_map(|(name, stored)| {
                let (backend, buffer) = make(&stored.backend, &stored.buffer.ty)?;
                Some((name.clone(), StoredTensor { backend, buffer }))
            });
            each.collect()
        };
        Self {
            backend: backend.clone(),
            buffers: mirrored(&self.buffers),
            scratch: mirrored(&self.scratch),
            arena: None,
        }
    }

    /// The buffer of a tensor on a device, allocated if it is new.
    pub fn buffer(
        &mut self,
        backend: &Arc<dyn Backend>,
        name: &str,
        ty: &TensorType,
        lasts: bool,
    ) -> Result<Buffer> {
        let map = match lasts {
            true => &mut self.buffers,
            false => &mut self.scratch,
        };
        if !map.contains_key(name) {
            map.insert(name.to_string(), StoredTensor::new(backend, ty)?);
        }
        map[name].on(backend, name)
    }

    /// The arena that programs on the device of this store share. It is allocated again if the plan needs a larger
    /// one; the old one is freed with the last program that was loaded with it.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn arena(&mut self, plan: &Plan) -> Result<Buffer> {
        let fits = |stored: &&StoredTensor| {
            Arc::ptr_eq(&stored.backend, &self.backend)
                && stored.buffer.ty.bytes() >= plan.arena_bytes
        };
        if let Some(stored) = self.arena.as_ref().filter(fits) {
            return Ok(stored.buffer.clone());
        }
        // Frees the old arena unless a program uses it.
        self.arena = None;
        let buffer = self.backend.arena(plan)?;
        self.arena = Some(StoredTensor {
            backend: self.backend.clone(),
            buffer: buffer.clone(),
        });
        Ok(buffer)
    }

    /// The size of the shared arena in bytes.
    pub fn arena_bytes(&self) -> usize {
        self.arena
            .as_ref()
            .map_or(0, |stored| stored.buffer.ty.bytes())
    }

    /// The device of new tensors.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.buffers.keys().map(String::as_str)
    }

    /// Element type and shape of a tensor.
    pub fn ty(&self, name: &str) -> Option<&TensorType> {
        self.buffers.get(name).map(|stored| &stored.buffer.ty)
    }

    /// The values of a tensor.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTensor`].
    pub fn get(&self, name: &str) -> Result<Tensor> {
        match self.buffers.get(name) {
            Some(stored) => download(&*stored.backend, &stored.buffer),
            None => Err(RuntimeError::unknown(name, self.names())),
        }
    }

    /// Sets the values of a tensor that the store has.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// store.insert("weight", &Tensor::f32([2], [1.0, 2.0]))?;
    /// store.set("weight", &Tensor::f32([2], [3.0, 4.0]))?;
    /// assert!(store.set("wieght", &Tensor::f32([2], [5.0, 6.0])).is_err());
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no tensor of this name, or it has another type.
    pub fn set(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        let Some(stored) = self.buffers.get(name) else {
            return Err(RuntimeError::unknown(name, self.names()));
        };
        let (given, expected) = (tensor.ty(), &stored.buffer.ty);
        if given != *expected {
            return Err(spikelet_graph::Error::Type {
                name: name.to_string(),
                given,
                expected: expected.clone(),
            }
            .into());
        }
        Ok(stored.backend.upload(&stored.buffer, host(tensor))?)
    }

    /// As [`VarStore::set`]; a tensor of a new name is added, on the device of new tensors.
    ///
    /// # Errors
    /// When a tensor of this name has another type, or the device has not enough memory.
    pub fn insert(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        if !self.buffers.contains_key(name) {
            let stored = StoredTensor::new(&self.backend, &tensor.ty())?;
            self.buffers.insert(name.to_string(), stored);
        }
        self.set(name, tensor)
    }

    /// Creates the parameters and buffers of a trace that the store does not have, with their initial values, and
    /// resets the carried states.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn initialize(&mut self, traced: &Traced, float: DType, seed: u64) -> Result<()> {
        for TracedTensor {
            name, shape, init, ..
        } in traced.parameters.iter().chain(&traced.buffers)
        {
            if !self.buffers.contains_key(name) {
                let values = init.values(name, seed, shape.iter().product());
                self.insert(name, &Tensor::f32(shape.clone(), values).cast(float))?;
            }
        }
        self.reset(traced, float)
    }

    /// Resets the carried states. Learned reset values are those of their parameters at this time. States of another
    /// shape (another batch size) are allocated again.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn reset(&mut self, traced: &Traced, float: DType) -> Result<()> {
        self.reset_states(&traced.states, &traced.starts, float)
    }

    /// As [`VarStore::reset`], of some carried states; `starts` are those with a learned reset value.
    ///
    /// # Errors
    /// When the device has not enough memory.
    pub fn reset_states(
        &mut self,
        states: &[TracedState],
        starts: &[LearnedStart],
        float: DType,
    ) -> Result<()> {
        for TracedState { name, shape, reset } in states {
            if self.ty(name).is_some_and(|ty| ty.shape != *shape) {
                self.buffers.remove(name);
            }
            let learned = starts.iter().find(|start| start.state == *name);
            let of_values = |values| Tensor::f64(shape.clone(), values).cast(float);
            let values = match learned {
                Some(start) => of_values(start.values(&self.get(&start.parameter)?, shape)),
                None if *reset == 0.0 => Tensor::zeros(&TensorType::new(float, shape.clone()))?,
                None => of_values(vec![*reset; shape.iter().product()]),
            };
            self.insert(name, &values)?;
        }
        Ok(())
    }
}

impl LearnedStart {
    /// The reset values of the state of shape `[N, C, …]`, given the parameter.
    fn values(&self, parameter: &Tensor, shape: &[usize]) -> Vec<f64> {
        let own = parameter.to_f64();
        let behind_channels: usize = shape.iter().skip(2).product();
        let place = |k: usize| match self.granularity {
            Granularity::Channel => k / behind_channels.max(1),
            _ => k,
        };
        let count = shape.iter().product();
        (0..count)
            .map(|k| self.bound.value(own[place(k) % own.len()]))
            .collect()
    }
}

impl fmt::Debug for VarStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VarStore")
            .field("device", &self.backend.name())
            .field("tensors", &self.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
