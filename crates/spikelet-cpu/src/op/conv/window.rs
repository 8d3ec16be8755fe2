//! The positions of the windows of a convolution in its images.

use spikelet_graph::op::{Conv, ConvSizes};

/// A value for each of three axes; missing axes precede the others and have one position.
pub(super) type Axes = [usize; 3];

/// A convolution over three axes: at every position of `out`, a window of `kernel` elements of
/// `image`.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Channels of the image, all groups together.
    pub(super) channels: usize,
    pub(super) image: Axes,
    pub(super) kernel: Axes,
    pub(super) out: Axes,
    stride: Axes,
    dilation: Axes,
    /// The start of the first window, before the image if negative.
    origin: [isize; 3],
}

fn axes(given: &[usize], missing: usize) -> Axes {
    let mut all = [missing; 3];
    all[3 - given.len()..].copy_from_slice(given);
    all
}

impl Windows {
    /// The windows of `x` from which `y` is computed.
    pub(super) fn forward(op: &Conv, sizes: &ConvSizes) -> Self {
        Self {
            batch: sizes.batch,
            groups: op.groups,
            channels: sizes.inputs,
            image: axes(&sizes.x, 1),
            kernel: axes(&sizes.kernel, 1),
            out: axes(&sizes.y, 1),
            stride: axes(&op.stride, 1),
            dilation: axes(&op.dilation, 1),
            origin: axes(&op.padding, 0).map(|p| -(p as isize)),
        }
    }

    /// The windows of the gradient of `y` from which that of `x` is computed with the flipped kernel;
    /// `None` unless the stride is 1.
    pub(super) fn flipped(self, outputs: usize) -> Option<Self> {
        let reach = |k: usize| (self.dilation[k] * (self.kernel[k] - 1)) as isize;
        (self.stride == [1; 3] && !self.kernel.contains(&0)).then(|| Self {
            channels: outputs,
            image: self.out,
            out: self.image,
            origin: std::array::from_fn(|k| -(reach(k) + self.origin[k])),
            ..self
        })
    }

    pub(super) fn per_group(&self) -> usize {
        self.channels / self.groups
    }

    /// Elements of a window in one group.
    pub(super) fn window(&self) -> usize {
        self.taps() * self.per_group()
    }

    /// Positions of the kernel.
    pub(super) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Windows of an image.
    pub(super) fn positions(&self) -> usize {
        self.out.iter().product()
    }

    /// Windows of all images.
    pub(super) fn rows(&self) -> usize {
        self.batch * self.positions()
    }

    /// Elements of an image.
    pub(super) fn image_elements(&self) -> usize {
        self.image.iter().product::<usize>() * self.channels
    }

    /// Whether windows and positions correspond one to one.
    pub(super) fn pointwise(&self) -> bool {
        self.taps() == 1 && self.stride == [1; 3] && self.origin == [0; 3] && self.image == self.out
    }

    /// Whether neighbors along the last axis of the kernel are neighbors in memory.
    fn in_one_piece(&self) -> bool {
        self.dilation[2] == 1 && self.groups == 1
    }

    /// The image of a row, and its position along the three axes.
    fn place(&self, row: usize) -> (usize, Axes) {
        let [_, h, w] = self.out;
        let (rest, x) = (row / w, row % w);
        let (rest, y) = (rest / h, rest % h);
        (rest / self.out[0], [rest % self.out[0], y, x])
    }

    /// The position in the image of tap `tap` of the window at `at`; outside if negative or too large.
    fn along(&self, axis: usize, at: usize, tap: usize) -> isize {
        (at * self.stride[axis] + tap * self.dilation[axis]) as isize + self.origin[axis]
    }

    /// As [`Windows::along`]; `None` outside the image.
    fn inside(&self, axis: usize, at: usize, tap: usize) -> Option<usize> {
        let at = usize::try_from(self.along(axis, at, tap)).ok()?;
        (at < self.image[axis]).then_some(at)
    }

    /// Calls `each` with every contiguous part of the window of `row`: its offset in the window, its
    /// number of elements, and its offset in the images, `None` outside them.
    #[inline(always)]
    pub(super) fn stretches(
        &self,
        row: usize,
        group: usize,
        mut each: impl FnMut(usize, usize, Option<usize>),
    ) {
        let (n, at) = self.place(row);
        let channels = self.per_group();
        let [taps_z, taps_y, taps] = self.kernel;
        let first_ix = self.along(2, at[2], 0);
        // The taps of the last axis that lie in the image.
        let first = usize::try_from(-first_ix).unwrap_or(0).min(taps);
        let end = usize::try_from(self.image[2] as isize - first_ix).unwrap_or(0);
        let end = end.clamp(first, taps.max(first));
        for z in 0..taps_z {
            let iz = self.inside(0, at[0], z);
            for y in 0..taps_y {
                let to = (z * taps_y + y) * taps * channels;
                let line = match (iz, self.inside(1, at[1], y)) {
                    (Some(iz), Some(iy)) => {
                        ((n * self.image[0] + iz) * self.image[1] + iy) * self.image[2]
                    }
                    _ => {
                        each(to, taps * channels, None);
                        continue;
                    }
                };
                if self.in_one_piece() {
                    each(to, first * channels, None);
                    if first < end {
                        let ix = (first_ix + first as isize) as usize;
                        let from = (line + ix) * channels;
                        each(to + first * channels, (end - first) * channels, Some(from));
                    }
                    each(to + end * channels, (taps - end) * channels, None);
                } else {
                    for x in 0..taps {
                        let ix = self.inside(2, at[2], x);
                        let from = ix.map(|ix| (line + ix) * self.channels + group * channels);
                        each(to + x * channels, channels, from);
                    }
                }
            }
        }
    }

    /// Calls `each` with every run of rows along the last axis: the first row, the number of rows, and
    /// for tap `k` of the kernel, the run's first row inside the image, the number inside, and the
    /// position of the first of them.
    pub(super) fn runs(
        &self,
        rows: std::ops::Range<usize>,
        mut each: impl FnMut(usize, usize, usize, (usize, usize, usize)),
    ) {
        let [taps_z, taps_y, taps] = self.kernel;
        let mut row = rows.start;
        while row < rows.end {
            let (n, at) = self.place(row);
            let length = (self.out[2] - at[2]).min(rows.end - row);
            for k in 0..self.taps() {
                let (z, y, x) = (k / (taps_y * taps) % taps_z, k / taps % taps_y, k % taps);
                let (iz, iy) = (self.inside(0, at[0], z), self.inside(1, at[1], y));
                let (Some(iz), Some(iy)) = (iz, iy) else {
                    each(row, length, k, (0, 0, 0));
                    continue;
                };
                let ix = self.along(2, at[2], x);
                let step = self.stride[2] as isize;
                let first = if ix < 0 { (-ix + step - 1) / step } else { 0 };
                let end = (self.image[2] as isize - ix + step - 1).max(0) / step;
                let first = (first as usize).min(length);
                let end = (end as usize).clamp(first, length);
                let line = ((n * self.image[0] + iz) * self.image[1] + iy) * self.image[2];
                let from = if first < end {
                    line + (ix + first as isize * step) as usize
                } else {
                    0
                };
                each(row, length, k, (first, end - first, from));
            }
            row += length;
        }
    }

    /// The distance in positions between neighbors of a run.
    pub(super) fn run_step(&self) -> usize {
        self.stride[2]
    }
}
