//! Rejects new files that take the place of a file that can't be used.
//!
//! A file without a usable version takes part in no comparison, so another file could get its
//! `client_id`, its sector or its secret, and a typing error in it would lift what it denies.

use std::path::{Path, PathBuf};

use super::ReloadableFiles;
use super::conflict_resolution::{PendingFiles, RejectedFiles};
use crate::validation::consistency::ClientDeclaration;
use passerelle_settings::{Diagnostic, SourceFile, safe_read, secret_rules};

/// A file of which no version can be used.
struct UnusableFile {
    path: PathBuf,
    /// Its content; empty if it can't be read.
    text: String,
}

impl UnusableFile {
    fn read(path: &Path) -> Self {
        let bytes = safe_read::read_regular_file(path).unwrap_or_default();
        Self { path: path.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// Returns whether this may be the file of a client. Reads lines, because the file may be no
    /// TOML: those of `client_id`, or without any the whole text.
    fn may_declare(&self, client_id: &str) -> bool {
        let value =
            |line: &str| line.trim_ascii_start().strip_prefix("client_id").map(str::to_owned);
        let declared: Vec<String> = self.text.lines().filter_map(value).collect();
        let text = if declared.is_empty() { &self.text } else { &declared.join("\n") };
        let is_separator =
            |c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '=' | ',' | '#');
        self.has_name(client_id) || text.split(is_separator).any(|word| word == client_id)
    }

    fn has_name(&self, name: &str) -> bool {
        self.path.file_stem().is_some_and(|stem| stem == name)
    }
}

impl ReloadableFiles {
    /// Returns the new files that collide with a file that can't be used.
    pub(super) fn collisions_with_unusable_files(&self, pending: &PendingFiles) -> RejectedFiles {
        let clients = self.services.unusable_files().chain(self.data_providers.unusable_files());
        let clients: Vec<UnusableFile> = clients.map(UnusableFile::read).collect();
        let connectors: Vec<UnusableFile> =
            self.connectors.unusable_files().map(UnusableFile::read).collect();
        let mut rejected = RejectedFiles::new();
        let mut reject = |source: &SourceFile, key: &str, other: &UnusableFile| {
            if pending.get(source.path()).is_some_and(|file| file.is_new) {
                let problem = collision(source, key, other);
                rejected.entry(source.path().to_owned()).or_default().push(problem);
            }
        };
        for client in self.client_declarations() {
            for other in &clients {
                if other.may_declare(client.client_id.as_str()) {
                    reject(client.source, "client_id", other);
                } else if client.sector.is_some_and(|sector| other.may_declare(sector)) {
                    reject(client.source, "sector", other);
                }
            }
        }
        for source in self.candidate_sources() {
            let Some(key) =
                secret_rules::find_single_secret_reference(source, &self.context.folder)
            else {
                continue;
            };
            let name = source.path().file_stem().and_then(|stem| stem.to_str());
            for other in clients.iter().chain(&connectors) {
                if name.is_some_and(|name| other.has_name(name)) {
                    reject(source, &key, other);
                }
            }
        }
        rejected
    }

    fn client_declarations(&self) -> Vec<ClientDeclaration<'_>> {
        let services = self.services.candidate_versions(&|_| false).map(|version| {
            ClientDeclaration::from_service_provider(&version.source, &version.content.file)
        });
        let data_providers = self.data_providers.candidate_versions(&|_| false).map(|version| {
            ClientDeclaration::from_data_provider(&version.source, &version.content.file)
        });
        services.chain(data_providers).collect()
    }

    fn candidate_sources(&self) -> Vec<&SourceFile> {
        let services = self.services.candidate_versions(&|_| false).map(|version| &version.source);
        let data_providers =
            self.data_providers.candidate_versions(&|_| false).map(|version| &version.source);
        let connectors =
            self.connectors.candidate_versions(&|_| false).map(|version| &version.source);
        services.chain(data_providers).chain(connectors).collect()
    }
}

fn collision(source: &SourceFile, key: &str, other: &UnusableFile) -> Diagnostic {
    let message = format!(
        "may belong to {}, which can't be used: what that file denies must stay denied",
        other.path.display()
    );
    source.diagnostic(key, message, "correct that file first, or remove it")
}
