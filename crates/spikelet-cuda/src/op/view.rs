//! Operations whose result is in the memory of an operand: a plan has no kernel for them.

use super::CudaKernel;
use spikelet_graph::op::{ConcatChunks, Reshape, TimeChunk};

impl CudaKernel for ConcatChunks {}
impl CudaKernel for Reshape {}
impl CudaKernel for TimeChunk {}
