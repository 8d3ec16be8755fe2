//! Clocks of 32 bits, which start again at 0 after 71.6 minutes.

/// A fall by more than this is a wrap. Outliers in the middle of the range are none.
const WRAP: u32 = 3 << 30;

/// A clock of 32 bits.
#[derive(Default)]
pub(crate) struct Clock {
    /// The time of all wraps so far.
    wrapped: i64,
    last: Option<u32>,
}

impl Clock {
    /// Appends times as 64 bits.
    pub fn extend(&mut self, times: impl Iterator<Item = u32> + Clone, out: &mut Vec<i64>) {
        let Some(first) = self.last.or_else(|| times.clone().next()) else {
            return;
        };
        let (low, high) = times.clone().fold((first, first), |(low, high), time| {
            (low.min(time), high.max(time))
        });
        if high - low <= WRAP {
            let wrapped = self.wrapped;
            let before = out.len();
            out.extend(times.map(|time| wrapped + i64::from(time)));
            // Truncation gives back the 32 bits.
            self.last = out[before..].last().map(|&time| time as u32).or(self.last);
        } else {
            out.extend(times.map(|time| self.step(time)));
        }
    }

    fn step(&mut self, time: u32) -> i64 {
        let last = *self.last.get_or_insert(time);
        if last > time && last - time > WRAP {
            self.wrapped += 1 << 32;
        } else if time > last && time - last > WRAP {
            // An event of before the last wrap, out of order. Without a wrap, an outlier that is not a reference for others.
            if self.wrapped == 0 {
                return i64::from(time);
            }
            self.wrapped -= 1 << 32;
        }
        self.last = Some(time);
        self.wrapped + i64::from(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extend(blocks: &[&[u32]]) -> Vec<i64> {
        let (mut clock, mut out) = (Clock::default(), vec![]);
        for block in blocks {
            clock.extend(block.iter().copied(), &mut out);
        }
        out
    }

    #[test]
    fn a_wrap_adds_2_to_the_32() {
        let late = u32::MAX - 5;
        let expected = [i64::from(late), (1 << 32) + 3, (1 << 32) + 9];
        assert_eq!(extend(&[&[late, 3, 9]]), expected);
        assert_eq!(extend(&[&[late], &[3], &[9]]), expected);
    }

    #[test]
    fn events_out_of_order_around_a_wrap_keep_their_times() {
        let late = u32::MAX - 5;
        let expected = [
            i64::from(late),
            (1 << 32) + 3,
            i64::from(late) + 1,
            (1 << 32) + 9,
        ];
        assert_eq!(extend(&[&[late, 3, late + 1, 9]]), expected);
    }

    #[test]
    fn an_outlier_shifts_no_other_event() {
        let outlier = u32::MAX - 5;
        assert_eq!(extend(&[&[7, outlier, 8]]), [7, i64::from(outlier), 8]);
        assert_eq!(extend(&[&[7, 1 << 31, 8]]), [7, 1 << 31, 8]);
    }
}
