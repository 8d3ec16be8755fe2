//! The text for NVIDIA GPUs, compiled by g++ for the host, gives the interpreter's bits.

mod compiler;
mod printing;

use spikelet_expr::cuda::cases::{self, Case};

/// Reads n, k, and n inputs for each case, in turn, and writes the results.
const MAIN: &str = "
static unsigned read_word() {
    unsigned word;
    return std::fread(&word, 4, 1, stdin) == 1 ? word : 0;
}
int main() {
    const int cases = (int)read_word();
    for (int k = 0; k < cases; k++) {
        const unsigned inputs = read_word(), results = read_word();
        for (unsigned i = 0; i < inputs; i++) {
            const float a = __uint_as_float(read_word());
            const float b = __uint_as_float(read_word());
            const float c = __uint_as_float(read_word());
            float to[3];
            run_case(k, a, b, c, to);
            std::fwrite(to, 4, results, stdout);
        }
    }
}
";

fn check(name: &str, cases: &[Case]) {
    let mut input = vec![cases.len() as u32];
    for case in cases {
        input.extend([case.inputs.len() as u32, case.results() as u32]);
        input.extend(case.inputs.as_flattened().iter().map(|x| x.to_bits()));
    }
    let text = cases::text(cases) + MAIN;
    let output = compiler::run(name, &text, &compiler::bytes(input));
    let mut got = compiler::words(&output).into_iter().map(f32::from_bits);
    for case in cases {
        let expected = case.expected();
        for (k, expected) in expected.into_iter().enumerate() {
            let got = got.next().expect("a result for each input");
            let input = case.inputs[k / case.results()];
            assert!(
                got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()),
                "{}, result {} for {input:?}: {got:?} is printed, {expected:?} is right",
                case.name,
                k % case.results(),
            );
        }
    }
    assert_eq!(got.next(), None);
}

#[test]
#[ignore = "needs g++"]
fn the_text_of_every_function_has_the_bits_of_the_function() {
    check("functions", &cases::functions());
}

#[test]
#[ignore = "needs g++"]
fn every_operation_has_the_interpreters_bits_on_special_values() {
    check("operations", &cases::operations());
}

#[test]
#[ignore = "needs g++"]
fn random_expressions_have_the_interpreters_bits() {
    check("random", &cases::random(150));
}
