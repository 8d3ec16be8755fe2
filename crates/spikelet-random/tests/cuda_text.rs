//! The CUDA C++ text, compiled by g++ for the host, gives the numbers of `Stream`.

#[path = "../../spikelet-expr/tests/cuda_text/compiler.rs"]
mod compiler;

use spikelet_expr::cuda::library;
use spikelet_random::cuda::{NORMAL, NORMAL_FUNCTIONS, PHILOX};
use spikelet_random::{Stream, normal_pair, unit};

/// Reads eight words for each draw and writes the numbers drawn.
const MAIN: &str = "
static unsigned bits(float x) { return __float_as_uint(x); }
int main() {
    unsigned in[8];
    while (fread(in, 4, 8, stdin) == 8) {
        const spk_stream stream = {in[0], in[1], in[2], in[3]};
        const unsigned time = in[4];
        const unsigned long long element = in[5] | (unsigned long long)in[6] << 32;
        const float p = __uint_as_float(in[7]);
        const float2 pair = spk_normal_pair(in[0], in[5]);
        const unsigned out[8] = {
            spk_word(stream, time, element),
            bits(spk_uniform(stream, time, element)),
            bits(spk_normal(stream, time, element)),
            spk_bernoulli(stream, time, element, p),
            (spk_word(stream, time, element) >> 8) < spk_threshold(p),
            bits(pair.x),
            bits(pair.y),
            bits(spk_unit(in[5])),
        };
        fwrite(out, 4, 8, stdout);
    }
}
";

struct Draw {
    stream: Stream,
    time: u32,
    element: u64,
    p: f32,
}

fn draws() -> Vec<Draw> {
    let probabilities = [0.0, 1.0, 0.3, 0.5, -1.0, 2.0, f32::NAN, 1e-7, 0.999_999_9];
    let random = |k: u32| k.wrapping_mul(0x9e37_79b9) ^ k.wrapping_mul(0x85eb_ca6b) >> 13;
    (0..20_000_u32)
        .map(|k| Draw {
            stream: Stream {
                seed: (u64::from(random(k)) << 32) + u64::from(random(k + 1)) * u64::from(k % 3),
                id: k % 5,
                step: random(k / 100),
            },
            time: k % 7,
            element: match k % 4 {
                0 => u64::from(random(k + 2)) << 2 | u64::from(k / 4 % 4),
                1 => u64::MAX - u64::from(k),
                _ => u64::from(k),
            },
            p: probabilities[k as usize % probabilities.len()],
        })
        .collect()
}

#[test]
#[ignore = "needs g++"]
fn the_text_draws_what_streams_draw() {
    let draws = draws();
    let input = draws.iter().flat_map(|draw| {
        let Stream { seed, id, step } = draw.stream;
        let (low, high) = (draw.element as u32, (draw.element >> 32) as u32);
        let key = [seed as u32, (seed >> 32) as u32];
        [
            key[0],
            key[1],
            id,
            step,
            draw.time,
            low,
            high,
            draw.p.to_bits(),
        ]
    });
    let text = library(&NORMAL_FUNCTIONS.into()) + PHILOX + NORMAL + MAIN;
    let output = compiler::run(&compiler::CUDA, "philox", &text, &compiler::bytes(input));
    let output = compiler::words(&output);
    let (got, rest) = output.as_chunks::<8>();
    assert!(rest.is_empty() && got.len() == draws.len());
    for (draw, got) in draws.iter().zip(got) {
        let Draw {
            stream,
            time,
            element,
            p,
        } = *draw;
        let fires = u32::from(stream.bernoulli(time, element, p));
        let pair = normal_pair(stream.seed as u32, element as u32);
        let expected = [
            stream.word(time, element),
            stream.uniform(time, element).to_bits(),
            stream.normal(time, element).to_bits(),
            fires,
            fires,
            pair.0.to_bits(),
            pair.1.to_bits(),
            unit(element as u32).to_bits(),
        ];
        assert_eq!(
            *got, expected,
            "{stream:?}, time {time}, element {element}, p = {p}"
        );
    }
}
