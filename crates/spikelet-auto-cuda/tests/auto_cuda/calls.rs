//! Calls on a GPU: the reference's examples, padding of odd halves, tensors that do not fit.

use crate::machine::{Trusted, gpu};
use spikelet_auto_cuda::{
    AutoCudaError, CKernel, CKernel1D, CKernel2D, Callable, CudaTensor, Element, Kernel, cal_blocks,
};
use spikelet_cuda::Cuda;
use spikelet_graph::f16;

pub fn f32s(gpu: &Cuda, shape: &[usize], values: &[f32]) -> CudaTensor {
    CudaTensor::new(gpu, shape, values).unwrap()
}

pub fn halves(gpu: &Cuda, shape: &[usize], values: impl IntoIterator<Item = f32>) -> CudaTensor {
    let values: Vec<f16> = values.into_iter().map(f16::from_f32).collect();
    CudaTensor::new(gpu, shape, &values).unwrap()
}

pub fn read(tensor: &CudaTensor) -> Vec<f32> {
    match tensor.element() {
        Element::F16 => {
            let values: Vec<f16> = tensor.to_vec().unwrap();
            values.into_iter().map(f16::to_f32).collect()
        }
        _ => tensor.to_vec().unwrap(),
    }
}

fn kernel_1d(name: &str, params: &[(&str, &str)], core: &str) -> CKernel1D {
    let mut kernel = CKernel1D::new(name);
    for (ctype, cname) in params {
        kernel.add_param(ctype, cname).unwrap();
    }
    kernel.set_core(core);
    kernel
}

pub fn heaviside() -> CKernel1D {
    kernel_1d(
        "heaviside",
        &[("const float *", "x"), ("float *", "y")],
        "y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;",
    )
}

