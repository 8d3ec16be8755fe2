//! Metrics against their definitions, over batches of different sizes.

use spikelet_graph::op::HostTensor;
use spikelet_nn::prelude::*;
use spikelet_train::metric::{self, ConfusionMatrix, Metric};

const CLASSES: usize = 3;

/// Scores of five samples; the last has two equal ones.
const SCORES: [[f32; CLASSES]; 5] = [
    [0.9, 0.05, 0.05],
    [0.2, 0.5, 0.3],
    [0.6, 0.3, 0.1],
    [0.1, 0.2, 0.7],
    [0.4, 0.4, 0.2],
];
const LABELS: [i64; 5] = [0, 1, 1, 0, 1];

/// The second input: labels, or values with the same number of columns as the first.
#[derive(Clone, Copy)]
enum Second<'a> {
    Labels(&'a [i64]),
    Values(&'a [f32]),
}

/// The value of a metric of two inputs in batches of these sizes, and the sums.
fn over_batches(
    first: &[f32],
    second: Second<'_>,
    batches: &[usize],
    build: impl Fn(&Var, &Var) -> Metric,
) -> Result<(f64, Vec<f64>)> {
    let width = first.len() / batches.iter().sum::<usize>();
    let (mut total, mut value, mut start) = (vec![], None, 0);
    for &rows in batches {
        let tracer = Tracer::new(DType::F32);
        let a = tracer.input("a", DType::F32, [rows, width]);
        let b = match second {
            Second::Labels(_) => tracer.input("b", DType::I64, [rows]),
            Second::Values(_) => tracer.input("b", DType::F32, [rows, width]),
        };
        let metric = build(&a, &b);
        tracer.check()?;
        tracer.output("sums", metric.sums());
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        let mut program = Program::new(tracer.finish()?, &mut store)?;
        let end = start + rows;
        let values = start * width..end * width;
        program.set("a", &first[values.clone()])?;
        let host = match second {
            Second::Labels(labels) => HostTensor::I64(&labels[start..end]),
            Second::Values(all) => HostTensor::F32(&all[values]),
        };
        program.set("b", host)?;
        program.run()?;
        let sums = program.get("sums")?.to_f64();
        total.resize(sums.len(), 0.0);
        for (total, sum) in total.iter_mut().zip(&sums) {
            *total += sum;
        }
        value = Some(metric);
        start = end;
    }
    let value = value.expect("there is a batch").value(&total, start as f64);
    Ok((value, total))
}

/// The value of a metric of a classifier, which is the same for all divisions into batches.
fn of_classes(build: impl Fn(&Var, &Var) -> Metric) -> Result<(f64, Vec<f64>)> {
    let scores = SCORES.concat();
    let in_batches =
        |batches: &[usize]| over_batches(&scores, Second::Labels(&LABELS), batches, &build);
    let whole = in_batches(&[5])?;
    for batches in [&[2, 3][..], &[1, 4], &[1, 1, 1, 1, 1]] {
        assert_eq!(in_batches(batches)?, whole, "{batches:?}");
    }
    Ok(whole)
}

#[test]
fn accuracy_counts_labels_among_the_largest_scores() -> Result<()> {
    // Predictions 0, 1, 0, 2, 0: of equal scores the first is the largest.
    assert_eq!(of_classes(metric::accuracy)?.0, 0.4);
    for (k, expected) in [(1, 0.4), (2, 0.8), (3, 1.0)] {
        assert_eq!(of_classes(|x, y| metric::top_k(x, y, k))?.0, expected);
    }
    Ok(())
}

#[test]
fn a_confusion_matrix_counts_labels_by_prediction() -> Result<()> {
    let (accuracy, sums) = of_classes(metric::confusion_matrix)?;
    assert_eq!(accuracy, 0.4);
    let matrix = ConfusionMatrix::from_sums(&sums);
    let rows: Vec<&[f64]> = matrix.rows().collect();
    assert_eq!(rows, [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]);
    assert_eq!(matrix.to_string(), "1 0 1\n2 1 0\n0 0 0");
    assert_eq!((matrix.precision(0), matrix.recall(0)), (1.0 / 3.0, 0.5));
    assert_eq!((matrix.precision(2), matrix.recall(2)), (0.0, 0.0));
    assert_eq!((matrix.f1(1), matrix.count(9, 0)), (0.5, 0.0));
    Ok(())
}

#[test]
fn f1_is_the_mean_over_the_classes_that_occur() -> Result<()> {
    // By class 2·TP / (predicted + actual): 2/5, 2/4, 0/1.
    let expected = (0.4 + 0.5 + 0.0) / 3.0;
    assert!((of_classes(metric::f1)?.0 - expected).abs() < 1e-15);
    for (class, expected) in [0.4, 0.5, 0.0].into_iter().enumerate() {
        let found = of_classes(|x, y| metric::f1_of_class(x, y, class))?.0;
        assert_eq!(found, expected);
    }
    Ok(())
}

#[test]
fn r2_is_the_mean_over_the_outputs() -> Result<()> {
    // scikit-learn's example: r2_score([[0.5, 1], [-1, 1], [7, -6]], [[0, 2], [-1, 2], [8, -5]]) is 0.936… with the
    // uniform average.
    let targets = [0.5_f32, 1.0, -1.0, 1.0, 7.0, -6.0];
    let predictions = [0.0_f32, 2.0, -1.0, 2.0, 8.0, -5.0];
    let r2 = |predictions: &[f32], targets: &[f32], batches: &[usize]| {
        over_batches(predictions, Second::Values(targets), batches, metric::r2)
    };
    for batches in [&[3][..], &[1, 2], &[2, 1]] {
        let found = r2(&predictions, &targets, batches)?.0;
        assert!((found - 0.936_800_526_662_278_7).abs() < 1e-7, "{found}");
    }
    // Equal targets, with and without errors.
    assert_eq!(r2(&[1.0, 1.0], &[1.0, 1.0], &[2])?.0, 1.0);
    assert_eq!(r2(&[1.0, 2.0], &[1.0, 1.0], &[2])?.0, 0.0);
    Ok(())
}

#[test]
fn a_mean_weights_all_samples_alike() -> Result<()> {
    let values = [1.0_f32, 3.0, 2.0, 4.0, 5.0, 3.0];
    let zeros = Second::Values(&[0.0; 6]);
    let mean =
        |batches: &[usize]| over_batches(&values, zeros, batches, |x, y| metric::mean(&(x - y)));
    for batches in [&[3][..], &[1, 2]] {
        assert_eq!(mean(batches)?.0, 3.0);
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit_are_errors() {
    let refused = |build: &dyn Fn(&Tracer) -> Metric, expected: &str| {
        let tracer = Tracer::new(DType::F32);
        build(&tracer);
        let message = tracer.check().expect_err(expected).to_string();
        assert!(message.contains(expected), "{message}");
    };
    let scores = |t: &Tracer, shape: &[usize]| t.input("scores", DType::F32, shape);
    let labels = |t: &Tracer| t.input("labels", DType::I64, [4]);
    let rows = "a row for each label";
    for build in [
        metric::accuracy as fn(&Var, &Var) -> Metric,
        metric::f1,
        metric::confusion_matrix,
        |x, y| metric::top_k(x, y, 1),
    ] {
        refused(&|t| build(&scores(t, &[3, 5]), &labels(t)), rows);
        refused(&|t| build(&scores(t, &[8, 4, 5]), &labels(t)), rows);
    }
    refused(
        &|t| metric::top_k(&scores(t, &[4, 5]), &labels(t), 0),
        "k is 0",
    );
    refused(
        &|t| metric::top_k(&scores(t, &[4, 5]), &labels(t), 6),
        "k is 6",
    );
    let pair = |t: &Tracer| metric::r2(&scores(t, &[4, 1]), &t.input("y", DType::F32, [4]));
    refused(&pair, "different shapes");
}
