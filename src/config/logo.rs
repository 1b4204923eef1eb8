//! Pictures for the pages: of the theme, of a connector, of a service provider. Read and checked with the file that
//! names them, so that a page never waits for a disk.
//!
//! An SVG may hold script: pages show it as an image only, where nothing in it runs or loads, and it is served under a
//! policy that stops both when it is opened by itself.

use std::path::{Component, Path};
use std::sync::Arc;

use crate::digest;

#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    /// `image/svg+xml` or `image/png`.
    pub media_type: &'static str,
    pub bytes: Arc<[u8]>,
    /// 16 characters that change with the bytes: for an address that may be kept for ever.
    pub version: Arc<str>,
}

/// What is wrong with it, and how to mend that.
pub type Fault = (&'static str, &'static str);

/// The theme's alone on a page.
const THEME_BYTES: u64 = 256 * 1024;
/// One of many on a page.
const ENTRY_BYTES: u64 = 64 * 1024;

impl Logo {
    #[must_use]
    pub fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        let version =
            digest::base64url(&digest::sha256(&bytes)).get(..16).unwrap_or_default().into();
        Self { media_type, bytes: bytes.into(), version }
    }

    /// The theme's: at most 256 KiB.
    pub(super) fn of_theme(folder: &Path, path: &Path) -> Result<Self, Fault> {
        read(
            &folder.join(path),
            THEME_BYTES,
            ("names a file over 256 KiB", "make the logo smaller"),
        )
    }

    /// A connector's or a service provider's: at most 64 KiB, in the folder of the file that names it.
    pub(super) fn of_entry(folder: &Path, path: &Path) -> Result<Self, Fault> {
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err((
                "leads out of this file's folder",
                "put the logo beside this file, and write its name",
            ));
        }
        read(&folder.join(path), ENTRY_BYTES, ("names a file over 64 KiB", "make the logo smaller"))
    }
}

fn read(path: &Path, most: u64, too_large: Fault) -> Result<Logo, Fault> {
    let missing = (
        "names a file that can't be read",
        "put the logo there; the path counts from this file's folder",
    );
    let file = std::fs::metadata(path).map_err(|_| missing)?;
    if !file.is_file() {
        return Err(missing);
    }
    if file.len() > most {
        return Err(too_large);
    }
    let bytes = std::fs::read(path).map_err(|_| missing)?;
    let svg = || std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("<svg"));
    let media_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => "image/png",
        Some("svg") if svg() => "image/svg+xml",
        _ => {
            return Err((
                "is neither an SVG nor a PNG image",
                "use a file that ends in .svg or .png and is one",
            ));
        }
    };
    Ok(Logo::new(media_type, bytes))
}

/// Without its bytes.
impl std::fmt::Debug for Logo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logo")
            .field("media_type", &self.media_type)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
