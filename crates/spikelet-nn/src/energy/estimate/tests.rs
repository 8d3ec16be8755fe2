//! Each figure of a small network from first principles.

use super::*;
use crate::energy::NeuronOps;

/// Two samples and three time steps: 6 analog inputs, 4 neurons; 4 spikes, 2 neurons.
fn small() -> NetworkCounts {
    // LIF: 3 additions, 1 multiplication, 1 comparison, 1 state.
    let ops = NeuronOps {
        additions: 3,
        multiplications: 1,
        comparisons: 1,
        states: 1,
        ..NeuronOps::default()
    };
    let first = LayerCounts {
        name: "fc.0".to_string(),
        connections: 24,
        passes: 3,
        multiply_accumulates: 100,
        weights: 24,
        parameters: 28,
        neurons: 4,
        ops,
        inputs: 6,
        analog_inputs: true,
        outputs: 4,
        nonzero_outputs: 9,
        ..LayerCounts::default()
    };
    let second = LayerCounts {
        name: "fc.2".to_string(),
        connections: 8,
        passes: 3,
        // 9 spikes, each with 2 connections.
        accumulates: 18,
        weights: 8,
        parameters: 8,
        neurons: 2,
        ops,
        inputs: 4,
        outputs: 2,
        nonzero_outputs: 5,
        ..LayerCounts::default()
    };
    NetworkCounts {
        samples: 2,
        layers: vec![first, second],
    }
}

fn table(name: &str) -> CostTable {
    CostTable::find(name).expect("it is known")
}

fn close(found: Energy, expected: f64) {
    let near = |x: f64| (x - expected).abs() <= 1e-9 * expected.max(1.0);
    assert!(near(found.low) && near(found.high), "{found:?} {expected}");
}

#[test]
fn arithmetic_of_a_spiking_network() {
    let plain = table("horowitz-45nm");
    let found = Estimate::spiking(
        &small(),
        &plain,
        NumberFormat::F32,
        WeightReads::EachOperation,
    );
    let found = found.expect("sound");
    let [first, second] = &found.layers[..] else {
        panic!("{found}")
    };
    // 100 multiply-accumulates of two samples.
    close(first.synapses, 50.0 * (3.7 + 0.9));
    // 4 neurons, 3 steps: 3 additions and a comparison, a multiplication.
    close(first.neurons, 12.0 * (4.0 * 0.9 + 3.7));
    close(second.synapses, 9.0 * 0.9);
    close(second.neurons, 6.0 * (4.0 * 0.9 + 3.7));
    for memory in [first.parameters, first.states, first.activations] {
        assert_eq!(memory, Energy::default());
    }
    let total = 50.0 * 4.6 + 9.0 * 0.9 + 18.0 * 7.3;
    close(found.total(), total);
    assert!(found.assumptions.contains(&NO_MEMORY.to_string()));
}

#[test]
fn memory_traffic_of_a_spiking_network() {
    let memory = table("horowitz-45nm-memory");
    // All data are in 8 KiB: 10 pJ for 64 bits.
    let bit = 10.0 / 64.0;
    for (reads, first_weights, second_weights) in [
        (WeightReads::EachOperation, 50.0, 9.0),
        (WeightReads::EachPass, 3.0 * 24.0, 3.0 * 8.0),
    ] {
        let found = Estimate::spiking(&small(), &memory, NumberFormat::F32, reads).expect("sound");
        let [first, second] = &found.layers[..] else {
            panic!("{found}")
        };
        // Four biases are read in each of three steps.
        close(first.parameters, (first_weights + 12.0) * 32.0 * bit);
        close(second.parameters, second_weights * 32.0 * bit);
        // A potential of 32 bits is read and written 12 times.
        close(first.states, 12.0 * 64.0 * bit);
        close(second.states, 6.0 * 64.0 * bit);
        // Six numbers and four spikes; four spikes and two spikes; three times.
        close(first.activations, 3.0 * (6.0 * 32.0 + 4.0) * bit);
        close(second.activations, 3.0 * (4.0 + 2.0) * bit);
    }
}

