//! Operations of all kinds with operands of random shapes.

use crate::harness::numbers;
use spikelet_expr::Expr;
use spikelet_graph::op::{
    ArgMax, BatchMatMul, Concat, ConcatChunks, Conv, ConvPart, CumProd, DelayedMatMul,
    Distribution, Draw, Equal, EventFrames, EventSlicing, Expand, Feedback, Fill, Flip, Gather,
    GeneratorSteps, Indexed, LogSoftmax, Loop, LoopBody, Map, MatMul, MeanVar, OneHot, Op,
    Operation, Permute, Pool, PoolGrad, Pooling, Port, RankUpdate, Recurrence, Reduce, Reshape,
    Scan, ScanGrad, ScatterAdd, Slice, TimeChunk, TopK, Window,
};
use spikelet_graph::{DType, Graph, InputKind, Output, Tensor, TensorType};
use std::sync::Arc;

/// An operation with operands.
pub struct Case {
    pub op: Op,
    pub inputs: Vec<Tensor>,
}

/// Random shapes and elements.
pub struct Draws {
    pub seed: u64,
    pub dtype: DType,
}

impl Draws {
    fn next(&mut self) -> f64 {
        self.seed += 1;
        numbers(8, self.seed)[7]
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        ((self.next() + 1.0) / 2.0 * end as f64) as usize % end
    }

    /// The length of an axis.
    fn size(&mut self) -> usize {
        1 + self.below(5)
    }

    fn shape<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|_| self.size())
    }

    fn float(&mut self, shape: impl Into<Vec<usize>>) -> Tensor {
        let shape = shape.into();
        self.seed += 1;
        let values = numbers(shape.iter().product(), self.seed);
        Tensor::f64(shape, values).cast(self.dtype)
    }

    /// Zeros and ones.
    fn spikes(&mut self, shape: impl Into<Vec<usize>>) -> Tensor {
        let numbers = self.float(shape);
        let spikes = numbers.to_f64().into_iter().map(|x| f64::from(x > 0.3));
        Tensor::f64(numbers.shape, spikes.collect::<Vec<_>>()).cast(self.dtype)
    }

    fn index(&mut self, shape: impl Into<Vec<usize>>, end: usize) -> Tensor {
        let shape = shape.into();
        let count = shape.iter().product();
        let values: Vec<i64> = (0..count).map(|_| self.below(end) as i64).collect();
        Tensor::i64(shape, values)
    }
}

/// A leaky neuron with spikes, and with a parameter where it is `scaled`.
fn neuron(scaled: bool) -> Arc<Recurrence> {
    let [v, s, x, a] = ["v", "s", "x", "a"].map(Expr::symbol);
    let charged = v * 0.5 + if scaled { x * a } else { x };
    let spike = charged.ge(0.4) + s * 0.0;
    let next = vec![&charged - &spike, spike.clone()];
    let neuron = Recurrence::new("lif", ["x"], ["v", "s"]).output("y", spike, true);
    let neuron = neuron.next(next);
    Arc::new(if scaled { neuron.params(["a"]) } else { neuron })
}

/// As the first state, with spikes that may be fed back.
fn fed_neuron() -> Arc<Recurrence> {
    let [v, x, a] = ["v", "x", "a"].map(Expr::symbol);
    let charged = v * 0.5 + x * a;
    let spike = charged.ge(0.4);
    let neuron = Recurrence::new("lif", ["x"], ["v", "s"]).output("y", spike.clone(), true);
    Arc::new(neuron.next(vec![&charged - &spike, spike]).params(["a"]))
}

