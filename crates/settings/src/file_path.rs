//! Defines the paths of files that connectors, service providers and data providers name. The type
//! of a key, and no list of key names, says that a running hub reads the file again when it changes.
//! What only `passerelle.toml` names is a `PathBuf`, and read at the start (docs/reload.md).

use std::borrow::Cow;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What a named file is to the file that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileRole {
    /// A part of its content.
    Content,
    /// The authorities that it trusts. Without the file, it trusts no one.
    Authorities,
    /// A picture in its own folder.
    Logo,
}

impl FileRole {
    /// Returns the role of a path with this `format` in a schema.
    #[must_use]
    pub fn from_format(format: &str) -> Option<Self> {
        match format {
            FilePath::FORMAT => Some(Self::Content),
            AuthoritiesPath::FORMAT => Some(Self::Authorities),
            LogoPath::FORMAT => Some(Self::Logo),
            _ => None,
        }
    }
}

macro_rules! file_paths {
    ($($(#[$summary:meta])* $name:ident $format:literal,)*) => {$(
        $(#[$summary])*
        #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(PathBuf);

        impl $name {
            const FORMAT: &'static str = $format;
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": Self::FORMAT })
            }
        }

        impl Deref for $name {
            type Target = Path;

            fn deref(&self) -> &Path {
                &self.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                &self.0
            }
        }

        impl AsMut<PathBuf> for $name {
            fn as_mut(&mut self) -> &mut PathBuf {
                &mut self.0
            }
        }

        impl From<PathBuf> for $name {
            fn from(path: PathBuf) -> Self {
                Self(path)
            }
        }
    )*};
}

file_paths! {
    /// Path of a file, relative to the configuration folder.
    FilePath "file-path",
    /// Path of a PEM file of trusted authorities, relative to the configuration folder.
    AuthoritiesPath "authorities-path",
    /// Path of a picture, relative to the folder of the file that names it.
    LogoPath "logo-path",
}
