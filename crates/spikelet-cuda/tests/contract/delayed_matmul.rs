//! Products over time with a lag for each weight: as on the CPU.

use crate::harness::{SUMS, data, gpu, numbers, same_on, tensor};
use spikelet_graph::Tensor;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_with_a_lag_for_each_weight_agree_with_the_cpu() {
    let gpu = gpu();
    // One step and many tiles of steps, columns and inputs; windows of one word and of many.
    for [most, steps, batch, inputs, outputs] in [
        [0, 1, 1, 1, 1],
        [24, 1, 3, 20, 17],
        [24, 130, 5, 300, 129],
        [7, 64, 2, 100, 128],
        [900, 20, 2, 400, 40],
        [30, 65, 300, 33, 256],
    ] {
        let rows = most + steps;
        let values = numbers(rows * batch * inputs, 1);
        let spikes: Vec<f32> = values.iter().map(|x| f32::from(*x > 0.8)).collect();
        let analog: Vec<f32> = values.iter().map(|x| x.max(0.0)).collect();
        let lag = numbers(inputs * outputs, 3);
        let lag: Vec<f32> = (lag.iter())
            .map(|x| ((x + 1.0) / 2.0 * most as f32).round())
            .collect();
        let (weight, lag) = (
            tensor(&[inputs, outputs], 2),
            Tensor::f32([inputs, outputs], lag),
        );
        for x in [spikes, analog] {
            let x = Tensor::f32([rows, batch, inputs], x);
            let inputs = [
                ("x", x.clone()),
                ("weight", weight.clone()),
                ("lag", lag.clone()),
            ];
            same_on(
                &gpu,
                &inputs,
                |_| SUMS,
                |tracer| {
                    let [x, weight, lag] = [("x", &x), ("weight", &weight), ("lag", &lag)]
                        .map(|(name, t)| data(tracer, name, t));
                    let y = x.delayed_matmul(&weight, &lag, most);
                    tracer.output("y", &y);
                    if most < 100 {
                        let grads = tracer.gradients(&y.square().sum_all(), &[&x, &weight]);
                        tracer.output("dx", &grads[0]);
                        tracer.output("dw", &grads[1]);
                    }
                },
            );
        }
    }
}
