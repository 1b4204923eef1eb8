//! Finds out whether the hub's own clock is wrong: several identity providers then agree on another
//! time.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::connector::{Connector, ConnectorError};
use crate::protocol::catalogue::ErrorCode;

/// Clock difference, in seconds, beyond which tokens may soon be rejected.
pub const MAX_CLOCK_SKEW_SECONDS: u64 = 30;

/// The clocks of all identity providers, beside the hub's. Cheap to clone.
#[derive(Clone, Default)]
pub struct HubClock(Arc<Mutex<Vec<Weak<dyn Connector>>>>);

impl HubClock {
    /// Adds a connector, as long as it is in use.
    pub fn add(&self, connector: &Arc<dyn Connector>) {
        let mut connectors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        connectors.retain(|one| one.strong_count() > 0);
        connectors.push(Arc::downgrade(connector));
    }

    /// Returns the error of a call. If the hub's clock is wrong and the error may come from that,
    /// it names the clock: the identity provider is not at fault, and its circuit stays closed.
    #[must_use]
    pub fn attribute_error(&self, error: ConnectorError) -> ConnectorError {
        if !depends_on_clock(error.code) {
            return error;
        }
        let Some(skew) = self.common_skew() else { return error };
        let detail = format!(
            "{}; the clocks of {} identity providers differ from this hub's by about {:+} s, so set this machine's clock (NTP)",
            error, skew.providers, skew.seconds
        );
        ConnectorError::new(ErrorCode::HubClock, detail)
    }

    fn common_skew(&self) -> Option<CommonSkew> {
        let connectors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let skews: Vec<i64> =
            connectors.iter().filter_map(|one| one.upgrade()?.clock_skew_seconds()).collect();
        CommonSkew::from_skews(&skews)
    }
}

/// A skew on which most identity providers agree: the hub's own clock is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommonSkew {
    /// Number of identity providers that agree.
    pub providers: usize,
    /// The median of their skews.
    pub seconds: i64,
}

impl CommonSkew {
    /// Returns the skew on which more than half of at least two agree in its direction.
    #[must_use]
    pub fn from_skews(skews: &[i64]) -> Option<Self> {
        let is_apart = |skew: &&i64| skew.unsigned_abs() > MAX_CLOCK_SKEW_SECONDS;
        let (mut ahead, mut behind): (Vec<i64>, Vec<i64>) =
            skews.iter().filter(is_apart).partition(|skew| **skew > 0);
        let agreeing = if ahead.len() > behind.len() { &mut ahead } else { &mut behind };
        if skews.len() < 2 || agreeing.len() * 2 <= skews.len() {
            return None;
        }
        agreeing.sort_unstable();
        let seconds = *agreeing.get(agreeing.len() / 2)?;
        Some(Self { providers: agreeing.len(), seconds })
    }
}

/// Returns whether a wrong clock of the hub can cause the error: of the identity provider's times,
/// or of the times in the hub's own assertions.
const fn depends_on_clock(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::IdTokenExpired
            | ErrorCode::IdTokenFuture
            | ErrorCode::IdTokenNotYet
            | ErrorCode::IdTokenAuthTime
            | ErrorCode::ReauthenticationNotProven
            | ErrorCode::PromptLoginIgnored
            | ErrorCode::UserinfoTime
            | ErrorCode::IdpResponseClaims
            | ErrorCode::IdpClientRefused
            | ErrorCode::IdpPushRefused
            | ErrorCode::WalletCredentialExpired
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hubs_clock_is_wrong_only_where_most_of_several_agree() {
        let common = |skews: &[i64]| CommonSkew::from_skews(skews).map(|skew| skew.seconds);
        assert_eq!(common(&[3600]), None, "one may be wrong itself");
        assert_eq!(common(&[3600, 3602]), Some(3602));
        assert_eq!(common(&[-86_400, -86_399, 0]), Some(-86_399));
        assert_eq!(common(&[3600, 0]), None);
        assert_eq!(common(&[3600, -3600]), None);
        assert_eq!(common(&[20, 25, 30]), None);
        assert_eq!(common(&[]), None);
    }
}
