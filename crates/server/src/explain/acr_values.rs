//! Explains the requested values of `acr` of a service provider with level names.

use std::fmt;

use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_protocol::acr::{AcrRequest, RequestedAcr};

/// A requested value of `acr`, and what meets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedAcr {
    pub value: RequestedAcr,
    /// The identity provider's values that prove a level name.
    pub returned: Vec<String>,
    /// True if the login fails unless one of the values is met.
    pub essential: bool,
}

/// Explains the requested values in order; none of a service provider without level names.
pub(super) fn explain_values(request: &AcrRequest, policy: &AcrPolicy) -> Vec<ExplainedAcr> {
    let explain = |value: &RequestedAcr| ExplainedAcr {
        returned: value
            .name
            .as_ref()
            .and_then(|name| policy.names.get(&**name))
            .cloned()
            .unwrap_or_default(),
        value: value.clone(),
        essential: request.essential,
    };
    request.values.iter().map(explain).collect()
}

impl fmt::Display for ExplainedAcr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestedAcr { name, lowest, highest, multi_factor, mail } = &self.value;
        let level = lowest.as_str();
        let Some(name) = name else {
            let higher = if lowest == highest { "" } else { " or a higher one" };
            return write!(f, "{level} is met by that level{higher}: the level is answered");
        };
        write!(f, "{name} is met by {level} or higher")?;
        if *multi_factor {
            f.write_str(" with methods of two categories")?;
        } else if *mail {
            f.write_str(" with mail or methods of two categories, or after a code by mail")?;
        }
        if *multi_factor || *mail {
            for acr in &self.returned {
                write!(f, ", or with acr \"{acr}\" in the response")?;
            }
        }
        write!(f, ": acr {name} is answered")
    }
}

/// Writes one line for each value, and one for an authentication that meets none of them.
pub(super) fn write_values(values: &[ExplainedAcr], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for value in values {
        writeln!(f, "- {value}")?;
    }
    match values.first() {
        Some(value) if value.essential => writeln!(
            f,
            "- if none of them is met, the user returns to the choice page: the acr claim is essential"
        ),
        Some(_) => writeln!(f, "- if none of them is met, the level is answered"),
        None => Ok(()),
    }
}
