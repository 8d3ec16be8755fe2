//! Calls as the reference's programs make them: inside a device environment, with numbers in device memory.

use crate::machine::{Trusted, gpu};
use spikelet_auto_cuda::neuron_kernel::IFNodeFPTTKernel;
use spikelet_auto_cuda::{
    AutoCudaError, CKernel1D, CKernel2D, CudaTensor, DeviceEnvironment, Dtype, Element, Kernel,
    OwnedArgument, PyDict, arguments, cal_blocks, new_tensors, scalar_to_cupy,
};
use spikelet_graph::f16;

/// The reference's program for `heaviside`, with the numbers that it prints.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn heaviside_runs_in_a_device_environment_as_in_the_reference() {
    let mut c_heaviside = CKernel1D::new("heaviside");
    c_heaviside.add_param("const float *", "x").unwrap();
    c_heaviside.add_param("float *", "y").unwrap();
    c_heaviside.set_core("y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;");
    let device = gpu();
    let x = [
        -0.0423_f32,
        -0.1383,
        -0.0238,
        0.1018,
        0.3422,
        0.1449,
        -0.2938,
        -0.1858,
        -0.3503,
        0.0004,
        -0.4274,
        -0.2012,
        -0.0227,
        0.2229,
        -0.0776,
        0.2687,
    ];
    let x = CudaTensor::new(&device, [4, 4], &x).unwrap();
    let y = CudaTensor::zeros(&device, Element::F32, [4, 4]).unwrap();
    let numel = x.len();
    let threads = 1024;
    let blocks = cal_blocks(numel, threads) as u32;
    {
        let _environment = DeviceEnvironment::new(x.device()).unwrap();
        assert_eq!(DeviceEnvironment::current().unwrap(), Some(x.device()));
        let numel = CudaTensor::new(&device, [], &[numel as i32]).unwrap();
        let py_dict = PyDict::from([
            ("numel", numel.into()),
            ("x", x.into()),
            ("y", y.clone().into()),
        ]);
        c_heaviside
            .run(blocks, threads, &arguments(&py_dict))
            .unwrap();
    }
    let printed = [
        0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0,
    ];
    assert_eq!(y.to_vec::<f32>().unwrap(), printed);
}

/// The reference's program for `cumsum`, with the numbers that it prints.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn cumsum_runs_in_a_device_environment_as_in_the_reference() {
    let mut cumsum = CKernel2D::new("cumsum", false);
    cumsum.add_param("const float *", "x").unwrap();
    cumsum.add_param("float *", "y").unwrap();
    cumsum.set_core("if (t - dt < 0) { y[t] = x[t]; } else { y[t] = x[t] + y[t - dt]; }");
    let (t, n) = (4, 3);
    let device = gpu();
    let x = [
        3.0_f32, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0, 3.0, 2.0, 2.0, 1.0, 0.0,
    ];
    let x = CudaTensor::new(&device, [t, n], &x).unwrap();
    let y = CudaTensor::zeros(&device, Element::F32, [t, n]).unwrap();
    let threads = 1024;
    let blocks = cal_blocks(n, threads) as u32;
    {
        let _environment = DeviceEnvironment::new(x.device()).unwrap();
        let numel = CudaTensor::new(&device, [], &[(t * n) as i32]).unwrap();
        let n = CudaTensor::new(&device, [], &[n as i32]).unwrap();
        let py_dict = PyDict::from([
            ("N", n.into()),
            ("numel", numel.into()),
            ("x", x.into()),
            ("y", y.clone().into()),
        ]);
        cumsum.run(blocks, threads, &arguments(&py_dict)).unwrap();
    }
    let printed = [3.0, 0.0, 2.0, 5.0, 0.0, 2.0, 7.0, 3.0, 4.0, 9.0, 4.0, 4.0];
    assert_eq!(y.to_vec::<f32>().unwrap(), printed);
}

/// The forward pass of the tutorial's IF neuron, with all numbers in device memory and all results as zeros at first.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn numbers_and_results_get_the_device_and_the_type_of_x_seq() {
    let device = gpu();
    for dtype in Dtype::ALL {
        let (t, n) = (3, 2);
        let x = [0.5_f32, 1.5, 0.25, 0.5, 0.5, 0.75];
        let x_seq = match dtype {
            Dtype::Float => CudaTensor::new(&device, [t, n], &x),
            Dtype::Half2 => CudaTensor::new(&device, [t, n], &x.map(f16::from_f32)),
        }
        .unwrap();
        let element = x_seq.element();
        let v_v_seq = CudaTensor::zeros(&device, element, [t + 1, n]).unwrap();
        let lanes = if dtype == Dtype::Half2 { 2 } else { 1 };
        let mut py_dict = PyDict::from([
            ("x_seq", x_seq.into()),
            ("v_v_seq", v_v_seq.into()),
            ("v_th", 1.0_f32.into()),
            ("v_reset", 0.0_f32.into()),
            ("numel", ((t * n / lanes) as i32).into()),
            ("N", ((n / lanes) as i32).into()),
        ]);
        scalar_to_cupy(&mut py_dict, "x_seq").unwrap();
        new_tensors(&["h_seq", "spike_seq"], &mut py_dict, "x_seq").unwrap();
        let tensor = |name| match &py_dict[name] {
            OwnedArgument::Tensor(tensor) => tensor,
            number => panic!("{name} is {number:?}"),
        };
        let pair: &[usize] = if dtype == Dtype::Half2 { &[2] } else { &[] };
        assert_eq!(
            (tensor("v_th").element(), tensor("v_th").shape()),
            (element, pair)
        );
        assert_eq!(tensor("numel").element(), Element::I32);
        assert_eq!(
            (tensor("h_seq").element(), tensor("h_seq").shape()),
            (element, &[t, n][..])
        );
        let kernel = IFNodeFPTTKernel::new(true, dtype);
        kernel.run(1, 32, &arguments(&py_dict)).unwrap();
        let values = |name| match dtype {
            Dtype::Float => tensor(name).to_vec::<f32>().unwrap(),
            Dtype::Half2 => {
                let halves = tensor(name).to_vec::<f16>().unwrap();
                halves.into_iter().map(f16::to_f32).collect()
            }
        };
        assert_eq!(values("h_seq"), [0.5, 1.5, 0.75, 0.5, 1.25, 1.25]);
        assert_eq!(values("spike_seq"), [0.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    }
}

#[test]
fn a_tensor_to_be_like_is_asked_for_by_its_name() {
    let mut py_dict = PyDict::from([("x_seq", 1.0_f32.into())]);
    for (name, given) in [("x_seq", "the number 1"), ("x", "not given")] {
        let errors = [
            scalar_to_cupy(&mut py_dict, name),
            new_tensors(&["h_seq"], &mut py_dict, name),
        ];
        for error in errors.map(Result::unwrap_err) {
            let AutoCudaError::Reference {
                cname,
                given: found,
                ..
            } = &error
            else {
                panic!("{error}");
            };
            assert_eq!((cname.as_str(), found.as_str()), (name, given));
        }
    }
}
