//! The sandbox identity provider.

/// The sandbox's own login page.
pub trait SandboxPage {}
