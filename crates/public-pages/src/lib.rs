//! Public pages of a hub: the status of its identity providers, an accessibility statement, and a
//! privacy notice.
//!
//! Responsible for what the pages say, in every language, and for the operator's answers in
//! `[public_pages]`. Does not know logins, sessions or people. Begin with [`EXTENSION`].

mod extension;
mod settings;
mod state;
mod statements;
mod status;

pub use self::extension::EXTENSION;