/// A loop that sums its pieces up.
fn sum_up(draws: &mut Draws) -> Case {
    let [n, c, length] = draws.shape();
    let piece = TensorType::new(draws.dtype, [n, c]);
    let layer = Arc::from("loop");
    let mut body = Graph::default();
    let mut input = |name: &str| {
        body.add_input(name, InputKind::Data, piece.clone())
            .unwrap()
    };
    let [h, x, w] = ["h", "x", "w"].map(&mut input);
    let [e0, e1, e2] = [0, 1, 2].map(Map::operand);
    let next = Map::new(vec![e0 * 0.5 + e1 * e2], [n, c]);
    let next = body.push1(next, &[h, x, w], &layer).unwrap();
    let twice = Map::new(vec![Map::operand(0) * 2.0], [n, c]);
    let twice = body.push1(twice, &[next], &layer).unwrap();
    for (name, value, updates) in [("h", next, Some(h)), ("y", twice, None)] {
        body.outputs.push(Output {
            name: name.to_string(),
            value,
            updates,
        });
    }
    let op = Loop {
        body: Arc::new(LoopBody::new(body, 1, 1).unwrap()),
        length,
        reverse: draws.below(2) == 1,
        hoist: true,
    };
    Case {
        op: op.into(),
        inputs: vec![
            draws.float([n, c]),
            draws.float([n * length, c]),
            draws.float([n, c]),
        ],
    }
}

fn products(draws: &mut Draws, add: &mut dyn FnMut(Op, Vec<Tensor>)) {
    for [a, b] in [[false, false], [false, true], [true, false], [true, true]] {
        let [t, m, n, k, b1] = draws.shape();
        let place = |transposed: bool, rows: usize, columns: usize| match transposed {
            true => vec![columns, rows],
            false => vec![rows, columns],
        };
        let left = draws.float([vec![t, b1], place(a, m, k)].concat());
        let right = draws.float([vec![t, b1], place(b, k, n)].concat());
        add(BatchMatMul::new(a, b).into(), vec![left, right]);
        // The rows of a product are folded.
        let (left, right) = match [a, b] {
            [false, false] => ([t, m, k * b1], vec![k, b1, n]),
            [false, true] => ([t, m, k], vec![n, b1, k]),
            [true, false] => ([t, k, m], vec![t, k, n]),
            [true, true] => ([t, k, m], vec![n, t * k]),
        };
        let operands = vec![draws.float(left), draws.float(right)];
        add(MatMul::new(a, b).into(), operands);
    }
    let [t, k, m, n] = draws.shape();
    let folded = vec![draws.float([t * k, m]), draws.float([t, k, n])];
    add(MatMul::new(true, false).into(), folded);
    let [t, n, inputs, outputs] = draws.shape();
    for groups in [1, 2] {
        let [x, y] = [inputs * groups, outputs * groups];
        let conv = Conv {
            groups,
            padding: vec![1],
            ..Conv::new(1)
        };
        let [image, weight] = [vec![t, n, 4, x], vec![y, 3, inputs]];
        let [image, weight, g] = [image, weight, vec![t, n, 4, y]].map(|shape| draws.float(shape));
        let input = conv.part(ConvPart::Input, [4]);
        let of_weight = conv.part(ConvPart::Weight, [3]);
        add(conv.into(), vec![image.clone(), weight.clone()]);
        add(input.into(), vec![g.clone(), weight]);
        add(of_weight.into(), vec![image, g]);
    }
    let [t, n, inputs, outputs, lags] = draws.shape();
    let x = draws.float([t + lags, n, inputs]);
    let [weight, lag] = [0, 1].map(|_| draws.float([inputs, outputs]));
    add(DelayedMatMul { lags }.into(), vec![x, weight, lag]);
    let [out, columns, rows, more] = draws.shape();
    let w = draws.float([out, columns]);
    let [a, b] = [out, columns].map(|n| draws.spikes([rows, n]));
    let [c, d] = [out, columns].map(|n| draws.float([more, rows, n]));
    let bounds = Some([-0.5, 0.5]);
    add(RankUpdate { bounds }.into(), vec![w, a, b, c, d]);
}

