//! Convolutions and pooling as plain loops over three axes; fewer axes are axes of length 1.

/// Images `[batch, channels, depth, height, width]`.
#[derive(Clone)]
pub struct Images {
    pub batch: usize,
    pub channels: usize,
    pub size: [usize; 3],
    pub values: Vec<f64>,
}

/// Three axes of fewer, filled up in front.
pub fn three(sizes: &[usize], fill: usize) -> [usize; 3] {
    let mut all = [fill; 3];
    all[3 - sizes.len()..].copy_from_slice(sizes);
    all
}

impl Images {
    /// From the values of `[T, N, C, …]`.
    pub fn new(shape: &[usize], values: &[f64]) -> Self {
        Self {
            batch: shape[0] * shape[1],
            channels: shape[2],
            size: three(&shape[3..], 1),
            values: values.to_vec(),
        }
    }

    fn zeros(batch: usize, channels: usize, size: [usize; 3]) -> Self {
        let values = vec![0.0; batch * channels * size.iter().product::<usize>()];
        Self {
            batch,
            channels,
            size,
            values,
        }
    }

    fn at(&self, n: usize, c: usize, p: [usize; 3]) -> usize {
        let [d, h, w] = self.size;
        (((n * self.channels + c) * d + p[0]) * h + p[1]) * w + p[2]
    }
}

/// All positions of a size, in row-major order.
fn positions(size: [usize; 3]) -> Vec<[usize; 3]> {
    let mut all = vec![];
    for d in 0..size[0] {
        for h in 0..size[1] {
            all.extend((0..size[2]).map(|w| [d, h, w]));
        }
    }
    all
}

/// The settings of a convolution.
#[derive(Clone, Copy)]
pub struct Steps {
    pub kernel: [usize; 3],
    pub stride: [usize; 3],
    pub padding: [usize; 3],
    pub dilation: [usize; 3],
    pub groups: usize,
}

impl Steps {
    /// Where the window's element `k` at position `o` lies, if that is inside `size`.
    fn place(&self, o: [usize; 3], k: [usize; 3], size: [usize; 3]) -> Option<[usize; 3]> {
        let mut place = [0; 3];
        for axis in 0..3 {
            let at = o[axis] * self.stride[axis] + k[axis] * self.dilation[axis];
            place[axis] = at.checked_sub(self.padding[axis])?;
            if place[axis] >= size[axis] {
                return None;
            }
        }
        Some(place)
    }
}

/// `weight [outputs, inputs / groups, kernel]`.
pub fn conv(x: &Images, weight: &[f64], bias: Option<&[f64]>, outputs: usize, s: Steps) -> Images {
    let mut size = [0; 3];
    for (k, size) in size.iter_mut().enumerate() {
        let free = x.size[k] + 2 * s.padding[k] - s.dilation[k] * (s.kernel[k] - 1) - 1;
        *size = free / s.stride[k] + 1;
    }
    let mut y = Images::zeros(x.batch, outputs, size);
    let (ins, outs) = (x.channels / s.groups, outputs / s.groups);
    for n in 0..x.batch {
        for c in 0..outputs {
            for o in positions(size) {
                let mut sum = bias.map_or(0.0, |b| b[c]);
                for i in 0..ins {
                    for (j, k) in positions(s.kernel).into_iter().enumerate() {
                        if let Some(p) = s.place(o, k, x.size) {
                            let taps = positions(s.kernel).len();
                            let w = weight[(c * ins + i) * taps + j];
                            sum += w * x.values[x.at(n, c / outs * ins + i, p)];
                        }
                    }
                }
                let at = y.at(n, c, o);
                y.values[at] = sum;
            }
        }
    }
    y
}

