//! The cases in which printed text is compared with the interpreter, by a compiler of the host.

use spikelet_expr::text::{Dialect, Function, Rounding, Statements, print};
use spikelet_expr::{Binary, Expr, Program, Unary, math};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Expressions or a call whose values are computed from text and in Rust, for the same inputs.
pub struct Case {
    /// The name in messages.
    pub name: String,
    /// Values of the symbols `a`, `b` and `c`.
    pub inputs: Vec<[f32; 3]>,
    body: Body,
}

enum Body {
    Expressions(Vec<Expr>),
    Call(Call),
}

/// A call on the symbol `a`, the function that it needs, and the same in Rust.
type Call = (&'static str, Function, fn(f32) -> f32);

impl Case {
    fn expressions(name: String, roots: Vec<Expr>, inputs: Vec<[f32; 3]>) -> Case {
        let body = Body::Expressions(roots);
        Case { name, inputs, body }
    }

    /// The number of results for each input.
    pub fn results(&self) -> usize {
        match &self.body {
            Body::Expressions(roots) => roots.len(),
            Body::Call(..) => 1,
        }
    }

    /// The results for the first input, for the second, …
    pub fn expected(&self) -> Vec<f32> {
        match &self.body {
            Body::Call((_, _, function)) => {
                self.inputs.iter().map(|[a, ..]| function(*a)).collect()
            }
            Body::Expressions(roots) => {
                let program = Program::compile(roots, &[], &["a", "b", "c"])
                    .expect("cases use no other symbols");
                let n = self.inputs.len();
                let columns: [Vec<f32>; 3] =
                    [0, 1, 2].map(|k| self.inputs.iter().map(|input| input[k]).collect());
                let mut results = vec![vec![0.0; n]; roots.len()];
                program.step(
                    &mut program.workspace(n),
                    &columns.each_ref().map(Vec::as_slice),
                    &mut results
                        .iter_mut()
                        .map(Vec::as_mut_slice)
                        .collect::<Vec<_>>(),
                );
                let at = |i: usize| results.iter().map(move |result| result[i]);
                (0..n).flat_map(at).collect()
            }
        }
    }

    fn statements(&self, dialect: &dyn Dialect) -> Statements {
        match &self.body {
            Body::Expressions(roots) => {
                let names = |name: &str| Some(name.to_string());
                print(dialect, Rounding::Exact, roots, &names, "t", 4)
                    .expect("every symbol has a name")
            }
            Body::Call((call, function, _)) => Statements {
                code: String::new(),
                results: vec![call.to_string()],
                functions: [*function].into(),
            },
        }
    }
}

/// The library that the cases need, and `void run_case(int k, float a, float b, float c,
/// float *to)`, which writes the results of case `k` for one input.
pub fn text(dialect: &dyn Dialect, cases: &[Case]) -> String {
    let mut needed = BTreeSet::new();
    let (mut functions, mut choices) = (String::new(), String::new());
    for (k, case) in cases.iter().enumerate() {
        let printed = case.statements(dialect);
        let mut body = printed.code;
        for (j, result) in printed.results.iter().enumerate() {
            body += &format!("    to[{j}] = {result};\n");
        }
        needed.extend(printed.functions);
        let arguments = "float a, float b, float c, float *to";
        write!(
            functions,
            "\n__device__ void case_{k}({arguments}) {{\n{body}}}\n"
        )
        .expect("writing to a string does not fail");
        choices += &format!("    case {k}: case_{k}(a, b, c, to); break;\n");
    }
    let library = dialect.library(&needed);
    format!(
        "{library}{functions}\n\
         __device__ void run_case(int k, float a, float b, float c, float *to) {{\n    \
         switch (k) {{\n{choices}    }}\n}}\n"
    )
}

/// Every elementary function over 2¹⁶ numbers of every sign and exponent.
pub fn functions() -> Vec<Case> {
    let step = u32::MAX >> 16;
    let inputs: Vec<[f32; 3]> = (0..1_u32 << 16)
        .map(|k| [f32::from_bits(k * step + k % 7), 0.0, 0.0])
        .collect();
    let calls: [Call; 5] = [
        ("spk_ln_1p(a)", Function::Ln1p, math::ln_1p),
        ("spk_sin_2pi(a)", Function::Sin2Pi, math::sin_2pi),
        ("spk_cos_2pi(a)", Function::Cos2Pi, math::cos_2pi),
        ("spk_pow(a, 2.3f)", Function::Pow, |x| math::pow(x, 2.3)),
        ("spk_pow(0.7f, a)", Function::Pow, |y| math::pow(0.7, y)),
    ];
    let calls = calls.map(|call| Case {
        name: call.0.to_string(),
        inputs: inputs.clone(),
        body: Body::Call(call),
    });
    let a = Expr::symbol("a");
    let elementary = Unary::ALL.into_iter().filter(|op| op.is_elementary());
    elementary
        .map(|op| {
            let root = Expr::unary(op, &a);
            Case::expressions(root.to_string(), vec![root], inputs.clone())
        })
        .chain(calls)
        .collect()
}

/// Special values: bounds of ranges, subnormal numbers, infinities, NaN.
pub const SPECIAL: [f32; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    3.0,
    -7.3,
    100.0,
    8_388_607.5,
    -8_388_609.0,
    16_777_216.0,
    2_147_483_648.0,
    1e-45,
    -1e-45,
    1e-40,
    f32::MIN_POSITIVE,
    8.673_617_4e-19,
    -8.673_618e-19,
    1e-20,
    1.152_921_5e18,
    -1.152_921_4e18,
    1e38,
    f32::MAX,
    -f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Each operation by itself on special values.
pub fn operations() -> Vec<Case> {
    let [a, b, c] = ["a", "b", "c"].map(Expr::symbol);
    let mut pairs = vec![];
    for (i, x) in SPECIAL.into_iter().enumerate() {
        for (j, y) in SPECIAL.into_iter().enumerate() {
            pairs.push([x, y, SPECIAL[(5 * i + 7 * j) % SPECIAL.len()]]);
        }
    }
    let mut roots: Vec<Expr> = Unary::ALL.iter().map(|op| Expr::unary(*op, &a)).collect();
    roots.extend(Binary::ALL.iter().map(|op| Expr::binary(*op, &a, &b)));
    roots.push(Expr::select(&a, &b, &c));
    for op in Binary::ALL.into_iter().filter(|op| op.is_comparison()) {
        let compared = Expr::binary(op, &a, &b);
        roots.push(Expr::select(&compared, &c, &a));
        roots.push(Expr::select(&compared, &c, &a) + compared);
        roots.push(Expr::binary(op, &(&a - 2.5), &Expr::constant(0.0)));
        roots.push(Expr::binary(op, &(&a - 1e300), &Expr::constant(0.0)));
    }
    roots.extend(DIVISORS.map(|divisor| &a / divisor));
    roots
        .into_iter()
        .map(|root| Case::expressions(root.to_string(), vec![root], pairs.clone()))
        .collect()
}

/// Divisors with a precomputed reciprocal, powers of two, without a proof, extreme.
const DIVISORS: [f64; 14] = [
    2.5, 3.0, 5.0, -7.0, 10.0, 100.0, 0.1, 1.1, 333.3, 2.0, 1e-30, 1e30, 1e-45, 1e300,
];

/// `count` groups of three deep random expressions that share parts.
pub fn random(count: usize) -> Vec<Case> {
    let mut random = Random(1);
    (0..count)
        .map(|k| {
            let mut pool: Vec<Expr> = ["a", "b", "c"].map(Expr::symbol).into();
            for _ in 0..14 {
                let next = random.expression(&pool);
                pool.push(next);
            }
            let roots = pool.split_off(pool.len() - 3);
            let inputs = (0..256).map(|_| [0; 3].map(|_| random.number())).collect();
            Case::expressions(format!("random expression {k}"), roots, inputs)
        })
        .collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn choose<T: Clone>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize].clone()
    }

    /// A special value, arbitrary bits, or a number of typical size.
    fn number(&mut self) -> f32 {
        match self.next() % 4 {
            0 => self.choose(&SPECIAL),
            1 => f32::from_bits(self.next() as u32),
            _ => (self.next() % 2001) as f32 / 250.0 - 4.0,
        }
    }

    fn operand(&mut self, pool: &[Expr]) -> Expr {
        match self.next() % 5 {
            0 => Expr::constant(f64::from(self.number())),
            _ => self.choose(pool),
        }
    }

    fn expression(&mut self, pool: &[Expr]) -> Expr {
        let kind = self.next() % 8;
        let (a, b) = (self.operand(pool), self.operand(pool));
        match kind {
            0..=1 => Expr::unary(self.choose(&Unary::ALL), &a),
            2 => {
                let (c, d) = (self.operand(pool), self.operand(pool));
                let comparison = self.choose(&Binary::ALL[7..]);
                Expr::select(Expr::binary(comparison, &a, &b), c, d)
            }
            3 => Expr::select(a, b, self.operand(pool)),
            4 => Expr::custom_gradient(a, b),
            _ => Expr::binary(self.choose(&Binary::ALL), &a, &b),
        }
    }
}
