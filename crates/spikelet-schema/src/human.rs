//! Human-readable sizes, counts, fractions and durations.

use std::time::Duration;

/// A fraction of 1 as `91.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:>4.1} %", 100.0 * share)
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes as `512 B`, `9.5 KiB`, `118 MiB`, `1.2 GiB`.
pub fn bytes(count: u64) -> String {
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0;
    // 1023.5 and more would be rounded to 1024 of this unit.
    while value >= 1023.5 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", two_digits(value), units[unit])
}

/// Seconds as `850 ms`, `6.1 s`, `49 s`, `2 min 5 s`, `1 h 2 min`.
pub fn duration(seconds: f64) -> String {
    let Ok(time) = Duration::try_from_secs_f64(seconds) else {
        return "– s".to_string();
    };
    let whole = time.as_secs() + u64::from(time.subsec_millis() >= 500);
    match seconds {
        s if s < 0.999_5e-3 => format!("{} µs", two_digits(s * 1e6)),
        s if s < 0.999_5 => format!("{} ms", two_digits(s * 1e3)),
        s if s < 59.5 => format!("{} s", two_digits(s)),
        s if s < 3599.5 => format!("{} min {} s", whole / 60, whole % 60),
        _ => {
            let minutes = (whole + 30) / 60;
            format!("{} h {} min", thousands(minutes / 60), minutes % 60)
        }
    }
}

/// One decimal below ten, otherwise none.
fn two_digits(value: f64) -> String {
    let decimals = usize::from(value < 9.95);
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted_by_commas() {
        let shown = [0, 999, 1000, 9830, 60_000, 1_234_567].map(thousands);
        assert_eq!(shown, ["0", "999", "1,000", "9,830", "60,000", "1,234,567"]);
    }

    #[test]
    fn bytes_have_at_most_one_decimal_and_never_1024_of_a_unit() {
        let shown = [
            0,
            1023,
            1024,
            9_728,
            118 << 20,
            (1 << 20) - 1,
            1_288_490_189,
            u64::MAX,
        ]
        .map(bytes);
        assert_eq!(
            shown,
            [
                "0 B", "1023 B", "1.0 KiB", "9.5 KiB", "118 MiB", "1.0 MiB", "1.2 GiB", "16 EiB"
            ]
        );
    }

    #[test]
    fn durations_are_never_60_of_a_unit() {
        let cases = [
            (0.0, "0.0 µs"),
            (12e-6, "12 µs"),
            (0.003_2, "3.2 ms"),
            (0.85, "850 ms"),
            (0.999_7, "1.0 s"),
            (6.1, "6.1 s"),
            (9.97, "10 s"),
            (49.4, "49 s"),
            (59.7, "1 min 0 s"),
            (125.0, "2 min 5 s"),
            (3599.7, "1 h 0 min"),
            (3725.0, "1 h 2 min"),
            (f64::NAN, "– s"),
            (-1.0, "– s"),
        ];
        for (seconds, shown) in cases {
            assert_eq!(duration(seconds), shown, "{seconds}");
        }
    }
}
