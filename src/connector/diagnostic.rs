//! What `passerelle check connector` finds at an identity provider: plain data, each finding with its mend.

use serde::Serialize;

use crate::identity::Claim;

/// How a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    /// Logins work, and something deserves a look.
    Warning,
    /// Logins fail, or can't be trusted.
    Fault,
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Stable: for scripts.
    pub name: &'static str,
    pub verdict: Verdict,
    pub what: String,
    /// What to do about it; `None` where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

impl Finding {
    pub fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, what: what.into(), mend: None }
    }

    pub fn warning(name: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Warning, what: what.into(), mend: Some(mend.into()) }
    }

    pub fn fault(name: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Fault, what: what.into(), mend: Some(mend.into()) }
    }
}

/// What a connector is examined for.
#[derive(Clone, Debug)]
pub struct Examination {
    /// As a login would send it.
    pub redirect_uri: String,
    /// The hub's claims that an identity can't do without, each with the identity provider's claims that it is made of.
    pub needed: Vec<(Claim, Vec<String>)>,
}
