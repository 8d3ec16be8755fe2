//! The colors of previews.

/// The number of brightnesses of a color.
pub(super) const LEVELS: u8 = 3;

/// The color of the gaps of a sheet.
pub(super) const GAP: u8 = 2 * LEVELS + 1;

/// ON events. Both have a contrast of 3 to white and of 5 to black.
pub(super) const ON: [u8; 3] = [0x2e, 0x86, 0xde];
/// OFF events.
pub(super) const OFF: [u8; 3] = [0xe2, 0x6d, 0x0c];

/// The opaque background.
const BACKGROUND: [u8; 3] = [0x12, 0x17, 0x1f];

/// The opacity of each level.
const ALPHAS: [u8; LEVELS as usize] = [0x80, 0xc0, 0xff];

/// Colors and their opacities: the background, the levels of ON, those of OFF, gaps, which are transparent.
pub(super) fn colors(is_opaque: bool) -> (Vec<u8>, Vec<u8>) {
    let mut colors = BACKGROUND.to_vec();
    let mut alphas = vec![if is_opaque { 0xff } else { 0 }];
    for color in [ON, OFF] {
        for alpha in ALPHAS {
            let mix = |(own, behind): (u8, u8)| {
                let (own, behind) = (u32::from(own), u32::from(behind));
                let alpha = u32::from(alpha);
                ((own * alpha + behind * (255 - alpha)) / 255) as u8
            };
            match is_opaque {
                true => colors.extend(color.into_iter().zip(BACKGROUND).map(mix)),
                false => colors.extend(color),
            }
            alphas.push(if is_opaque { 0xff } else { alpha });
        }
    }
    colors.extend(BACKGROUND);
    alphas.push(0);
    (colors, alphas)
}
