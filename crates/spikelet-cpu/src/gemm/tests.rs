use super::kernel::DEPTH;
use super::operand::Strided;
use super::product::Product;
use super::tile::Split;
use super::*;
use proptest::prelude::*;

/// A product of these sizes that overwrites its result.
fn gemm<'a, T>(
    (m, n, k): (usize, usize, usize),
    a: Strided<'a, T>,
    b: Strided<'a, T>,
) -> Gemm<'a, T> {
    Gemm {
        m,
        n,
        k,
        a,
        b: Factor::Matrix(b),
        accumulate: false,
        rounding: Rounding::Fused,
    }
}

/// Computes a product with a given library.
fn multiply(library: &GemmLibrary, gemm: Gemm<'_, f32>, c: &mut [f32], c_row_stride: usize) {
    let product = Product::new(&gemm, c, c_row_stride);
    if !product.by_vendor(library) {
        product.built_in(Split::among(crate::parallel::threads()));
    }
}

/// Uniform random numbers in −1 … 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// Every library found on this machine.
fn libraries() -> Vec<GemmLibrary> {
    [GemmChoice::Gemm, GemmChoice::Mkl, GemmChoice::OpenBlas]
        .into_iter()
        .filter_map(|choice| GemmLibrary::open(choice).ok())
        .collect()
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    crate::parallel::Pool::new(threads)
        .expect("a thread pool of a few threads can be made")
        .run(work)
}

const SIZES: [(usize, usize, usize); 8] = [
    (1, 1, 1),
    (1, 17, 40),
    (33, 1, 65),
    (7, 5, 3),
    (64, 64, 64),
    (100, 196, 30),
    (500, 300, 70),
    (3, 900, 900),
];