/// `weight [inputs, outputs / groups, kernel]`: each element is spread over a window.
pub fn conv_transposed(
    x: &Images,
    weight: &[f64],
    bias: Option<&[f64]>,
    outputs: usize,
    output_padding: [usize; 3],
    s: Steps,
) -> Images {
    let mut size = [0; 3];
    for (k, size) in size.iter_mut().enumerate() {
        let grown = (x.size[k] - 1) * s.stride[k] + s.dilation[k] * (s.kernel[k] - 1) + 1;
        *size = grown + output_padding[k] - 2 * s.padding[k];
    }
    let mut y = Images::zeros(x.batch, outputs, size);
    let (ins, outs) = (x.channels / s.groups, outputs / s.groups);
    let taps = positions(s.kernel).len();
    for n in 0..x.batch {
        for i in 0..x.channels {
            for o in positions(x.size) {
                let value = x.values[x.at(n, i, o)];
                for c in 0..outs {
                    for (j, k) in positions(s.kernel).into_iter().enumerate() {
                        if let Some(p) = s.place(o, k, size) {
                            let at = y.at(n, i / ins * outs + c, p);
                            y.values[at] += value * weight[(i * outs + c) * taps + j];
                        }
                    }
                }
            }
        }
        if let Some(bias) = bias {
            for (c, b) in bias.iter().enumerate() {
                for p in positions(size) {
                    let at = y.at(n, c, p);
                    y.values[at] += b;
                }
            }
        }
    }
    y
}

/// Windows along one axis: the elements of each, and by how many a mean divides.
#[derive(Clone)]
pub struct Windows(pub Vec<(Vec<usize>, usize)>);

impl Windows {
    /// An axis that is not pooled.
    pub fn each(n: usize) -> Self {
        Self((0..n).map(|k| (vec![k], 1)).collect())
    }

    pub fn sliding(
        n: usize,
        [kernel, stride, padding, dilation]: [usize; 4],
        ceil: bool,
        count_padding: bool,
    ) -> Self {
        let mut windows = vec![];
        for o in 0.. {
            // Counted from the start of the padding. With `ceil`, what the windows so far leave at
            // the end has one more, unless that begins in the padding there.
            let (first, end) = (o * stride, o * stride + dilation * (kernel - 1) + 1);
            let whole = n + 2 * padding;
            let fits = end <= whole;
            let leaves = o > 0 && end - stride < whole;
            let reaches = ceil && leaves && first < n + padding;
            if !fits && !reaches {
                break;
            }
            let seen = (0..kernel).map(|k| first + k * dilation);
            let inside = seen.clone().filter(|p| (padding..n + padding).contains(p));
            let inside: Vec<usize> = inside.map(|p| p - padding).collect();
            let counted = match count_padding {
                true => seen.filter(|p| *p < whole).count(),
                false => inside.len(),
            };
            windows.push((inside, counted));
            if !fits {
                break;
            }
        }
        Self(windows)
    }

    pub fn adaptive(n: usize, outputs: usize) -> Self {
        let window = |o: usize| {
            let (start, end) = (o * n / outputs, ((o + 1) * n).div_ceil(outputs));
            ((start..end).collect(), end - start)
        };
        Self((0..outputs).map(window).collect())
    }
}

pub fn pool(x: &Images, max: bool, windows: &[Windows; 3]) -> Images {
    let size = [0, 1, 2].map(|axis: usize| windows[axis].0.len());
    let mut y = Images::zeros(x.batch, x.channels, size);
    for n in 0..x.batch {
        for c in 0..x.channels {
            for o in positions(size) {
                let window = [0, 1, 2].map(|axis: usize| &windows[axis].0[o[axis]]);
                let mut seen = vec![];
                for &d in &window[0].0 {
                    for &h in &window[1].0 {
                        seen.extend(window[2].0.iter().map(|&w| x.values[x.at(n, c, [d, h, w])]));
                    }
                }
                let counted: usize = window.iter().map(|w| w.1).product();
                let at = y.at(n, c, o);
                y.values[at] = match max {
                    true => seen.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    false => seen.iter().sum::<f64>() / counted as f64,
                };
            }
        }
    }
    y
}
