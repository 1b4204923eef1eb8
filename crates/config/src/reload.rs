//! Rereads the files of a running hub and publishes what changed.

pub mod changes;
pub mod config_digest;
pub mod reloadable_files;
pub mod settings_file;
