//! How reproducible the results of a backend are.

/// How closely two results agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// The same bits; a NaN agrees with any NaN.
    Bitwise,
    /// Elements differ by at most this share of the largest finite element of the reference.
    Within(f64),
}

impl Agreement {
    /// The share of the largest element by which elements may differ; 0 for the same bits.
    pub const fn tolerance(self) -> f64 {
        match self {
            Self::Bitwise => 0.0,
            Self::Within(share) => share,
        }
    }

    /// The first element at which `given` does not agree with `reference`.
    ///
    /// ```
    /// use spikelet_graph::Agreement;
    /// let (given, reference) = ([1.0, 2.0001], [1.0, 2.0]);
    /// assert_eq!(Agreement::Bitwise.first_difference(&given, &reference), Some(1));
    /// assert_eq!(Agreement::Within(1e-3).first_difference(&given, &reference), None);
    /// ```
    pub fn first_difference(self, given: &[f64], reference: &[f64]) -> Option<usize> {
        let finite = reference.iter().filter(|x| x.is_finite());
        let largest = finite.fold(0.0_f64, |most, x| most.max(x.abs()));
        let agree = |a: f64, b: f64| match self {
            _ if a.is_nan() || b.is_nan() => a.is_nan() && b.is_nan(),
            Self::Bitwise => a.to_bits() == b.to_bits(),
            Self::Within(share) => a == b || (a - b).abs() <= share * largest,
        };
        let common = given.len().min(reference.len());
        let differs = (0..common).find(|&k| !agree(given[k], reference[k]));
        differs.or((given.len() != reference.len()).then_some(common))
    }
}

/// The reproducibility of a backend's f32 results: a promise that the backend declares.
///
/// The reference is the CPU backend with its built-in matrix products, on any machine and with any
/// number of threads. Tests that compare devices take their tolerances from here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Determinism {
    /// Whether a plan gives the same bits whenever it runs on the same device with the same inputs.
    pub repeatable: bool,
    /// Agreement of elementwise operations, random numbers and neuron scans, spikes among them.
    pub elementwise: Agreement,
    /// Agreement of sums: matrix products, convolutions, reductions, gradients of parameters.
    pub sums: Agreement,
}

impl Determinism {
    /// The same bits in every run, elementwise results with the bits of the reference, sums that
    /// differ by the order of their terms.
    pub const BITWISE_BUT_SUMS: Self = Self {
        repeatable: true,
        elementwise: Agreement::Bitwise,
        sums: Agreement::Within(1e-5),
    };
}

#[cfg(test)]
mod tests {
    use super::Agreement;

    #[test]
    fn zeros_of_either_sign_and_nans_agree_as_documented() {
        let (plus, minus) = ([0.0, f64::NAN], [-0.0, f64::NAN]);
        assert_eq!(Agreement::Bitwise.first_difference(&plus, &minus), Some(0));
        assert_eq!(Agreement::Within(0.0).first_difference(&plus, &minus), None);
        let number = [0.0, 1.0];
        assert_eq!(
            Agreement::Within(1.0).first_difference(&plus, &number),
            Some(1)
        );
    }

    #[test]
    fn results_of_another_length_do_not_agree() {
        assert_eq!(
            Agreement::Bitwise.first_difference(&[1.0], &[1.0, 2.0]),
            Some(1)
        );
    }
}