fn elementwise(draws: &mut Draws, add: &mut dyn FnMut(Op, Vec<Tensor>)) {
    let [t, n, c] = draws.shape();
    let x = Map::operand;
    let map = Map::new(vec![x(0) * x(1) + x(2), x(1) - x(0)], [t, n, c]);
    let operands = [vec![t, n, c], vec![n, 1], vec![t, 1, c]];
    add(
        map.into(),
        operands.map(|shape| draws.float(shape)).to_vec(),
    );
    let shape = vec![t, n, c];
    add(Expand { shape }.into(), vec![draws.float([n, 1])]);
    let ty = TensorType::new(draws.dtype, [t, n]);
    add(Fill { ty, value: 0.5 }.into(), vec![]);
    let labels = [0, 1].map(|_| draws.index([t, n], 3));
    let dtype = draws.dtype;
    add(Equal { dtype }.into(), labels.to_vec());
    let hot = OneHot {
        classes: 3,
        dtype,
        ignored: None,
    };
    add(hot.into(), vec![draws.index([t, n], 4)]);
    let draw = Draw {
        distribution: Distribution::Bernoulli,
        stream: 3,
        over_time: true,
        first_step: 1,
        per_image: c,
        shape: vec![t, n, c],
        dtype,
    };
    let state = Tensor::i64([4], vec![5, 6, 7, 8]);
    for first in [1, t] {
        let p = draws.float([first, 1, c]);
        add(draw.clone().into(), vec![state.clone(), p]);
    }
    let normal = Draw {
        distribution: Distribution::Normal,
        over_time: false,
        ..draw
    };
    add(normal.into(), vec![state.clone()]);
    add(GeneratorSteps { length: t }.into(), vec![state]);
    let events =
        (0..n * 6).map(|k| EventFrames::pack(k as u32 % 6 * 10, k as u16 % 3, 1, k % 2 == 0));
    let events = Tensor::i64([n, 6], events.collect::<Vec<_>>());
    let frames = EventFrames {
        slicing: EventSlicing::Time,
        frames: 2,
        sensor: [4, 4],
        size: [2, 2],
    };
    let lengths = Tensor::i64([n], vec![6; n]);
    add(frames.into(), vec![events, lengths]);
}

fn movements(draws: &mut Draws, add: &mut dyn FnMut(Op, Vec<Tensor>)) {
    let [t, n, c, more] = draws.shape();
    let x = draws.float([t, n, c]);
    for shape in [
        vec![t * n, c],
        vec![t, n * c],
        vec![t * n * c],
        vec![1, t, n, c],
    ] {
        add(Reshape { shape }.into(), vec![x.clone()]);
        let shape = vec![t, n, c];
        let flat = draws.float([t * n, c]);
        add(Reshape { shape }.into(), vec![flat]);
    }
    for order in [vec![0, 2, 1], vec![2, 0, 1]] {
        add(Permute { order }.into(), vec![x.clone()]);
    }
    for axis in 0..3 {
        let length = x.shape[axis];
        let (start, end) = (length / 2, length);
        add(Slice { axis, start, end }.into(), vec![x.clone()]);
        add(Flip { axis }.into(), vec![x.clone()]);
        add(CumProd { axis }.into(), vec![x.clone()]);
        let mut other = x.shape.clone();
        other[axis] = more;
        let other = draws.float(other);
        add(Concat { axis }.into(), vec![x.clone(), other]);
    }
    let index = draws.index([more, 2], n);
    let slices = Gather {
        axis: 1,
        indexed: Indexed::Slices,
    };
    add(slices.into(), vec![x.clone(), index]);
    let elements = Gather {
        axis: 1,
        indexed: Indexed::Elements,
    };
    let index = draws.index([t, more, c], n);
    add(elements.into(), vec![x, index.clone()]);
    let scatter = ScatterAdd {
        axis: 1,
        length: n,
        indexed: Indexed::Elements,
    };
    let y = draws.float([t, more, c]);
    add(scatter.into(), vec![y, index]);
    let scatter = ScatterAdd {
        indexed: Indexed::Slices,
        ..scatter
    };
    let [y, index] = [draws.float([t, more, 2, c]), draws.index([more, 2], n)];
    add(scatter.into(), vec![y, index]);
}

/// Views, which the planner places at aligned addresses.
pub fn views(draws: &mut Draws, add: &mut dyn FnMut(Op, Vec<Tensor>)) {
    let chunk = TimeChunk { index: 1, count: 2 };
    add(chunk.into(), vec![draws.float([4, 3])]);
    let chunks = [0, 1].map(|_| draws.float([2, 3]));
    add(ConcatChunks.into(), chunks.to_vec());
}

