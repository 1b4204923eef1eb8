//! The logins of the last hour, minute by minute, for the overview, and for what a problem costs.
//!
//! Responsible for turning the totals of the metrics into numbers of a minute. Keeps 60 numbers of
//! each outcome, and of each identity provider, and nothing about any login.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;
use passerelle_telemetry::EndedLogins;

/// Minutes that are kept.
const KEPT_MINUTES: usize = 60;
/// Minutes from which the current rate is taken.
const RECENT_MINUTES: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);

/// Logins that ended in one minute.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoginMinute {
    /// End of the minute, RFC 3339.
    pub at: String,
    pub granted: u64,
    /// Refused, failed or expired.
    pub unsuccessful: u64,
}

/// The last hour of this process.
#[derive(Debug, Default)]
pub struct LoginTrend(Mutex<TrendState>);

#[derive(Debug, Default)]
struct TrendState {
    /// The totals at the end of the last minute, by identity provider.
    before: BTreeMap<String, Totals>,
    minutes: VecDeque<TrendMinute>,
}

#[derive(Debug)]
struct TrendMinute {
    end: Timestamp,
    /// Identity providers without a login are left out.
    by_identity_provider: BTreeMap<String, Totals>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Totals {
    granted: u64,
    unsuccessful: u64,
}

impl Totals {
    const fn plus(self, other: Self) -> Self {
        Self {
            granted: self.granted.saturating_add(other.granted),
            unsuccessful: self.unsuccessful.saturating_add(other.unsuccessful),
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            granted: self.granted.saturating_sub(other.granted),
            unsuccessful: self.unsuccessful.saturating_sub(other.unsuccessful),
        }
    }
}

impl TrendMinute {
    fn sum(&self) -> Totals {
        self.by_identity_provider.values().copied().fold(Totals::default(), Totals::plus)
    }

    /// Returns the granted logins at these identity providers; without any, at all of them.
    fn granted(&self, ids: &[ConnectorId]) -> u64 {
        if ids.is_empty() {
            return self.sum().granted;
        }
        let of = |id: &ConnectorId| self.by_identity_provider.get(id.as_str());
        ids.iter().filter_map(of).map(|totals| totals.granted).sum()
    }
}

impl LoginTrend {
    /// Adds a minute, from the logins that have ended since the hub started.
    pub fn add_minute(&self, ended: &EndedLogins, now: Timestamp) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_identity_provider = BTreeMap::new();
        for (id, outcomes) in ended {
            let sum = |is_granted: bool| {
                let counted =
                    outcomes.iter().filter(|(outcome, _)| (*outcome == "granted") == is_granted);
                counted.map(|(_, count)| *count).sum()
            };
            let totals = Totals { granted: sum(true), unsuccessful: sum(false) };
            let before = state.before.insert(id.clone(), totals).unwrap_or_default();
            let minute = totals.minus(before);
            if minute != Totals::default() {
                by_identity_provider.insert(id.clone(), minute);
            }
        }
        state.minutes.push_back(TrendMinute { end: now, by_identity_provider });
        if state.minutes.len() > KEPT_MINUTES {
            state.minutes.pop_front();
        }
    }

    /// Returns the minutes, oldest first.
    pub fn minutes(&self) -> Vec<LoginMinute> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = |minute: &TrendMinute| {
            let Totals { granted, unsuccessful } = minute.sum();
            LoginMinute { at: format_rfc3339(minute.end), granted, unsuccessful }
        };
        state.minutes.iter().map(minute).collect()
    }

    /// Returns the granted logins per minute of the last hour at these identity providers; without
    /// any, at all of them. `None` before the first minute.
    pub fn granted_per_minute(&self, ids: &[ConnectorId]) -> Option<f64> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        average(state.minutes.iter(), ids)
    }

    /// Returns the granted logins per minute of the last minutes that began after `since`; `None`
    /// without such a minute.
    pub fn granted_per_minute_since(&self, ids: &[ConnectorId], since: Timestamp) -> Option<f64> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let later = state.minutes.iter().rev().take(RECENT_MINUTES);
        average(later.filter(|minute| minute.end >= since + MINUTE), ids)
    }
}

fn average<'a>(minutes: impl Iterator<Item = &'a TrendMinute>, ids: &[ConnectorId]) -> Option<f64> {
    let (count, granted) =
        minutes.fold((0_u32, 0_u64), |(count, sum), minute| (count + 1, sum + minute.granted(ids)));
    #[expect(clippy::cast_precision_loss, reason = "logins of an hour")]
    let granted = granted as f64;
    (count > 0).then(|| granted / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_become_numbers_of_a_minute_and_only_an_hour_is_kept() {
        let trend = LoginTrend::default();
        for minute in 1..=70_u64 {
            let outcomes = [("granted".to_owned(), minute * 3), ("failed".to_owned(), minute)];
            let ended = [("idp".to_owned(), outcomes.into_iter().collect())].into_iter().collect();
            trend.add_minute(&ended, Timestamp::from_seconds(minute * 60));
        }
        let minutes = trend.minutes();
        assert_eq!(minutes.len(), KEPT_MINUTES);
        assert!(minutes.iter().all(|minute| (minute.granted, minute.unsuccessful) == (3, 1)));
    }

    #[test]
    fn the_rate_of_an_identity_provider_is_known_before_and_after_a_time() {
        let (trend, ids) = (LoginTrend::default(), ["a".into()]);
        assert_eq!(trend.granted_per_minute(&ids), None);
        let mut total = 0;
        for (minute, granted) in [10, 10, 10, 1, 1].into_iter().enumerate() {
            total += granted;
            let granted = |count| [("granted".to_owned(), count)].into_iter().collect();
            let ended = [("a".to_owned(), granted(total)), ("b".to_owned(), granted(total * 2))];
            let end = Timestamp::from_seconds((minute as u64 + 1) * 60);
            trend.add_minute(&ended.into_iter().collect(), end);
        }
        assert_eq!(trend.granted_per_minute(&ids), Some(32.0 / 5.0));
        assert_eq!(trend.granted_per_minute(&[]), Some(96.0 / 5.0));
        let since =
            |seconds| trend.granted_per_minute_since(&ids, Timestamp::from_seconds(seconds));
        assert_eq!((since(180), since(240), since(241)), (Some(1.0), Some(1.0), None));
    }

    /// The shades of the bars change places in the dark scheme.
    #[test]
    fn the_caption_names_the_parts_of_a_bar_by_their_place() {
        let page = include_str!("templates/admin_overview.html");
        let caption = page.split("<figcaption>").nth(1).unwrap().split("</figcaption>").next();
        let caption = caption.unwrap().to_ascii_lowercase();
        assert!(caption.contains("lower part") && caption.contains("upper part"), "{caption}");
        for shade in ["dark", "light", "pale", "grey", "blue", "colour"] {
            assert!(!caption.contains(shade), "{shade}");
        }
    }
}
