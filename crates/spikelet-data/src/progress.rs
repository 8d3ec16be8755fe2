//! The progress of long work.

/// How the progress of a download or of an encoding is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Not at all.
    Quiet,
    /// A bar on the standard error stream, if that is a terminal.
    #[default]
    Bar,
}

/// A bar over a number of items, which threads may advance. Without the feature `download` there are no bars.
pub(crate) struct ItemBar {
    #[cfg(feature = "download")]
    bar: indicatif::ProgressBar,
}

impl ItemBar {
    #[cfg(feature = "download")]
    pub(crate) fn new(what: &'static str, items: usize, progress: Progress) -> Self {
        use indicatif::{ProgressBar, ProgressStyle};
        if progress == Progress::Quiet {
            return Self {
                bar: ProgressBar::hidden(),
            };
        }
        let style = ProgressStyle::with_template("{msg}  {wide_bar} {pos}/{len}  {eta}");
        let style = style.expect("the template is valid");
        Self {
            bar: ProgressBar::new(items as u64)
                .with_style(style)
                .with_message(what),
        }
    }

    #[cfg(not(feature = "download"))]
    pub(crate) fn new(_: &'static str, _: usize, _: Progress) -> Self {
        Self {}
    }

    /// One item is done.
    #[cfg_attr(
        not(feature = "download"),
        expect(clippy::unused_self, reason = "there are no bars")
    )]
    pub(crate) fn advance(&self) {
        #[cfg(feature = "download")]
        self.bar.inc(1);
    }

    /// All items are done.
    #[cfg_attr(
        not(feature = "download"),
        expect(clippy::unused_self, reason = "there are no bars")
    )]
    pub(crate) fn finish(&self) {
        #[cfg(feature = "download")]
        self.bar.finish_and_clear();
    }
}
