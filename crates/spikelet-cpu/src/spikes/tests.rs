use super::*;

/// Random spikes, as bits and as `f32` [rows, features].
pub(super) fn spikes(
    rows: usize,
    features: usize,
    density: f64,
    seed: u64,
) -> (Vec<u64>, Vec<f32>) {
    let mut random = Random(seed);
    let mut bits = vec![0; rows * words(features)];
    let mut x = vec![0.0; rows * features];
    for (i, x) in x.iter_mut().enumerate() {
        if f64::from(random.next() + 1.0) / 2.0 < density {
            *x = 1.0;
            let (row, feature) = (i / features, i % features);
            bits[row * words(features) + feature / 64] |= 1 << (feature % 64);
        }
    }
    (bits, x)
}

pub(super) struct Random(pub(super) u64);

impl Random {
    /// A random number in −1 … 1 (splitmix64).
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(super) fn take(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    crate::parallel::Pool::new(threads)
        .expect("a thread pool of a few threads can be made")
        .run(work)
}

const IN: [usize; 6] = [1, 63, 64, 65, 784, 1100];
const OUT: [usize; 7] = [1, 7, 10, 16, 196, 300, 2048];

/// All pairs of the sizes above but the two largest together, with rows that end within a block.
fn shapes() -> impl Iterator<Item = LinearShape> {
    IN.into_iter().flat_map(|in_features| {
        OUT.into_iter()
            .filter(move |out| in_features * out < 1_000_000)
            .map(move |out_features| LinearShape {
                rows: if out_features < 1000 { 333 } else { 131 },
                in_features,
                out_features,
            })
    })
}

/// The table of weights [in, out], with padding that must not matter.
fn table_of(wt: &[f32], shape: LinearShape) -> Vec<f32> {
    let stride = table::row_stride(shape.out_features);
    let mut table = vec![f32::NAN; shape.in_features * stride];
    for (to, from) in table
        .chunks_mut(stride.max(1))
        .zip(wt.chunks(shape.out_features.max(1)))
    {
        to[..from.len()].copy_from_slice(from);
    }
    table
}

fn run_forward(shape: LinearShape, bits: &[u64], wt: &[f32]) -> Vec<f32> {
    let mut out = vec![f32::NAN; shape.rows * shape.out_features];
    forward(shape, bits, &table_of(wt, shape), &mut out);
    out
}

fn run_weight_grad(shape: LinearShape, bits: &[u64], grad_out: &[f32]) -> Vec<f32> {
    let mut dwt = vec![f32::NAN; shape.in_features * shape.out_features];
    let mut scratch = vec![u64::MAX; weight_grad_scratch_words(shape)];
    weight_grad(shape, bits, grad_out, &mut dwt, &mut scratch);
    dwt
}

pub(super) fn bits_of(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn assert_close(got: &[f32], expected: &[f64], what: LinearShape) {
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(got) - expected).abs();
        assert!(error < 1e-4, "{what:?}, element {i}: {got} for {expected}");
    }
}

#[test]
fn the_forward_pass_agrees_with_a_plain_loop() {
    for shape in shapes() {
        let LinearShape {
            rows,
            in_features,
            out_features,
        } = shape;
        let (bits, x) = spikes(rows, in_features, 0.1, 1);
        let wt = Random(2).take(in_features * out_features);
        let mut sums = vec![0.0; rows * out_features];
        for (sums, x) in sums.chunks_mut(out_features).zip(x.chunks(in_features)) {
            for (&x, wt) in x.iter().zip(wt.chunks(out_features)) {
                for (sum, &w) in sums.iter_mut().zip(wt) {
                    *sum += f64::from(x) * f64::from(w);
                }
            }
        }
        assert_close(&run_forward(shape, &bits, &wt), &sums, shape);
    }
}

#[test]
fn the_gradient_of_the_weights_agrees_with_a_plain_loop() {
    for shape in shapes() {
        let LinearShape {
            rows,
            in_features,
            out_features,
        } = shape;
        let (bits, x) = spikes(rows, in_features, 0.1, 4);
        let grad_out = Random(5).take(rows * out_features);
        let mut sums = vec![0.0; in_features * out_features];
        for (x, grad) in x.chunks(in_features).zip(grad_out.chunks(out_features)) {
            for (&x, sums) in x.iter().zip(sums.chunks_mut(out_features)) {
                for (sum, &grad) in sums.iter_mut().zip(grad) {
                    *sum += f64::from(x) * f64::from(grad);
                }
            }
        }
        assert_close(&run_weight_grad(shape, &bits, &grad_out), &sums, shape);
    }
}

