//! The formats by name.

use crate::error::{ErrorKind, Result};
use crate::formats::{
    Entry, aedat1, aedat2, aedat3, aedat4, atis, csv, dat, es, evt2, evt3, evt21, mat, npy, npz,
};
use spikelet_schema::Schema;

/// Declares [`Format`]: a line for each format, with the module that has its [`Entry`].
macro_rules! formats {
    ($($(#[$about:meta])* $name:ident = $entry:expr,)*) => {
        /// A format of event files. Those that content tells apart come first.
        ///
        /// ```
        /// use spikelet_events::Format;
        ///
        /// assert_eq!(Format::find("atis5")?, Format::Atis);
        /// assert!(Format::find("atis6").is_err());
        /// # Ok::<(), spikelet_events::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Schema)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$about])* $name,)*
        }

        impl Format {
            pub(crate) const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$name => &$entry,)*
                }
            }
        }
    };
}

formats! {
    /// Prophesee's decoded events: N-CARS, Gen1.
    Dat = dat::ENTRY,
    /// Prophesee's RAW files of 32-bit words.
    Evt2 = evt2::ENTRY,
    /// Prophesee's RAW files of 64-bit words.
    #[schema(name = "evt2.1")]
    Evt21 = evt21::ENTRY,
    /// Prophesee's RAW files of 16-bit words.
    Evt3 = evt3::ENTRY,
    /// NumPy arrays of SpikingJelly: N-MNIST, CIFAR10-DVS, DVS128 Gesture.
    NpzEvents = npz::EVENTS,
    /// NumPy arrays of ES-ImageNet.
    NpzEsImagenet = npz::ES_IMAGENET_EVENTS,
    /// A structured NumPy array: DVS-Lip.
    NpyStructured = npy::STRUCTURED,
    /// A NumPy array of x, y, polarity and milliseconds: DVS128 Gesture of tonic.
    NpyXyptMs = npy::XYPT,
    /// Text: t, x, y, p.
    Csv = csv::ENTRY,
    /// MATLAB 5: ASL-DVS.
    Mat5 = mat::ENTRY,
    /// Records of 5 bytes: N-MNIST, N-Caltech101.
    #[schema(name = "atis5")]
    Atis = atis::ENTRY,
    /// AEDAT 1.0 of a DVS128.
    Aedat1 = aedat1::ENTRY,
    /// AEDAT 2.0 of a DVS128: CIFAR10-DVS.
    Aedat2Dvs128 = aedat2::DVS128,
    /// AEDAT 2.0 of a DAVIS.
    Aedat2Davis = aedat2::DAVIS,
    /// AEDAT 3.0 and 3.1: DVS128 Gesture.
    #[schema(name = "aedat3.1")]
    Aedat3 = aedat3::ENTRY,
    /// AEDAT 4, of iniVation's cameras.
    Aedat4 = aedat4::ENTRY,
    /// Event Stream 2.
    Es = es::ENTRY,
}

impl Format {
    /// Whether files of this format can be written.
    ///
    /// ```
    /// assert!(spikelet_events::Format::Atis.is_writable());
    /// ```
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.entry().encoder.is_some()
    }

    /// The format of a file that begins with `start`, at least [`Self::START`] bytes if it has as many, and whose name
    /// has this extension.
    ///
    /// Content decides where it is unambiguous, then the extension.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownFormat`].
    pub fn detect(start: &[u8], extension: Option<&str>) -> Result<Self> {
        let by_content = |format: &&Self| (format.entry().detect)(start);
        let by_name = |format: &&Self| {
            extension.is_some_and(|extension| {
                let known = format.entry().extensions.iter();
                known
                    .into_iter()
                    .any(|own| own.eq_ignore_ascii_case(extension))
            })
        };
        let mut formats = Self::ALL.iter();
        let found = formats
            .clone()
            .find(by_content)
            .or_else(|| formats.find(by_name));
        found.copied().ok_or_else(|| {
            let extension =
                extension.map_or("no extension".into(), |e| format!("the extension `{e}`"));
            let problem =
                format!("the content is that of no known format, and the name has {extension}");
            ErrorKind::UnknownFormat { problem }.into()
        })
    }

    /// The number of bytes from which a format is recognized.
    pub const START: usize = 4096;
}
