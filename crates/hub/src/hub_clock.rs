//! Finds out whether the hub's own clock is wrong: several identity providers then agree on another
//! time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use passerelle_connector::{Connector, ConnectorError, MeasuredSkew};
use passerelle_protocol::catalogue::ErrorCode;

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
    pub(crate) fn attribute_error(&self, error: ConnectorError) -> ConnectorError {
        if !error.code.entry().depends_on_clock {
            return error;
        }
        let Some(skew) = self.common_skew() else { return error };
        let detail = format!(
            "{}; the clocks of {} identity providers differ from this hub's by about {:+} s or more, so set this machine's clock (NTP)",
            error, skew.providers, skew.seconds
        );
        ConnectorError::new(ErrorCode::HubClock, detail)
    }

    /// Returns the skew of an identity provider's clock in seconds. A certificate that TLS refuses
    /// shows one only where several agree that the hub's clock is wrong; else it is out of date
    /// itself.
    pub(crate) fn credible_skew(&self, connector: &dyn Connector) -> Option<i64> {
        let measured = connector.clock_skew()?;
        let is_credible = measured.certificate_limit.is_none() || self.common_skew().is_some();
        is_credible.then_some(measured.seconds)
    }

    /// Returns the skew on which most identity providers agree.
    pub(crate) fn common_skew(&self) -> Option<CommonSkew> {
        let connectors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let skews: Vec<MeasuredSkew> =
            connectors.iter().filter_map(|one| one.upgrade()?.clock_skew()).collect();
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
    /// Certificates with one limit are one witness: several hosts may share a certificate that has
    /// expired.
    pub fn from_skews(skews: &[MeasuredSkew]) -> Option<Self> {
        let is_apart = |skew: &&MeasuredSkew| skew.seconds.unsigned_abs() > MAX_CLOCK_SKEW_SECONDS;
        let (ahead, behind): (Vec<MeasuredSkew>, Vec<MeasuredSkew>) =
            skews.iter().filter(is_apart).partition(|skew| skew.seconds > 0);
        let agreeing = if ahead.len() > behind.len() { ahead } else { behind };
        let stated = agreeing.iter().filter(|skew| skew.certificate_limit.is_none()).count();
        let certificates: BTreeSet<u64> =
            agreeing.iter().filter_map(|skew| skew.certificate_limit).collect();
        if stated + certificates.len() < 2 || agreeing.len() * 2 <= skews.len() {
            return None;
        }
        let mut seconds: Vec<i64> = agreeing.iter().map(|skew| skew.seconds).collect();
        seconds.sort_unstable();
        let median = *seconds.get(seconds.len() / 2)?;
        Some(Self { providers: agreeing.len(), seconds: median })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hubs_clock_is_wrong_only_where_most_of_several_agree() {
        let stated = |seconds: &i64| MeasuredSkew { seconds: *seconds, certificate_limit: None };
        let common = |skews: &[i64]| {
            let skews: Vec<_> = skews.iter().map(stated).collect();
            CommonSkew::from_skews(&skews).map(|skew| skew.seconds)
        };
        assert_eq!(common(&[3600]), None, "one may be wrong itself");
        assert_eq!(common(&[3600, 3602]), Some(3602));
        assert_eq!(common(&[-86_400, -86_399, 0]), Some(-86_399));
        assert_eq!(common(&[3600, 0]), None);
        assert_eq!(common(&[3600, -3600]), None);
        assert_eq!(common(&[20, 25, 30]), None);
        assert_eq!(common(&[]), None);
    }

    #[test]
    fn certificates_show_a_wrong_clock_only_where_several_different_ones_are_refused() {
        let refused =
            |limit: u64, seconds: i64| MeasuredSkew { seconds, certificate_limit: Some(limit) };
        let right = MeasuredSkew { seconds: 0, certificate_limit: None };
        let common = |skews: &[MeasuredSkew]| {
            CommonSkew::from_skews(skews).map(|skew| (skew.providers, skew.seconds))
        };
        assert_eq!(common(&[refused(1, -86_400), refused(2, -86_399)]), Some((2, -86_399)));
        assert_eq!(common(&[refused(1, -86_400), refused(1, -86_390)]), None, "one certificate");
        assert_eq!(common(&[refused(1, -86_400), right]), None, "it has expired");
        let stated = MeasuredSkew { seconds: -90_000, certificate_limit: None };
        assert_eq!(common(&[refused(1, -86_400), stated]), Some((2, -86_400)));
    }
}
