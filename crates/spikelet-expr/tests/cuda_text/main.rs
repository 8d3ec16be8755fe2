//! The text of each dialect, compiled for the host, gives the interpreter's bits.

mod c99;
mod cases;
mod compiler;
mod printing;

use c99::C99;
use cases::Case;
use compiler::Compiler;
use spikelet_expr::cuda::Cuda;
use spikelet_expr::text::Dialect;

const C: Compiler = Compiler {
    program: "gcc",
    extension: "c",
    standard: "-std=c99",
    header: "",
};

const DIALECTS: [(&str, &dyn Dialect, Compiler); 2] =
    [("cuda", &Cuda, compiler::CUDA), ("c99", &C99, C)];

/// Reads the number of cases; for each case the number of inputs, the number of results, and the
/// inputs. Writes the results.
const MAIN: &str = "
static unsigned read_word(void) {
    unsigned word;
    return fread(&word, 4, 1, stdin) == 1 ? word : 0;
}
int main(void) {
    const int cases = (int)read_word();
    for (int k = 0; k < cases; k++) {
        const unsigned inputs = read_word(), results = read_word();
        for (unsigned i = 0; i < inputs; i++) {
            const float a = __uint_as_float(read_word());
            const float b = __uint_as_float(read_word());
            const float c = __uint_as_float(read_word());
            float to[3];
            run_case(k, a, b, c, to);
            fwrite(to, 4, results, stdout);
        }
    }
    return 0;
}
";

fn check(name: &str, cases: &[Case]) {
    for (language, dialect, compiler) in DIALECTS {
        check_dialect(&format!("{name}_{language}"), dialect, &compiler, cases);
    }
}

fn check_dialect(name: &str, dialect: &dyn Dialect, compiler: &Compiler, cases: &[Case]) {
    let mut input = vec![cases.len() as u32];
    for case in cases {
        input.extend([case.inputs.len() as u32, case.results() as u32]);
        input.extend(case.inputs.as_flattened().iter().map(|x| x.to_bits()));
    }
    let text = cases::text(dialect, cases) + MAIN;
    let output = compiler::run(compiler, name, &text, &compiler::bytes(input));
    let mut got = compiler::words(&output).into_iter().map(f32::from_bits);
    for case in cases {
        let expected = case.expected();
        for (k, expected) in expected.into_iter().enumerate() {
            let got = got.next().expect("a result for each input");
            let input = case.inputs[k / case.results()];
            assert!(
                got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan()),
                "{name}: {}, result {} for {input:?}: {got:?}, not {expected:?}",
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
