//! Gaussian noise in every channel and pixel.

use super::Draws;

/// Adds noise of the standard deviation `deviation` to `image`. `scratch` is as long.
pub(super) fn add(draws: &Draws, deviation: f32, scratch: &mut [f32], image: &mut [f32]) {
    draws.noise.fill_normal(draws.image, 0, scratch);
    for (pixel, noise) in image.iter_mut().zip(scratch) {
        *pixel += deviation * *noise;
    }
}

/// Clamps pixels to 0 (black) to 1 (white).
pub(super) fn clamp(image: &mut [f32]) {
    for pixel in image {
        *pixel = pixel.clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_mean_zero_and_the_deviation_asked_for() {
        let mut image = vec![0.5; 20_000];
        let mut scratch = image.clone();
        add(&Draws::new(0, 0, 7), 0.1, &mut scratch, &mut image);
        let mean = image.iter().sum::<f32>() / 20_000.0;
        let square = image.iter().map(|pixel| (pixel - mean) * (pixel - mean));
        let deviation = (square.sum::<f32>() / 20_000.0).sqrt();
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        assert!((deviation - 0.1).abs() < 0.003, "{deviation}");
    }
}