#[test]
fn sums_run_in_the_order_that_is_documented() {
    let shape = LinearShape {
        rows: 2500,
        in_features: 65,
        out_features: 10,
    };
    let (bits, x) = spikes(shape.rows, 65, 0.3, 6);
    let wt = Random(7).take(65 * 10);
    let mut expected = vec![0.0f32; shape.rows * 10];
    for (sums, x) in expected.chunks_mut(10).zip(x.chunks(65)) {
        for (_, wt) in x.iter().zip(wt.chunks(10)).filter(|(x, _)| **x == 1.0) {
            sums.iter_mut().zip(wt).for_each(|(sum, w)| *sum += w);
        }
    }
    assert!(bits_of(&run_forward(shape, &bits, &wt)) == bits_of(&expected));

    let grad_out = Random(9).take(shape.rows * 10);
    let mut expected = vec![0.0f32; 65 * 10];
    for (x, grad) in x.chunks(65).zip(grad_out.chunks(10)) {
        let fired = expected.chunks_mut(10).zip(x).filter(|(_, x)| **x == 1.0);
        for (sums, _) in fired {
            sums.iter_mut().zip(grad).for_each(|(sum, g)| *sum += g);
        }
    }
    assert!(bits_of(&run_weight_grad(shape, &bits, &grad_out)) == bits_of(&expected));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for (rows, in_features, out_features) in [(1500, 784, 196), (700, 130, 10), (200, 1100, 300)] {
        let shape = LinearShape {
            rows,
            in_features,
            out_features,
        };
        let (bits, _) = spikes(rows, in_features, 0.15, 10);
        let wt = Random(11).take(in_features * out_features);
        let grad_out = Random(12).take(rows * out_features);
        let run = |threads| {
            with_threads(threads, || {
                (
                    bits_of(&run_forward(shape, &bits, &wt)),
                    bits_of(&run_weight_grad(shape, &bits, &grad_out)),
                )
            })
        };
        let one = run(1);
        assert!(one == run(2), "{shape:?} with 2 threads");
        assert!(one == run(8), "{shape:?} with 8 threads");
    }
}

#[test]
fn every_density_from_silence_to_all_spikes_is_summed() {
    let shape = LinearShape {
        rows: 70,
        in_features: 130,
        out_features: 20,
    };
    for density in [0.0, 0.5, 1.1] {
        let (bits, _) = spikes(70, 130, density, 13);
        let spikes: Vec<f32> = bits
            .chunks(words(130))
            .map(|row| row.iter().map(|word| word.count_ones()).sum::<u32>() as f32)
            .collect();
        let out = run_forward(shape, &bits, &[1.0; 130 * 20]);
        for (out, spikes) in out.chunks(20).zip(spikes) {
            assert!(out.iter().all(|&out| out == spikes));
        }
        let total: f32 = run_weight_grad(shape, &bits, &[1.0; 70 * 20]).iter().sum();
        let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
        assert_eq!(total, 20.0 * count as f32);
    }
}

#[test]
fn bits_past_the_last_feature_are_ignored() {
    let shape = LinearShape {
        rows: 66,
        in_features: 3,
        out_features: 5,
    };
    let clean = vec![0b101; 66];
    let dirty = vec![!0b010; 66];
    let wt = Random(14).take(15);
    let grad_out = Random(15).take(66 * 5);
    assert_eq!(
        run_forward(shape, &dirty, &wt),
        run_forward(shape, &clean, &wt)
    );
    assert_eq!(
        run_weight_grad(shape, &dirty, &grad_out),
        run_weight_grad(shape, &clean, &grad_out)
    );
}

#[test]
fn empty_layers_and_batches_are_fine() {
    for (rows, in_features, out_features) in [(0, 5, 3), (4, 0, 3), (4, 5, 0)] {
        let shape = LinearShape {
            rows,
            in_features,
            out_features,
        };
        let bits = vec![0; rows * words(in_features)];
        let wt = vec![1.0; in_features * out_features];
        let out = run_forward(shape, &bits, &wt);
        assert!(out.iter().all(|&out| out == 0.0));
        let dwt = run_weight_grad(shape, &bits, &vec![1.0; rows * out_features]);
        assert!(dwt.iter().all(|&dwt| dwt == 0.0));
    }
}

#[test]
fn spikes_that_feed_back_drive_neurons_by_their_sums() {
    for features in [1, 10, 100, 300] {
        let (_, fired) = spikes(7, features, 0.2, 16);
        let (weight, x) = (
            Random(17).take(features * features),
            Random(18).take(7 * features),
        );
        let mut table = vec![f32::NAN; table_elements(features, features)];
        fill_table(&weight, (features, features), &mut table);
        let mut out = vec![f32::NAN; 7 * features];
        let mut lists = Fired::new(7, features);
        lists.set(&fired, features);
        lists.drive(&table, &x, features, &mut out);
        for (i, out) in out.iter().enumerate() {
            let (row, to) = (i / features * features, i % features);
            let from = (0..features).filter(|from| fired[row + from] == 1.0);
            let sum = from.fold(0.0, |sum, from| sum + weight[to * features + from]);
            assert_eq!(*out, x[i] + sum, "{features}: {i}");
        }
    }
}
