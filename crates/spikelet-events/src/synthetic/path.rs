//! Movements as key frames.

/// Where a shape is, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pose {
    pub x: f64,
    pub y: f64,
    pub size: f64,
}

/// A pose at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub t: f64,
    pub pose: Pose,
}

/// A closed movement: it ends as it starts. Poses are in units of the sensor, durations in any unit.
#[derive(Debug)]
pub(super) struct Path(Vec<Key>);

/// The straight parts of a movement that speeds up and slows down.
const PARTS: u32 = 8;

impl Path {
    pub fn from(pose: Pose) -> Self {
        Self(vec![Key { t: 0.0, pose }])
    }

    /// Moves to a pose at constant speed.
    pub fn to(mut self, duration: f64, pose: Pose) -> Self {
        let t = self.end().t + duration;
        self.0.push(Key { t, pose });
        self
    }

    /// Moves to a pose, starting and stopping smoothly.
    pub fn glide(mut self, duration: f64, pose: Pose) -> Self {
        let Key { t, pose: start } = self.end();
        for part in 1..PARTS {
            let u = f64::from(part) / f64::from(PARTS);
            let pose = between(start, pose, u * u * (3.0 - 2.0 * u));
            let t = t + u * duration;
            self.0.push(Key { t, pose });
        }
        let t = t + duration;
        self.0.push(Key { t, pose });
        self
    }

    /// Stays.
    pub fn rest(self, duration: f64) -> Self {
        let pose = self.end().pose;
        self.to(duration, pose)
    }

    fn end(&self) -> Key {
        *self.0.last().expect("a path has a start")
    }

    /// The key frames of `cycles` repetitions within `duration`, that start in the middle of a cycle, at `phase` from 0 to
    /// 1. The pose at the end is that at the start, bit for bit.
    pub fn repeat(self, cycles: u32, phase: f64, duration: f64) -> Vec<Key> {
        let total = self.end().t;
        let length = total * f64::from(cycles);
        let start = phase * total;
        let first = self.at(start);
        let mut keys = vec![Key {
            t: 0.0,
            pose: first,
        }];
        for cycle in 0..=cycles {
            for key in &self.0[1..] {
                let t = f64::from(cycle) * total + key.t - start;
                if 0.0 < t && t < length {
                    keys.push(Key {
                        t: t / length * duration,
                        pose: key.pose,
                    });
                }
            }
        }
        keys.push(Key {
            t: duration,
            pose: first,
        });
        keys
    }

    fn at(&self, t: f64) -> Pose {
        let part = self
            .0
            .windows(2)
            .find(|keys| keys[0].t <= t && t < keys[1].t);
        part.map_or(self.0[0].pose, |keys| {
            let u = (t - keys[0].t) / (keys[1].t - keys[0].t);
            between(keys[0].pose, keys[1].pose, u)
        })
    }
}

/// The pose at a fraction of the way.
pub(super) fn between(start: Pose, end: Pose, u: f64) -> Pose {
    let mix = |start: f64, end: f64| start + (end - start) * u;
    Pose {
        x: mix(start.x, end.x),
        y: mix(start.y, end.y),
        size: mix(start.size, end.size),
    }
}
