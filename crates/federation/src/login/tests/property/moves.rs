//! The moves of a random login.

use super::*;

#[derive(Clone, Copy, Debug)]
pub(super) enum GateRefusal {
    Closed,
    /// By a block.
    Block,
}

/// A step; what it refers to (an attempt, a page) is looked up when it is taken.
#[derive(Clone, Debug)]
pub(super) enum Move {
    OpenPage {
        reuse: bool,
        consented: bool,
    },
    Choose {
        other: bool,
    },
    Cancel,
    /// The callback of one of the attempts so far, with this flaw.
    Callback {
        attempt: usize,
        flaw: Flaw,
    },
    OpenMailPage,
    /// The code of the last mail, or another one.
    MailCode {
        right: bool,
    },
    OpenConsentPage,
    Consent {
        yes: bool,
        shown: bool,
    },
    Displace,
    /// The outcome of the pending effect, good or bad.
    Answer {
        good: bool,
        level: Level,
    },
    /// The outcome of an effect that this state did not request.
    UnexpectedOutcome(OutcomeKind),
    /// `None`: open.
    Gate {
        closed: Option<GateRefusal>,
    },
    Wait {
        millis: u32,
    },
    /// The process dies before the pending effect is done.
    Crash,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum OutcomeKind {
    RedirectPrepared,
    Authenticated,
    Identified,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Flaw {
    None,
    State,
    Connector,
    Iss,
}

pub(super) fn moves() -> impl Strategy<Value = Vec<Move>> {
    let flaw = prop_oneof![5 => Just(Flaw::None), 1 => Just(Flaw::State), 1 => Just(Flaw::Connector), 1 => Just(Flaw::Iss)];
    let level = prop_oneof![Just(Level::Eidas1), Just(Level::Eidas2), Just(Level::Eidas3)];
    let one = prop_oneof![
        4 => (prop::bool::weighted(0.2), any::<bool>()).prop_map(|(reuse, consented)| Move::OpenPage { reuse, consented }),
        12 => prop::bool::weighted(0.2).prop_map(|other| Move::Choose { other }),
        1 => Just(Move::Cancel),
        20 => (prop_oneof![4 => Just(0_usize), 1 => 1_usize..3], flaw).prop_map(|(attempt, flaw)| Move::Callback { attempt, flaw }),
        6 => Just(Move::OpenMailPage),
        8 => prop::bool::weighted(0.7).prop_map(|right| Move::MailCode { right }),
        2 => Just(Move::OpenConsentPage),
        16 => (prop::bool::weighted(0.9), prop::bool::weighted(0.8)).prop_map(|(yes, shown)| Move::Consent { yes, shown }),
        1 => prop::bool::weighted(0.1).prop_map(|displace| if displace { Move::Displace } else { Move::OpenConsentPage }),
        12 => (prop::bool::weighted(0.7), level).prop_map(|(good, level)| Move::Answer { good, level }),
        2 => prop_oneof![Just(OutcomeKind::RedirectPrepared), Just(OutcomeKind::Authenticated), Just(OutcomeKind::Identified)].prop_map(Move::UnexpectedOutcome),
        1 => prop::option::weighted(0.2, prop_oneof![Just(GateRefusal::Closed), Just(GateRefusal::Block)]).prop_map(|closed| Move::Gate { closed }),
        2 => Just(Move::Crash),
        1 => (0_u32..200_000).prop_map(|millis| Move::Wait { millis }),
    ];
    prop::collection::vec(one, 1..40)
}
