//! Temporary configuration folder of a hub of the demo.

use std::path::Path;

use tempfile::TempDir;

use super::DemoStartError;
use passerelle_config::LoadedConfig;
use passerelle_protocol::atomic_file::write_private_file;
use passerelle_settings::Environment;

/// Configuration folder, removed when dropped. Its secrets are in the environment.
pub(crate) struct DemoFiles {
    folder: TempDir,
    environment: Environment,
}

impl DemoFiles {
    /// Writes files, given as path and text, into a new folder.
    ///
    /// # Errors
    /// Returns an error if a file can't be written.
    pub(crate) fn write<P: AsRef<Path>>(
        files: impl IntoIterator<Item = (P, String)>,
        environment: Environment,
    ) -> Result<Self, DemoStartError> {
        let folder = TempDir::with_prefix("passerelle-demo-")?;
        for (path, text) in files {
            write_private_file(&folder.path().join(path), text.as_bytes())?;
        }
        Ok(Self { folder, environment })
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Loads the configuration.
    ///
    /// # Errors
    /// Returns an error if the files are invalid.
    pub(crate) fn load(&self) -> Result<LoadedConfig, DemoStartError> {
        passerelle_server::load_config(self.folder.path(), &self.environment)
            .map_err(DemoStartError::Configuration)
    }
}
