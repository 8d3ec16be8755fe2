//! Blocks of elements aligned to a cache line.

use std::ops::{Deref, DerefMut};

/// The size of a cache line in bytes, and of the widest load or store.
const LINE: usize = 64;

/// A fixed number of elements, the first aligned to a cache line.
///
/// ```
/// let block = spikelet_expr::Block::filled(0.5_f32, 100);
/// assert_eq!((block.len(), block[99]), (100, 0.5));
/// assert_eq!(block.as_ptr() as usize % 64, 0);
/// ```
#[derive(Debug)]
pub struct Block<R> {
    data: Vec<R>,
    skip: usize,
    length: usize,
}

impl<R: Copy> Block<R> {
    /// A block of `length` copies of `value`.
    pub fn filled(value: R, length: usize) -> Self {
        let data = vec![value; length + LINE / size_of::<R>().max(1)];
        let skip = data.as_ptr().align_offset(LINE);
        Self {
            skip: if skip > data.len() - length { 0 } else { skip },
            data,
            length,
        }
    }
}

impl<R: Copy> Clone for Block<R> {
    fn clone(&self) -> Self {
        match self.first() {
            Some(&first) => {
                let mut copy = Self::filled(first, self.length);
                copy.copy_from_slice(self);
                copy
            }
            None => Self::default(),
        }
    }
}

impl<R> Default for Block<R> {
    fn default() -> Self {
        Self {
            data: vec![],
            skip: 0,
            length: 0,
        }
    }
}

impl<R> Deref for Block<R> {
    type Target = [R];

    #[inline(always)]
    fn deref(&self) -> &[R] {
        &self.data[self.skip..self.skip + self.length]
    }
}

impl<R> DerefMut for Block<R> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [R] {
        &mut self.data[self.skip..self.skip + self.length]
    }
}
