//! Tensors on a GPU: made, read, turned around.

use crate::calls::{f32s, halves, heaviside, read};
use crate::machine::{Trusted, gpu};
use spikelet_auto_cuda::{AutoCudaError, CudaTensor, Element};

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_transposed_tensor_is_refused_until_it_is_contiguous() {
    let gpu = gpu();
    let x = f32s(&gpu, &[2, 3], &[1., -2., 3., -4., 5., -6.]);
    let turned = x.transpose(0, 1).unwrap();
    assert_eq!(
        (turned.shape(), turned.strides()),
        (&[3, 2][..], &[1, 3][..])
    );
    assert_eq!(read(&turned), [1., -4., -2., 5., 3., -6.]);
    let y = CudaTensor::zeros(&gpu, Element::F32, [3, 2]).unwrap();
    let call = |x: &CudaTensor| heaviside().run_simple(&[("x", x.into()), ("y", (&y).into())]);
    let error = call(&turned).unwrap_err();
    assert!(
        matches!(error, AutoCudaError::NotContiguous { .. }),
        "{error}"
    );
    call(&turned.contiguous().unwrap()).unwrap();
    assert_eq!(read(&y), [1., 0., 0., 1., 1., 0.]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn tensors_of_every_element_can_be_turned() {
    let gpu = gpu();
    let turned = |k: usize| {
        // [4, 3, 2] of [2, 3, 4] with the first and the last axis exchanged.
        let (a, b, c) = (k / 6, k / 2 % 3, k % 2);
        (c * 12 + b * 4 + a) as i32
    };
    let expected: Vec<i32> = (0..24).map(turned).collect();
    let whole: Vec<i32> = (0..24).collect();
    let x = CudaTensor::new(&gpu, [2, 3, 4], &whole).unwrap();
    let x = x.transpose(0, 2).unwrap();
    assert_eq!(x.to_vec::<i32>().unwrap(), expected);
    let x = halves(&gpu, &[2, 3, 4], (0..24).map(|k| k as f32));
    let x = x.transpose(2, 0).unwrap().contiguous().unwrap();
    assert!(x.is_contiguous());
    let given: Vec<i32> = read(&x).iter().map(|x| *x as i32).collect();
    assert_eq!(given, expected);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_tensor_is_made_and_read_as_what_it_is() {
    let gpu = gpu();
    let error = CudaTensor::new(&gpu, [2, 2], &[1.0_f32; 3]).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("[2, 2]") && message.contains("3 values"),
        "{message}"
    );
    let x = f32s(&gpu, &[2, 2], &[1.0; 4]);
    let error = x.to_vec::<i32>().unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("of f32 cannot be read as i32"),
        "{message}"
    );
    let error = x.transpose(0, 2).unwrap_err();
    assert!(
        matches!(error, AutoCudaError::Axis { axis: 2, .. }),
        "{error}"
    );
    let error = CudaTensor::zeros(&gpu, Element::F32, [usize::MAX, 2]).unwrap_err();
    assert!(matches!(error, AutoCudaError::Shape { .. }), "{error}");
    let empty = CudaTensor::zeros(&gpu, Element::F32, [0, 3]).unwrap();
    assert!(empty.is_empty() && read(&empty).is_empty());
    assert_eq!(format!("{x:?}"), "f32[2, 2] on cuda:0");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_large_tensor_goes_up_and_down() {
    let gpu = gpu();
    let values: Vec<i32> = (0..9_000_000).collect();
    let x = CudaTensor::new(&gpu, [3000, 3000], &values).unwrap();
    assert_eq!(x.to_vec::<i32>().unwrap(), values);
}
