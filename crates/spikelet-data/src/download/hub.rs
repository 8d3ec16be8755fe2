//! Files of models on the Hugging Face Hub.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Failure, TOTAL_TIMEOUT, agent, answer_to, put, write_failed};
use crate::temporary::temporary_in;

/// The beginning of an address, `hf://owner/name`.
pub const HUB_SCHEME: &str = "hf://";

/// The file of a model if an address names none, and the file with its configuration, which is beside it.
const MODEL: &str = "model.safetensors";
const CONFIG: &str = "config.json";

/// The revision if an address names none.
const NEWEST: &str = "main";

/// The largest file: 16 GiB; of a configuration 16 MiB.
const LARGEST: u64 = 16 << 30;
const LARGEST_CONFIG: u64 = 16 << 20;

/// A server of models, and the folder in which its files are kept.
///
/// A file of a commit (`@` and 40 hexadecimal digits) is downloaded once. Of other revisions the server is asked whether the file
/// has changed, and without an answer the file that is kept is used. An incomplete file never has its final name.
///
/// ```no_run
/// use spikelet_data::download::Hub;
/// let path = Hub::default().file("hf://owner/name")?;
/// assert!(path.ends_with("model.safetensors"));
/// # Ok::<(), spikelet_data::download::HubError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hub {
    /// The address of the server.
    pub endpoint: String,
    /// The token of models that are not public.
    pub token: Option<String>,
    /// The folder of the files.
    pub cache: PathBuf,
}

impl Default for Hub {
    /// The server `$HF_ENDPOINT`, or else <https://huggingface.co>, with the token `$HF_TOKEN`; the folder `spikelet/hub` in
    /// `$XDG_CACHE_HOME`, or else in `~/.cache`.
    fn default() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let home =
            || Some(PathBuf::from(variable("HOME").or(variable("USERPROFILE"))?).join(".cache"));
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        let endpoint = variable("HF_ENDPOINT");
        Self {
            endpoint: endpoint.unwrap_or_else(|| "https://huggingface.co".into()),
            token: variable("HF_TOKEN"),
            cache: cache
                .unwrap_or_else(std::env::temp_dir)
                .join("spikelet")
                .join("hub"),
        }
    }
}

/// An error of an address or a download of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The address has another form.
    #[error(
        "`{address}` is not the address of a model\n  help: write hf://owner/name, hf://owner/name@revision or hf://owner/name/file"
    )]
    Address {
        /// The address.
        address: String,
    },
    /// The file could not be downloaded.
    #[error(
        "{url}: {failure}\n  help: check the address and the network; a model that is not public needs $HF_TOKEN"
    )]
    Download {
        /// The requested URL.
        url: String,
        /// The failure.
        failure: Failure,
    },
}

/// The parts of an address.
struct Address<'a> {
    owner: &'a str,
    name: &'a str,
    revision: &'a str,
    file: &'a str,
}

impl<'a> Address<'a> {
    /// Whether the revision is a commit, whose files do not change.
    fn is_fixed(&self) -> bool {
        self.revision.len() == 40 && self.revision.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn parse(text: &'a str) -> Option<Self> {
        let (owner, rest) = text.strip_prefix(HUB_SCHEME)?.split_once('/')?;
        let (name, file) = rest.split_once('/').unwrap_or((rest, MODEL));
        let (name, revision) = name.split_once('@').unwrap_or((name, NEWEST));
        let is_part = |part: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            !part.is_empty() && !part.starts_with('.') && part.chars().all(fits)
        };
        let parts = [owner, name, revision].into_iter().chain(file.split('/'));
        parts.into_iter().all(is_part).then_some(Self {
            owner,
            name,
            revision,
            file,
        })
    }
}

/// The file with the server's tag of a file.
fn tag_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.etag"))
}

