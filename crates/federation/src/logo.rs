//! Reads the logos of the theme, of connectors and of service providers, together with the file
//! that names them, so that requests don't access the disk.
//!
//! An SVG may contain scripts. Pages show it as an image only, in which scripts don't run and
//! nothing loads, and it is served with a Content-Security-Policy that prevents both when it is
//! opened directly.

use std::path::{Component, Path};
use std::sync::Arc;

use passerelle_protocol::digest;
use passerelle_settings::ValueError;

/// A checked image.
/// `Debug` omits the content.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("Logo {{ media_type: {media_type:?}, version: {version:?}, .. }}")]
pub struct Logo {
    /// `image/svg+xml` or `image/png`.
    pub media_type: &'static str,
    /// Content of the file.
    pub bytes: Arc<[u8]>,
    /// Fingerprint of 16 characters, for a URL that can be cached forever.
    pub version: Arc<str>,
}

/// Maximum size of the theme's logo, of which a page has one.
const MAX_THEME_LOGO_BYTES: u64 = 256 * 1024;
/// Maximum size of other logos, of which a page may have many.
const MAX_ENTRY_LOGO_BYTES: u64 = 64 * 1024;

impl Logo {
    /// Creates a logo.
    pub fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        let version =
            digest::base64url(&digest::sha256(&bytes)).get(..16).unwrap_or_default().into();
        Self { media_type, bytes: bytes.into(), version }
    }

    /// Reads the theme's logo of at most 256 KiB.
    ///
    /// # Errors
    /// Fails if the file can't be read, is too large, or is neither SVG nor PNG.
    pub fn read_theme_logo(folder: &Path, path: &Path) -> Result<Self, ValueError> {
        read_logo(
            &folder.join(path),
            MAX_THEME_LOGO_BYTES,
            ValueError::new("names a file over 256 KiB", "make the logo smaller"),
        )
    }

    /// Reads the logo of a connector or service provider of at most 64 KiB, in the folder of the
    /// file that names it.
    ///
    /// # Errors
    /// Fails if the path leads out of the folder, or the file can't be read, is too large, or is
    /// neither SVG nor PNG.
    pub fn read_entry_logo(folder: &Path, path: &Path) -> Result<Self, ValueError> {
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(ValueError::new(
                "leads out of this file's folder",
                "put the logo into the folder of this file, and write its name",
            ));
        }
        read_logo(
            &folder.join(path),
            MAX_ENTRY_LOGO_BYTES,
            ValueError::new("names a file over 64 KiB", "make the logo smaller"),
        )
    }
}

fn read_logo(path: &Path, most: u64, too_large: ValueError) -> Result<Logo, ValueError> {
    let missing = || {
        ValueError::new(
            "names a file that can't be read",
            "put the logo there; the path is relative to the folder of this file",
        )
    };
    let file = std::fs::metadata(path).map_err(|_| missing())?;
    if !file.is_file() {
        return Err(missing());
    }
    if file.len() > most {
        return Err(too_large);
    }
    let bytes = std::fs::read(path).map_err(|_| missing())?;
    let svg = || std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("<svg"));
    let media_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => "image/png",
        Some("svg") if svg() => "image/svg+xml",
        _ => {
            return Err(ValueError::new(
                "is neither an SVG nor a PNG image",
                "use an SVG or PNG file with the extension .svg or .png",
            ));
        }
    };
    Ok(Logo::new(media_type, bytes))
}