#[test]
fn products_of_all_layouts_agree_with_a_plain_loop() {
    for library in libraries() {
        for (m, n, k) in SIZES {
            let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
            let c_stride = n + 3;
            let before = numbers(m * c_stride, 3);
            for (a_strides, b_strides) in [
                ((k, 1), (n, 1)),
                ((1, m), (n, 1)),
                ((k, 1), (1, k)),
                ((1, m), (1, k)),
            ] {
                for accumulate in [false, true] {
                    let mut c = before.clone();
                    if !accumulate {
                        c.fill(f32::NAN);
                    }
                    let product = Gemm {
                        accumulate,
                        ..gemm((m, n, k), (&a, a_strides), (&b, b_strides))
                    };
                    multiply(&library, product, &mut c, c_stride);
                    for i in 0..m {
                        for j in 0..n {
                            let sum: f64 = (0..k)
                                .map(|l| {
                                    f64::from(a[i * a_strides.0 + l * a_strides.1])
                                        * f64::from(b[l * b_strides.0 + j * b_strides.1])
                                })
                                .sum();
                            let old = f64::from(before[i * c_stride + j]);
                            let expected = if accumulate { old + sum } else { sum };
                            let got = f64::from(c[i * c_stride + j]);
                            assert!(
                                (got - expected).abs() < 1e-4,
                                "{} {m}×{n}×{k} ({i}, {j}): {got} for {expected}",
                                library.name()
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for library in libraries() {
        for (m, n, k) in [(700, 196, 300), (196, 784, 900), (256, 512, 130)] {
            let (a, b) = (numbers(m * k, 4), numbers(k * n, 5));
            let run = |threads| {
                let mut c = vec![0.0; m * n];
                with_threads(threads, || {
                    let product = gemm((m, n, k), (&a, (k, 1)), (&b, (1, k)));
                    multiply(&library, product, &mut c, n);
                });
                c.into_iter().map(f32::to_bits).collect::<Vec<_>>()
            };
            let one = run(1);
            assert!(one == run(2), "{} with 2 threads", library.name());
            assert!(one == run(8), "{} with 8 threads", library.name());
        }
    }
}

#[test]
fn the_space_between_the_rows_of_the_result_is_left_alone() {
    for library in libraries() {
        let (a, b) = (numbers(20 * 9, 6), numbers(9 * 11, 7));
        let mut c = vec![7.0; 20 * 16];
        let product = gemm((20, 11, 9), (&a, (9, 1)), (&b, (11, 1)));
        multiply(&library, product, &mut c, 16);
        assert!(c.chunks(16).all(|row| row[11..] == [7.0; 5]));
    }
}

#[test]
fn operands_with_two_wide_strides_and_broadcast_operands_are_multiplied() {
    for library in libraries() {
        let a = numbers(4 * 3 * 2, 8); // every second element of each row
        let b = [2.0]; // one element, broadcast to 3×2
        let mut c = [0.0; 8];
        let product = gemm((4, 2, 3), (&a[..], (6, 2)), (&b[..], (0, 0)));
        multiply(&library, product, &mut c, 2);
        for i in 0..4 {
            let expected = 2.0 * (a[i * 6] + a[i * 6 + 2] + a[i * 6 + 4]);
            assert!((c[i * 2] - expected).abs() < 1e-5);
            assert_eq!(c[i * 2], c[i * 2 + 1]);
        }
    }
}

#[test]
fn an_empty_sum_is_zero_and_an_empty_result_is_fine() {
    for library in libraries() {
        let mut c = [3.0, 4.0];
        let empty = gemm((1, 2, 0), (&[], (0, 1)), (&[], (2, 1)));
        let added = Gemm {
            accumulate: true,
            ..empty
        };
        multiply(&library, added, &mut c, 2);
        assert_eq!(c, [3.0, 4.0]);
        multiply(&library, empty, &mut c, 2);
        assert_eq!(c, [0.0, 0.0]);
        let no_rows = gemm((0, 2, 4), (&[], (4, 1)), (&[0.0; 8], (2, 1)));
        multiply(&library, no_rows, &mut [], 2);
    }
}

#[test]
fn doubles_agree_with_a_plain_loop() {
    let (m, n, k) = (40, 30, 50);
    let a: Vec<f64> = numbers(m * k, 9).into_iter().map(f64::from).collect();
    let b: Vec<f64> = numbers(k * n, 10).into_iter().map(f64::from).collect();
    let mut c = vec![0.0; m * n];
    let product = gemm((m, n, k), (&a[..], (1, m)), (&b[..], (n, 1)));
    product.run(&mut c, n);
    for i in 0..m {
        for j in 0..n {
            let expected: f64 = (0..k).map(|l| a[i + l * m] * b[l * n + j]).sum();
            assert!((c[i * n + j] - expected).abs() < 1e-12);
        }
    }
}

#[test]
#[should_panic(expected = "operand a is MatrixLayout { rows: 2, cols: 3")]
fn a_slice_too_short_is_rejected_with_its_sizes() {
    let short = gemm((2, 2, 3), (&[0.0; 5], (3, 1)), (&[0.0; 6], (2, 1)));
    short.run(&mut [0.0; 4], 2);
}

#[test]
#[should_panic(expected = "rows of c overlap")]
fn overlapping_rows_are_rejected() {
    let product = gemm((2, 2, 1), (&[0.0; 2], (1, 1)), (&[0.0; 2], (2, 1)));
    product.run_here(&mut [0.0; 4], 1);
}

#[test]
#[should_panic(expected = "exceeds its slice of 4 elements")]
fn a_size_that_overflows_is_rejected() {
    let huge = gemm((2, 2, 2), (&[0.0; 4], (usize::MAX, 1)), (&[0.0; 4], (2, 1)));
    huge.run(&mut [0.0; 4], 2);
}

/// The chains of sums of each element, as the documentation of the module defines them: of so many links, the first of
/// which begins with the element, or each of which is added to it.
fn chains<T: GemmElement>(
    gemm: &Gemm<'_, T>,
    c: &mut [T],
    links: Option<usize>,
    link: impl Fn(T, T, T) -> T,
) {
    let Factor::Matrix((b, b_strides)) = gemm.b else {
        panic!("a matrix that is not packed")
    };
    let (a, a_strides) = gemm.a;
    for (i, row) in c.chunks_mut(gemm.n).enumerate() {
        for (j, c) in row.iter_mut().enumerate() {
            let sum = |range: std::ops::Range<usize>, start: T| {
                range.fold(start, |sum, l| {
                    let a = a[i * a_strides.0 + l * a_strides.1];
                    link(a, b[l * b_strides.0 + j * b_strides.1], sum)
                })
            };
            let start = if gemm.accumulate { *c } else { T::ZERO };
            *c = match links {
                None => sum(0..gemm.k, start),
                Some(links) => (0..gemm.k).step_by(links).fold(start, |before, first| {
                    before + sum(first..gemm.k.min(first + links), T::ZERO)
                }),
            };
        }
    }
}

fn check_chains<T: GemmElement>(
    (m, n, k): (usize, usize, usize),
    [a_by_columns, b_by_columns, accumulate]: [bool; 3],
    fused: impl Fn(T, T, T) -> T,
) {
    let numbers = |count, seed| -> Vec<T> {
        let numbers = numbers(count, seed).into_iter();
        numbers.map(|x| T::from_f64(f64::from(x))).collect()
    };
    let (a, b, before) = (numbers(m * k, 1), numbers(k * n, 2), numbers(m * n, 3));
    let strides = |by_columns, rows, columns| match by_columns {
        true => (1, rows),
        false => (columns, 1),
    };
    let b = (&b[..], strides(b_by_columns, k, n));
    let plain = Gemm {
        accumulate,
        ..gemm((m, n, k), (&a, strides(a_by_columns, m, k)), b)
    };
    let mut packed = vec![T::from_f64(f64::NAN); packed_elements(k, n)];
    pack(b, (k, n), &mut packed);
    for rounding in [Rounding::Separate, Rounding::Fused] {
        let plain = Gemm { rounding, ..plain };
        let mut expected = before.clone();
        match rounding {
            Rounding::Separate => chains(&plain, &mut expected, None, |a, b, sum| sum + a * b),
            Rounding::Fused => chains(&plain, &mut expected, Some(DEPTH), &fused),
        }
        let b = Factor::Packed(&packed);
        for product in [plain, Gemm { b, ..plain }] {
            let same = |run: &dyn Fn(&mut [T])| {
                let mut c = before.clone();
                run(&mut c);
                assert!(c == expected, "{m}×{n}×{k} {rounding:?}");
            };
            same(&|c| product.run_here(c, n));
            let tiles = |c: &mut [T]| Product::new(&product, c, n).built_in(Split::among(3));
            same(&|c| with_threads(3, || tiles(c)));
            same(&|c| crate::parallel::on_workers(&crate::CallingThread, 1, || tiles(c)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_product_is_a_chain_of_sums_in_ascending_order(
        size in (1usize..90, 1usize..90, 1usize..300),
        large in 0usize..4,
        layout in any::<[bool; 3]>(),
    ) {
        let (m, n, k) = size;
        let size = [(m, n, k), (9 * m, n, 3), (m, 9 * n, 3), (2, n, 9 * k)][large];
        // Without fused operations in the processor the links are the same.
        let fused = |a: f64, b: f64, sum: f64| match crate::Cpu::instructions() {
            "baseline" if cfg!(target_arch = "x86_64") => sum + a * b,
            _ => a.mul_add(b, sum),
        };
        check_chains::<f64>(size, layout, fused);
        check_chains::<f32>(size, layout, |a, b, sum| match crate::Cpu::instructions() {
            "baseline" if cfg!(target_arch = "x86_64") => sum + a * b,
            _ => a.mul_add(b, sum),
        });
    }
}

#[test]
fn the_values_of_the_environment_variable_are_parsed() {
    for (word, choice) in [
        ("auto", GemmChoice::Auto),
        ("", GemmChoice::Auto),
        ("GEMM", GemmChoice::Gemm),
        ("mkl", GemmChoice::Mkl),
        (" openblas ", GemmChoice::OpenBlas),
        ("ordered", GemmChoice::Ordered),
    ] {
        assert_eq!(word.parse(), Ok(choice));
    }
    assert_eq!(
        "blis".parse::<GemmChoice>(),
        Err(GemmError::UnknownChoice {
            given: "blis".to_owned()
        })
    );
}

#[test]
fn a_library_has_a_name_a_path_and_a_version() {
    let built_in = GemmLibrary::open(GemmChoice::Gemm).unwrap();
    assert_eq!(
        (built_in.name(), built_in.path(), built_in.version()),
        ("gemm", None, None)
    );
    let ordered = GemmLibrary::open(GemmChoice::Ordered).unwrap();
    assert_eq!((ordered.name(), ordered.ordered), ("ordered", true));
    for library in libraries().iter().skip(1) {
        assert!(library.path().is_some(), "{}", library.name());
    }
}
