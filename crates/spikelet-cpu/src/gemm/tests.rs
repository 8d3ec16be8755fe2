use super::product::{Partition, Product, Strided};
use super::*;

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
        b,
        accumulate: false,
    }
}

/// Computes a product with a given library.
fn multiply(
    library: &GemmLibrary,
    gemm: Gemm<'_, f32>,
    c: &mut [f32],
    c_row_stride: usize,
) -> Result<(), GemmError> {
    Product::new(&gemm, c, c_row_stride)?.multiply(library, Partition::Tiles);
    Ok(())
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
                    multiply(&library, product, &mut c, c_stride).unwrap();
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
                    multiply(&library, product, &mut c, n)
                })
                .unwrap();
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
        multiply(&library, product, &mut c, 16).unwrap();
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
        multiply(&library, product, &mut c, 2).unwrap();
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
        multiply(&library, added, &mut c, 2).unwrap();
        assert_eq!(c, [3.0, 4.0]);
        multiply(&library, empty, &mut c, 2).unwrap();
        assert_eq!(c, [0.0, 0.0]);
        let no_rows = gemm((0, 2, 4), (&[], (4, 1)), (&[0.0; 8], (2, 1)));
        multiply(&library, no_rows, &mut [], 2).unwrap();
    }
}

#[test]
fn doubles_agree_with_a_plain_loop() {
    let (m, n, k) = (40, 30, 50);
    let a: Vec<f64> = numbers(m * k, 9).into_iter().map(f64::from).collect();
    let b: Vec<f64> = numbers(k * n, 10).into_iter().map(f64::from).collect();
    let mut c = vec![0.0; m * n];
    let product = gemm((m, n, k), (&a[..], (1, m)), (&b[..], (n, 1)));
    product.run(&mut c, n).unwrap();
    for i in 0..m {
        for j in 0..n {
            let expected: f64 = (0..k).map(|l| a[i + l * m] * b[l * n + j]).sum();
            assert!((c[i * n + j] - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn a_slice_too_short_is_rejected_with_its_sizes() {
    let mut c = [0.0; 4];
    let short = gemm((2, 2, 3), (&[0.0; 5], (3, 1)), (&[0.0; 6], (2, 1)));
    assert_eq!(
        short.run(&mut c, 2),
        Err(GemmError::TooShort {
            operand: "a",
            rows: 2,
            cols: 3,
            row_stride: 3,
            col_stride: 1,
            needed: 6,
            len: 5,
        })
    );
    let product = gemm((2, 2, 1), (&[0.0; 2], (1, 1)), (&[0.0; 2], (2, 1)));
    assert_eq!(
        product.run_here(&mut c, 1),
        Err(GemmError::OverlappingRows {
            cols: 2,
            row_stride: 1
        })
    );
    let huge = gemm((2, 2, 2), (&[0.0; 4], (usize::MAX, 1)), (&[0.0; 4], (2, 1)));
    assert!(matches!(
        huge.run(&mut c, 2),
        Err(GemmError::TooShort {
            needed: usize::MAX,
            ..
        })
    ));
}

#[test]
fn the_values_of_the_environment_variable_are_parsed() {
    for (word, choice) in [
        ("auto", GemmChoice::Auto),
        ("", GemmChoice::Auto),
        ("GEMM", GemmChoice::Gemm),
        ("mkl", GemmChoice::Mkl),
        (" openblas ", GemmChoice::OpenBlas),
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
    for library in libraries().iter().skip(1) {
        assert!(library.path().is_some(), "{}", library.name());
    }
}