impl Hub {
    /// The file of an address, `hf://owner/name` for `model.safetensors` of the newest revision. The model's `config.json` is
    /// beside it, if it has one.
    ///
    /// # Errors
    /// [`HubError`].
    pub fn file(&self, address: &str) -> Result<PathBuf, HubError> {
        let wrong = || HubError::Address {
            address: address.into(),
        };
        let parts = Address::parse(address).ok_or_else(wrong)?;
        let path = self.get(&parts, parts.file, LARGEST)?;
        if parts.file == MODEL {
            self.get_config(&parts, &path)?;
        }
        Ok(path)
    }

    /// The configuration beside a model, if the server has one.
    fn get_config(&self, model: &Address<'_>, path: &Path) -> Result<(), HubError> {
        let config = path.with_file_name(CONFIG);
        let without = path.with_file_name(format!(".{CONFIG}.none"));
        if model.is_fixed() && without.is_file() {
            return Ok(());
        }
        match self.get(model, CONFIG, LARGEST_CONFIG) {
            Err(HubError::Download {
                failure: Failure::Status { status: 404 },
                ..
            }) => {
                let _ = fs::remove_file(&config);
                let _ = fs::remove_file(tag_of(&config));
                // Without the note the server is asked again at the next start.
                let _ = fs::write(without, "");
                Ok(())
            }
            // The server does not answer, and the model is there.
            Err(HubError::Download {
                failure: Failure::Request(_),
                ..
            }) => Ok(()),
            other => other.map(drop),
        }
    }

    /// A file of a model.
    fn get(&self, model: &Address<'_>, file: &str, largest: u64) -> Result<PathBuf, HubError> {
        let Address {
            owner,
            name,
            revision,
            ..
        } = model;
        let folder = self.cache.join(owner).join(name).join(revision);
        let path = folder.join(file);
        if path.is_file() && model.is_fixed() {
            return Ok(path);
        }
        let endpoint = self.endpoint.trim_end_matches('/');
        let url = format!("{endpoint}/{owner}/{name}/resolve/{revision}/{file}");
        match self.download(&url, &path, largest) {
            Ok(()) => Ok(path),
            // The server does not answer: what is there is used.
            Err(Failure::Request(_)) if path.is_file() => Ok(path),
            Err(failure) => Err(HubError::Download { url, failure }),
        }
    }

    /// Downloads a file, unless it is there and has not changed.
    fn download(&self, url: &str, path: &Path, largest: u64) -> Result<(), Failure> {
        let tag = tag_of(path);
        let agent = agent(url, Some(TOTAL_TIMEOUT));
        // Otherwise the length is that of the compressed transfer.
        let mut request = agent.get(url).header("Accept-Encoding", "identity");
        if path.is_file()
            && let Ok(known) = fs::read_to_string(&tag)
        {
            request = request.header("If-None-Match", known.trim());
        }
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let response = answer_to(request)?;
        if response.status() == 304 {
            return Ok(());
        }
        let now = response.headers().get("etag").cloned();
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|error| write_failed(folder, error))?;
        let prefix = ".model";
        let mut partial =
            temporary_in(folder, prefix).map_err(|error| write_failed(folder, error))?;
        let body = response.into_body();
        let promised = body.content_length();
        if promised.is_some_and(|bytes| bytes > largest) {
            return Err(Failure::Length {
                found: promised.unwrap_or_default(),
                expected: largest,
            });
        }
        let mut reader = body.into_reader().take(largest + 1);
        let received = io::copy(&mut reader, &mut partial).map_err(|source| Failure::Transfer {
            received: partial.as_file().metadata().map_or(0, |file| file.len()),
            source,
        })?;
        let expected = promised.unwrap_or(received).min(largest);
        if received != expected {
            return Err(Failure::Length {
                found: received,
                expected,
            });
        }
        // A tag that is not that of the file would keep it for ever.
        let _ = fs::remove_file(&tag);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        put(partial, folder, &name)?;
        // Without the tag the file is downloaded again at the next start.
        let text = now.as_ref().and_then(|now| now.to_str().ok());
        if let Some(text) = text {
            let _ = fs::write(&tag, text);
        }
        Ok(())
    }
}
