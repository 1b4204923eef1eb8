//! The logins of the last hour, minute by minute, for the overview.
//!
//! Responsible for turning the totals of the metrics into numbers of a minute. Keeps 60 numbers of
//! each outcome, and nothing about any login.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
use passerelle_telemetry::EndedLogins;

/// Minutes that are kept.
const KEPT_MINUTES: usize = 60;

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
    before: Totals,
    minutes: VecDeque<LoginMinute>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    granted: u64,
    unsuccessful: u64,
}

impl LoginTrend {
    /// Adds a minute, from the logins that have ended since the hub started.
    pub fn add_minute(&self, ended: &EndedLogins, now: Timestamp) {
        let mut totals = Totals::default();
        for (outcome, count) in ended.values().flatten() {
            let total =
                if outcome == "granted" { &mut totals.granted } else { &mut totals.unsuccessful };
            *total = total.saturating_add(*count);
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = LoginMinute {
            at: format_rfc3339(now),
            granted: totals.granted.saturating_sub(state.before.granted),
            unsuccessful: totals.unsuccessful.saturating_sub(state.before.unsuccessful),
        };
        state.before = totals;
        state.minutes.push_back(minute);
        if state.minutes.len() > KEPT_MINUTES {
            state.minutes.pop_front();
        }
    }

    /// Returns the minutes, oldest first.
    #[must_use]
    pub fn minutes(&self) -> Vec<LoginMinute> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.minutes.iter().cloned().collect()
    }
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

    /// The shades of the bars change places in the dark scheme.
    #[test]
    fn the_caption_names_the_parts_of_a_bar_by_their_place() {
        let page = include_str!("../templates/admin_overview.html");
        let caption = page.split("<figcaption>").nth(1).unwrap().split("</figcaption>").next();
        let caption = caption.unwrap().to_ascii_lowercase();
        assert!(caption.contains("lower part") && caption.contains("upper part"), "{caption}");
        for shade in ["dark", "light", "pale", "grey", "blue", "colour"] {
            assert!(!caption.contains(shade), "{shade}");
        }
    }
}