#[test]
fn an_artificial_network_runs_once_with_all_connections() {
    let memory = table("horowitz-45nm-memory");
    let bit = 10.0 / 64.0;
    for (format, mac, activation, bits) in [
        (NumberFormat::F32, 3.7 + 0.9, 0.9, 32.0),
        (NumberFormat::I8, 0.2 + 0.1, 0.03, 8.0),
    ] {
        let found = Estimate::artificial(&small(), &memory, format, WeightReads::EachOperation);
        let found = found.expect("sound");
        let [first, second] = &found.layers[..] else {
            panic!("{found}")
        };
        close(first.synapses, 24.0 * mac);
        close(second.synapses, 8.0 * mac);
        close(first.neurons, 4.0 * activation);
        close(first.parameters, 28.0 * bits * bit);
        close(first.activations, 10.0 * bits * bit);
        close(second.activations, 6.0 * bits * bit);
        assert_eq!(first.states, Energy::default());
    }
}

#[test]
fn large_parameters_are_in_dram_which_has_a_range() {
    let mut counts = small();
    counts.layers[0].parameters = 300_000;
    let memory = table("horowitz-45nm-memory");
    let found = Estimate::spiking(
        &counts,
        &memory,
        NumberFormat::F32,
        WeightReads::EachOperation,
    );
    let found = found.expect("sound");
    let weights = &found.layers[1].parameters;
    assert_eq!(weights.low, 9.0 * 32.0 * 1300.0 / 64.0);
    assert_eq!(weights.high, 9.0 * 32.0 * 2600.0 / 64.0);
    // The states stay in the smallest cache.
    close(found.layers[1].states, 6.0 * 64.0 * 10.0 / 64.0);
    let text = found.to_string();
    for part in ["DRAM", "parameters (1200032 bytes)", "Assumptions:", "fc.2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn eight_bit_spikes_are_added_in_32_bits() {
    let plain = table("horowitz-45nm");
    let found = Estimate::spiking(
        &small(),
        &plain,
        NumberFormat::I8,
        WeightReads::EachOperation,
    );
    let found = found.expect("sound");
    close(found.layers[1].synapses, 9.0 * 0.1);
    close(found.layers[1].neurons, 6.0 * (4.0 * 0.1 + 3.1));
}

#[test]
fn elementary_functions_are_named_as_left_out() {
    let mut counts = small();
    counts.layers[1].ops.functions = 1;
    let plain = table("horowitz-45nm");
    let found = Estimate::spiking(
        &counts,
        &plain,
        NumberFormat::F32,
        WeightReads::EachOperation,
    );
    let text = found.expect("sound").to_string();
    assert!(text.contains("6 elementary functions"), "{text}");
}

#[test]
fn contradictory_counts_are_refused() {
    let mut counts = small();
    counts.layers[1].accumulates = 49;
    let plain = table("horowitz-45nm");
    for of in [Estimate::spiking, Estimate::artificial] {
        let error = of(
            &counts,
            &plain,
            NumberFormat::F32,
            WeightReads::EachOperation,
        );
        let error = error.expect_err("49 of 48").to_string();
        assert!(error.contains("`fc.2`: 49"), "{error}");
    }
}

#[test]
fn energies_are_printed_in_readable_units() {
    let energy = |low, high| Energy { low, high }.to_string();
    assert_eq!(energy(0.5, 0.5), "0.500 pJ");
    assert_eq!(energy(1300.0, 2600.0), "1.300–2.600 nJ");
    assert_eq!(energy(2.5e6, 2.5e6), "2.500 µJ");
    assert_eq!(energy(0.0, 0.0), "0.000 pJ");
}

#[test]
fn counts_at_the_limit_of_their_type_are_no_overflow() {
    let most = u64::MAX;
    let layer = LayerCounts {
        name: "huge".to_string(),
        connections: most,
        passes: most,
        accumulates: most,
        multiply_accumulates: most,
        weights: most,
        parameters: most,
        buffers: most,
        neurons: most,
        ops: NeuronOps {
            additions: most,
            functions: most,
            states: most,
            ..NeuronOps::default()
        },
        membrane_changes: Some(most),
        inputs: most,
        outputs: most,
        analog_outputs: true,
        nonzero_outputs: most,
        ..LayerCounts::default()
    };
    let counts = NetworkCounts {
        samples: most,
        layers: vec![layer.clone(), layer],
    };
    let memory = table("horowitz-45nm-memory");
    for of in [Estimate::spiking, Estimate::artificial] {
        let found = of(&counts, &memory, NumberFormat::F32, WeightReads::EachPass);
        assert!(found.expect("no contradiction").total().high.is_finite());
    }
    let metrics = crate::energy::NeuroBench::of(&counts, NumberFormat::F32);
    assert_eq!(metrics.expect("no contradiction").footprint, most);
}
