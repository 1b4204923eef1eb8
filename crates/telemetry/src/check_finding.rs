//! A problem that a check of this process found, and its fix.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A problem that a check found, and its fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckFinding {
    pub message: String,
    pub fix: String,
    /// Whether this hub refuses every login for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops_logins: bool,
}

impl CheckFinding {
    /// Creates a finding with its fix.
    pub fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { message: message.into(), fix: fix.into(), stops_logins: false }
    }

    /// Creates the finding that this hub refuses every login, with the reason and its fix.
    pub fn no_login_admitted(reason: impl fmt::Display, fix: impl Into<String>) -> Self {
        let finding = Self::new(format!("No login is admitted: {reason}"), fix);
        Self { stops_logins: true, ..finding }
    }
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; fix: {}", self.message, self.fix)
    }
}