fn cumsum() -> CKernel2D {
    let mut kernel = CKernel2D::new("cumsum", false);
    kernel.add_param("const float *", "x").unwrap();
    kernel.add_param("float *", "y").unwrap();
    kernel.set_core(
        "if (t - dt < 0)
        {
            y[t] = x[t];
        }
        else
        {
            y[t] = x[t] + y[t - dt];
        }",
    );
    kernel
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_references_heaviside_gives_its_results() {
    let gpu = gpu();
    let called = [
        -0.0423, -0.1383, -0.0238, 0.1018, 0.3422, 0.1449, -0.2938, -0.1858, -0.3503, 0.0004,
        -0.4274, -0.2012, -0.0227, 0.2229, -0.0776, 0.2687,
    ];
    let x = f32s(&gpu, &[4, 4], &called);
    let y = CudaTensor::zeros(&gpu, Element::F32, [4, 4]).unwrap();
    let (numel, threads) = (16, 1024);
    let blocks = cal_blocks(numel, threads) as u32;
    let args = [
        ("numel", (numel as i32).into()),
        ("x", (&x).into()),
        ("y", (&y).into()),
    ];
    heaviside().run(blocks, threads, &args).unwrap();
    assert_eq!(
        read(&y),
        [
            0., 0., 0., 1., 1., 1., 0., 0., 0., 1., 0., 0., 0., 1., 0., 1.
        ]
    );
    let simply = [
        -0.1706, 0.2063, -0.2077, 0.3335, -0.0180, -0.2429, 0.3488, 0.1146, 0.0362, 0.1584, 0.4828,
        -0.1389, -0.2684, 0.1898, 0.0560, 0.2058,
    ];
    let x = f32s(&gpu, &[4, 4], &simply);
    heaviside()
        .run_simple(&[("y", (&y).into()), ("x", (&x).into())])
        .unwrap();
    assert_eq!(
        read(&y),
        [
            0., 1., 0., 1., 0., 0., 1., 1., 1., 1., 1., 0., 0., 1., 1., 1.
        ]
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_references_cumsum_gives_its_results() {
    let gpu = gpu();
    let y = CudaTensor::zeros(&gpu, Element::F32, [4, 3]).unwrap();
    let x = f32s(
        &gpu,
        &[4, 3],
        &[3., 0., 2., 2., 0., 0., 2., 3., 2., 2., 1., 0.],
    );
    let args = [
        ("N", 3.into()),
        ("numel", 12.into()),
        ("x", (&x).into()),
        ("y", (&y).into()),
    ];
    cumsum().run(1, 1024, &args).unwrap();
    assert_eq!(read(&y), [3., 0., 2., 5., 0., 2., 7., 3., 4., 9., 4., 4.]);
    let x = f32s(
        &gpu,
        &[4, 3],
        &[0., 2., 1., 1., 3., 1., 2., 2., 0., 2., 0., 1.],
    );
    cumsum()
        .run_simple(&[("x", (&x).into()), ("y", (&y).into())])
        .unwrap();
    assert_eq!(read(&y), [0., 2., 1., 1., 5., 2., 3., 7., 2., 5., 7., 3.]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_odd_number_of_halves_is_padded_and_the_results_reach_the_caller() {
    let gpu = gpu();
    let double = kernel_1d(
        "twice",
        &[("const half2 *", "x"), ("half2 *", "y")],
        "y[index] = __hadd2(x[index], x[index]);",
    );
    for shape in [
        vec![],
        vec![1],
        vec![2],
        vec![5],
        vec![3, 5],
        vec![4, 3],
        vec![1025],
    ] {
        let count: usize = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|k| k as f32 - 2.0).collect();
        let x = halves(&gpu, &shape, values.iter().copied());
        let y = CudaTensor::zeros(&gpu, Element::F16, shape.clone()).unwrap();
        let expected: Vec<f32> = values.iter().map(|x| 2.0 * x).collect();
        double
            .run_simple(&[("x", (&x).into()), ("y", (&y).into())])
            .unwrap();
        assert_eq!(read(&y), expected, "{shape:?}");
        assert_eq!(read(&x), values, "{shape:?}");
        assert_eq!(y.shape(), shape);
        // By hand, in pairs.
        let y = CudaTensor::zeros(&gpu, Element::F16, shape.clone()).unwrap();
        let numel = count.div_ceil(2);
        let args = [
            ("x", (&x).into()),
            ("numel", (numel as i32).into()),
            ("y", (&y).into()),
        ];
        let blocks = cal_blocks(numel, 64) as u32;
        double.run(blocks, 64, &args).unwrap();
        assert_eq!(read(&y), expected, "{shape:?}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn what_a_kernel_does_not_write_stays_as_it_was() {
    let gpu = gpu();
    let first = kernel_1d(
        "first",
        &[("half2 *", "y")],
        "if (index == 0) y[index] = __float2half2_rn(9.0f);",
    );
    let y = halves(&gpu, &[5], [1., 2., 3., 4., 5.]);
    first.run_simple(&[("y", (&y).into())]).unwrap();
    assert_eq!(read(&y), [9., 9., 3., 4., 5.]);
    let mut last_step = CKernel2D::new("last_step", false);
    last_step.add_param("half2 *", "y").unwrap();
    last_step.set_core("if (t + dt >= numel) y[t] = __float2half2_rn(9.0f);");
    let y = halves(&gpu, &[2, 3], [1., 2., 3., 4., 5., 6.]);
    last_step.run_simple(&[("y", (&y).into())]).unwrap();
    assert_eq!(read(&y), [1., 2., 3., 9., 9., 9.]);
}

/// y[t] = y[t − 1] + x[t] + b, and the sum of a column's last step goes to `last`.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn odd_columns_are_padded_row_by_row_and_single_rows_by_an_element() {
    let gpu = gpu();
    let mut kernel = CKernel2D::new("sums", false);
    for (ctype, cname) in [
        ("const half2 *", "x"),
        ("const half2 *", "b"),
        ("half2 *", "y"),
        ("half2 *", "last"),
    ] {
        kernel.add_param(ctype, cname).unwrap();
    }
    kernel.set_pre_core("half2 sum = __float2half2_rn(0.0f);");
    kernel.set_core("sum = __hadd2(sum, __hadd2(x[t], b[index]));\ny[t] = sum;");
    kernel.set_post_core("last[index] = sum;");
    for (steps, n) in [(1, 1), (3, 5), (4, 4), (2, 33), (5, 1)] {
        let at = |t: usize, j: usize| (t * n + j) as f32;
        let x = halves(&gpu, &[steps, n], (0..steps * n).map(|k| k as f32));
        let b = halves(&gpu, &[n], (0..n).map(|j| j as f32 * 0.5));
        let y = CudaTensor::zeros(&gpu, Element::F16, [steps, n]).unwrap();
        let last = CudaTensor::zeros(&gpu, Element::F16, [n]).unwrap();
        let args = [
            ("x", (&x).into()),
            ("b", (&b).into()),
            ("y", (&y).into()),
            ("last", (&last).into()),
        ];
        kernel.run_simple(&args).unwrap();
        let sum = |t: usize, j: usize| (0..=t).map(|s| at(s, j) + j as f32 * 0.5).sum();
        let expected: Vec<f32> = (0..steps * n).map(|k| sum(k / n, k % n)).collect();
        assert_eq!(read(&y), expected, "[{steps}, {n}]");
        assert_eq!(read(&last), expected[(steps - 1) * n..], "[{steps}, {n}]");
        assert_eq!(read(&b).len(), n);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn numbers_reach_the_kernel_by_value_and_by_reference() {
    let gpu = gpu();
    let mut kernel = CKernel::new("numbers");
    for (ctype, cname) in [
        ("float", "a"),
        ("const float &", "B"),
        ("int", "c"),
        ("const int &", "d"),
        ("half2 &", "E"),
        ("half2", "f"),
        ("half", "h"),
        ("half &", "i"),
        ("float *", "y"),
    ] {
        kernel.add_param(ctype, cname).unwrap();
    }
    kernel.set_core(
        "y[0] = a; y[1] = B; y[2] = c; y[3] = d;
        y[4] = __low2float(E); y[5] = __high2float(E);
        y[6] = __low2float(f); y[7] = __high2float(f);
        y[8] = __half2float(h); y[9] = __half2float(i);",
    );
    let y = CudaTensor::zeros(&gpu, Element::F32, [10]).unwrap();
    let d = CudaTensor::new(&gpu, [1], &[-4]).unwrap();
    let half = halves(&gpu, &[1], [9.5]);
    let args = [
        ("y", (&y).into()),
        ("i", 7.25.into()),
        ("h", 6.25.into()),
        ("f", 5.5.into()),
        ("E", (&half).into()),
        ("d", (&d).into()),
        ("c", (-3).into()),
        ("B", 2.5.into()),
        ("a", 1.5.into()),
    ];
    kernel.run(1, 1, &args).unwrap();
    assert_eq!(
        read(&y),
        [1.5, 2.5, -3.0, -4.0, 9.5, 9.5, 5.5, 5.5, 6.25, 7.25]
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn calls_that_follow_each_other_have_numbers_of_their_own() {
    let gpu = gpu();
    let add = kernel_1d(
        "add_number",
        &[("float *", "y"), ("const float &", "number")],
        "y[index] += number;",
    );
    let y = CudaTensor::zeros(&gpu, Element::F32, [1000]).unwrap();
    for k in 0..100 {
        add.run_simple(&[("y", (&y).into()), ("number", (k as f32).into())])
            .unwrap();
    }
    assert!(read(&y).iter().all(|y| *y == 4950.0));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_grid_has_three_dimensions() {
    let gpu = gpu();
    let mut kernel = CKernel::new("places");
    kernel.add_param("int *", "y").unwrap();
    kernel.set_core(
        "const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        y[block * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x] = block;",
    );
    let y = CudaTensor::zeros(&gpu, Element::I32, [2 * 3 * 4, 6]).unwrap();
    kernel
        .run([2, 3, 4], [3, 2], &[("y", (&y).into())])
        .unwrap();
    let expected: Vec<i32> = (0..24 * 6).map(|k| k / 6).collect();
    assert_eq!(y.to_vec::<i32>().unwrap(), expected);
    for (grid, block) in [(0, 1), (1, 0), (1, 2048)] {
        let error = kernel.run(grid, block, &[("y", (&y).into())]).unwrap_err();
        assert!(matches!(error, AutoCudaError::Launch { .. }), "{error}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn nothing_is_done_for_tensors_without_elements() {
    let gpu = gpu();
    let empty = |shape: &[usize]| CudaTensor::zeros(&gpu, Element::F32, shape).unwrap();
    let (x, y) = (empty(&[0]), empty(&[0]));
    let args = [("x", (&x).into()), ("y", (&y).into())];
    heaviside().run_simple(&args).unwrap();
    let (x, y) = (empty(&[4, 0]), empty(&[4, 0]));
    let args = [("x", (&x).into()), ("y", (&y).into())];
    cumsum().run_simple(&args).unwrap();
    assert!(heaviside().run_simple(&args[..1]).is_err());
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn tensors_that_do_not_agree_are_refused_by_a_simple_call() {
    let gpu = gpu();
    let x = f32s(&gpu, &[2, 3], &[0.0; 6]);
    let y = f32s(&gpu, &[2, 2], &[0.0; 4]);
    let args = [("x", (&x).into()), ("y", (&y).into())];
    for error in [
        heaviside().run_simple(&args).unwrap_err(),
        cumsum().run_simple(&args).unwrap_err(),
    ] {
        assert!(matches!(error, AutoCudaError::Sizes { .. }), "{error}");
        assert!(
            error.to_string().contains("`x` [2, 3] and `y` [2, 2]"),
            "{error}"
        );
    }
    let flat = [("x", (&x).into()), ("y", (&x).into()), ("numel", 6.into())];
    let error = heaviside().run_simple(&flat).unwrap_err();
    assert!(
        matches!(error, AutoCudaError::RepeatedArgument { .. }),
        "{error}"
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn tensors_of_two_handles_are_refused() {
    let (gpu, other) = (gpu(), gpu());
    let x = f32s(&gpu, &[4], &[0.0; 4]);
    let y = f32s(&other, &[4], &[0.0; 4]);
    let error = heaviside()
        .run_simple(&[("x", (&x).into()), ("y", (&y).into())])
        .unwrap_err();
    assert!(
        matches!(error, AutoCudaError::OtherHandle { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("open cuda:0 once"), "{error}");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn addresses_stand_in_the_order_of_the_call() {
    let gpu = gpu();
    let (x, y) = (f32s(&gpu, &[4], &[0.0; 4]), f32s(&gpu, &[4], &[0.0; 4]));
    let kernel = heaviside();
    let of = |args: &[_]| kernel.get_ptrs(args).unwrap();
    let args = [("y", (&y).into()), ("x", (&x).into()), ("numel", 4.into())];
    let given = of(&args);
    let turned = of(&[args[2], args[1], args[0]]);
    assert_eq!(given, turned);
    assert!(given[0].is_none() && given[1].is_some() && given[2].is_some());
    assert_ne!(given[1], given[2]);
    let swapped = of(&[("x", (&y).into()), ("y", (&x).into()), ("numel", 4.into())]);
    assert_eq!(swapped, [None, given[2], given[1]]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_text_that_does_not_compile_is_shown() {
    let gpu = gpu();
    let kernel = kernel_1d("wrong", &[("float *", "y")], "y[index] = nothing;");
    let y = f32s(&gpu, &[1], &[0.0]);
    let error = kernel.run_simple(&[("y", (&y).into())]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("\"nothing\" is undefined"), "{text}");
}