fn reductions(draws: &mut Draws, add: &mut dyn FnMut(Op, Vec<Tensor>)) {
    let [t, n, c] = draws.shape();
    let x = draws.float([t, n, c]);
    for axes in [vec![0], vec![1], vec![2], vec![0, 2], vec![0, 1, 2]] {
        add(Reduce::sum(axes.clone()).into(), vec![x.clone()]);
        add(Reduce::max(axes).into(), vec![x.clone()]);
    }
    add(MeanVar.into(), vec![x.clone()]);
    add(LogSoftmax.into(), vec![x.clone()]);
    add(ArgMax.into(), vec![x.clone()]);
    add(TopK { k: c.min(2) }.into(), vec![x]);
    let image = draws.float([t, n, 4, 6, c]);
    let sliding = Window::Sliding {
        kernel: 3,
        stride: 2,
        padding: 1,
        dilation: 1,
        ceil: false,
    };
    let average = Pooling::Average {
        count_padding: false,
    };
    for (pooling, window) in [(Pooling::Max, Window::blocks(2)), (average, sliding)] {
        let pool = Pool {
            pooling,
            windows: vec![window; 2],
        };
        let pooled = pool.infer(&[image.ty()]).unwrap().remove(0);
        let mut operands = vec![draws.float(pooled.shape)];
        operands.extend((pooling == Pooling::Max).then(|| image.clone()));
        let size = vec![4, 6];
        add(pool.clone().into(), vec![image.clone()]);
        add(PoolGrad { pool, size }.into(), operands);
    }
}

fn recurrences(draws: &mut Draws, add: &mut dyn FnMut(Op, Vec<Tensor>)) {
    let [t, n, c] = draws.shape();
    for pool in [None, Some([1, 2])] {
        let step = [n, 2, 4, c];
        let whole = [&[t], &step[..]].concat();
        let pooled = [&[t, n, 2][..], &[4 / pool.map_or(1, |[_, w]| w), c]].concat();
        for constant in [false, true] {
            let first = if constant { 1 } else { t };
            let scan = Scan {
                pool,
                ..Scan::new(neuron(true), t)
            };
            let mut operands = vec![draws.float([&[first], &step[..]].concat())];
            operands.extend([
                draws.float(step),
                draws.spikes([n, 1, 1, 1]),
                draws.float([c]),
            ]);
            add(scan.clone().into(), operands.clone());
            let present = vec![
                Port::OutputGrad(0),
                Port::LastGrad(0),
                Port::StateSeqGrad(0),
            ];
            let grad = ScanGrad::new(scan, present);
            let grads = [pooled.clone(), step.to_vec(), whole.clone()];
            operands.extend(grads.map(|shape| draws.float(shape)));
            add(grad.into(), operands);
        }
    }
    let [t, n, c] = draws.shape();
    let whole = [t, n, c];
    let scan = Scan::new(fed_neuron(), t).feed_back(Feedback::of(1));
    let operands = vec![
        draws.float(whole),
        draws.float([n, c]),
        draws.spikes([n, c]),
        draws.float([c]),
        draws.float([n, c]),
        draws.float([c, c]),
    ];
    add(scan.clone().into(), operands);
    let grad = ScanGrad::new(scan, vec![Port::OutputGrad(0), Port::StateSeqGrad(0)]);
    let operands = vec![
        draws.float(whole),
        draws.float([n, c]),
        draws.spikes([n, c]),
        draws.float([c]),
        draws.float(whole),
        draws.spikes(whole),
        draws.float([c, c]),
        draws.float(whole),
        draws.float(whole),
    ];
    add(grad.into(), operands);
    let repeated = sum_up(draws);
    add(repeated.op, repeated.inputs);
}

/// Cases of all kinds of operations that run by themselves.
pub fn cases(draws: &mut Draws) -> Vec<Case> {
    let mut cases = vec![];
    let add = &mut |op, inputs| cases.push(Case { op, inputs });
    products(draws, add);
    elementwise(draws, add);
    movements(draws, add);
    reductions(draws, add);
    recurrences(draws, add);
    cases
}
