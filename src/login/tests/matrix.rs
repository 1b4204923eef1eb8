//! Every request in every state, as one table; and every report in a state that did not ask for it.

use crate::assurance::Level;
use crate::ids::Secret;
use crate::login::samples::{authentication, left, proven};
use crate::login::tests::stage::{Seen, Stage, answer, back, back_with, seen};
use crate::login::{Consent, ConsentAnswer, Effect, Report, Request, Save, State, Then, Way};
use crate::protocol::catalogue::ErrorCode;

const REQUESTS: [&str; 10] = [
    "look",
    "choose",
    "cancel",
    "return",
    "forged return",
    "review",
    "yes",
    "yes to another page",
    "displace",
    "late look",
];

/// What each state answers to each of [`REQUESTS`]: `told X` goes to the service provider, `X …` is a problem page with
/// its way on, `banner X` the choice with a banner, and the rest an effect or a plain page.
const MATRIX: [(&str, [&str; 10]); 11] = {
    const OUT: &str = "StepOutOfOrder, choose";
    const UNKNOWN: &str = "StateUnknown, choose";
    const CANCEL: &str = "told UserCancelled";
    const MANY: &str = "TooManyLogins, back";
    const LATE: &str = "LoginExpired, back";
    const DONE: &str = "AlreadyDone, home";
    const CODE: &str = "look for code";
    const AGAIN: &str = "banner Interrupted";
    const FAILED: &str = "RegisterNotFound, back";
    [
        ("choosing", ["choice", "begin", CANCEL, UNKNOWN, UNKNOWN, OUT, OUT, OUT, MANY, LATE]),
        (
            "back at the choice",
            [
                "banner IdpTimeout",
                "begin",
                CANCEL,
                "banner IdpTimeout",
                UNKNOWN,
                OUT,
                OUT,
                OUT,
                MANY,
                LATE,
            ],
        ),
        ("leaving", [AGAIN, "begin", CANCEL, UNKNOWN, UNKNOWN, OUT, OUT, OUT, MANY, LATE]),
        ("away", ["choice", "begin", CANCEL, "complete", UNKNOWN, OUT, OUT, OUT, MANY, LATE]),
        ("verifying", [AGAIN, "begin", CANCEL, AGAIN, UNKNOWN, OUT, OUT, OUT, MANY, LATE]),
        ("identifying", [AGAIN, "begin", CANCEL, AGAIN, UNKNOWN, OUT, OUT, OUT, MANY, LATE]),
        (
            "consenting",
            [
                "to consent",
                OUT,
                CANCEL,
                "to consent",
                UNKNOWN,
                "page",
                "grant",
                "CsrfWrong, choose",
                MANY,
                LATE,
            ],
        ),
        ("granted", [CODE, DONE, CODE, CODE, DONE, DONE, CODE, CODE, DONE, CODE]),
        (
            "refused",
            [
                DONE,
                DONE,
                "told IdpDenied",
                "told IdpDenied",
                DONE,
                DONE,
                "told IdpDenied",
                "told IdpDenied",
                DONE,
                DONE,
            ],
        ),
        (
            "failed",
            [
                FAILED,
                FAILED,
                "told RegisterNotFound",
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                FAILED,
                FAILED,
            ],
        ),
        ("expired", [LATE, LATE, "told LoginExpired", LATE, LATE, LATE, LATE, LATE, LATE, LATE]),
    ]
};

/// A login in this state, and the request that repeats (or is) its identity provider's answer.
pub(super) fn in_state(name: &str) -> (Stage, Request) {
    let mut stage = Stage::new(if name == "refused" { &[("idp_hint", "idp")] } else { &[] });
    let mut repeat = back(&Stage::new(&[]).leave("idp"));
    match name {
        "choosing" => {}
        "back at the choice" => {
            repeat = back(&stage.verifying());
            answer(stage.tell(Report::Authenticated(Err(ErrorCode::IdpTimeout))));
        }
        "leaving" => {
            assert!(matches!(stage.effect(Request::Choose("idp".into())), Effect::Begin(..)))
        }
        "away" => repeat = back(&stage.leave("idp")),
        "verifying" => repeat = back(&stage.verifying()),
        "identifying" => repeat = back(&stage.identifying()),
        "consenting" => repeat = back(&stage.consenting()),
        "granted" => {
            repeat = back(&stage.consenting());
            let yes = stage.yes();
            assert!(matches!(stage.effect(yes), Effect::Grant(_)));
        }
        "refused" => {
            repeat = back(&stage.verifying());
            answer(stage.tell(Report::Authenticated(Err(ErrorCode::IdpDenied))));
        }
        "failed" => {
            repeat = back(&stage.identifying());
            answer(stage.tell(Report::Identified(Err(ErrorCode::RegisterNotFound.into()))));
        }
        "expired" => {
            repeat = back(&stage.leave("idp"));
            stage.at_end_plus(0);
            stage.look();
        }
        other => panic!("{other}"),
    }
    (stage, repeat)
}

fn request(name: &str, stage: &mut Stage, repeat: Request) -> Request {
    let yes = |shown: String| Request::Consent(Consent { answer: ConsentAnswer::Yes, shown });
    match name {
        "look" => Request::Look { reuse: None },
        "late look" => {
            stage.at_end_plus(0);
            Request::Look { reuse: None }
        }
        "choose" => Request::Choose("idp".into()),
        "cancel" => Request::Cancel,
        "return" => repeat,
        "forged return" => back_with(&Stage::new(&[]).leave("idp"), |back| back.state.push('x')),
        "review" => Request::Review,
        "yes" => match &stage.login.state {
            State::Consenting(page) => yes(page.shown()),
            _ => yes("whatever was shown".into()),
        },
        "yes to another page" => yes("another page".into()),
        "displace" => Request::Displace,
        other => panic!("{other}"),
    }
}

fn outcome(stage: &Stage, then: Then) -> String {
    let Then::Answer(answer) = then else {
        let Then::Do(effect) = then else { unreachable!() };
        return match *effect {
            Effect::Begin(..) => "begin",
            Effect::Complete(..) => "complete",
            Effect::Identify(_) => "identify",
            Effect::Grant(_) => "grant",
            Effect::LookForCode(_) => "look for code",
        }
        .into();
    };
    match seen(answer) {
        Seen::Blocked(banner) => format!("stopped page {}", banner.code.entry().code),
        Seen::Choice(None) => "choice".into(),
        Seen::Choice(Some(banner)) => format!("banner {:?}", banner.code),
        Seen::Leave(_) => "leave".into(),
        Seen::ToConsent => "to consent".into(),
        Seen::Consent(_) => "page".into(),
        Seen::Sp(answer, session) => {
            let code = stage.login.end().unwrap().unwrap_err();
            assert_eq!((answer, session), (stage.login.ticket.request.redirect.error(code), None));
            format!("told {code:?}")
        }
        Seen::Problem(code, way) => {
            let way = match way {
                Way::Choice => "choose",
                Way::ServiceProvider => "back",
                Way::HomePage => "home",
            };
            format!("{code:?}, {way}")
        }
    }
}

#[test]
fn every_request_in_every_state() {
    for (state, row) in MATRIX {
        for (name, expected) in REQUESTS.into_iter().zip(row) {
            let (mut stage, repeat) = in_state(state);
            let request = request(name, &mut stage, repeat);
            let then = stage.ask(request);
            assert_eq!(outcome(&stage, then), expected, "{name} in {state}");
        }
    }
}

#[test]
fn the_states_of_the_table_are_all_states() {
    let mut names: Vec<_> =
        MATRIX.iter().map(|(state, _)| in_state(state).0.login.state.name()).collect();
    names.dedup();
    let expected = [
        "choosing",
        "leaving",
        "away",
        "verifying",
        "identifying",
        "consenting",
        "answered",
        "failed",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_login_that_is_over_or_failed_is_stored_as_such_before_the_browser_hears() {
    for (state, request) in
        [("away", Request::Cancel), ("away", Request::Displace), ("failed", Request::Cancel)]
    {
        let (mut stage, _) = in_state(state);
        answer(stage.ask(request));
        assert_eq!(stage.saved, Save::Yes, "{state}");
    }
}

#[test]
fn a_report_that_nobody_waits_for_changes_nothing() {
    type Make = fn() -> Report;
    let reports: [(&str, Make); 4] = [
        ("leaving", || Report::Departed(Ok(left()))),
        ("verifying", || Report::Authenticated(Ok(Box::new(authentication("idp", Level::Eidas1))))),
        ("identifying", || Report::Identified(Ok(Box::new(proven("idp", Level::Eidas1))))),
        ("identifying", || Report::Identified(Err(ErrorCode::RegisterNotFound.into()))),
    ];
    for (state, _) in MATRIX {
        for (at_home, report) in reports {
            let (mut stage, _) = in_state(state);
            if state == at_home {
                continue;
            }
            let before = serde_json::to_value(&stage.login).unwrap();
            let then = stage.tell(report());
            assert_eq!(outcome(&stage, then), "StepOutOfOrder, choose", "{at_home}'s in {state}");
            assert_eq!(
                serde_json::to_value(&stage.login).unwrap(),
                before,
                "{at_home}'s in {state}"
            );
        }
        if !matches!(state, "granted" | "refused") {
            let (mut stage, _) = in_state(state);
            for report in [Report::Granted(Ok(())), Report::CodeLives(Ok(true))] {
                let then = stage.tell(report);
                assert_eq!(outcome(&stage, then), "StepOutOfOrder, choose", "{state}");
            }
        }
    }
}

#[test]
fn expiry_is_the_first_millisecond_that_is_refused() {
    for (state, _) in MATRIX.into_iter().take(7) {
        let (mut stage, _) = in_state(state);
        stage.at_end_plus(-1);
        stage.look();
        assert_ne!(stage.login.state.name(), "failed", "{state}");
        stage.at_end_plus(0);
        assert_eq!(
            stage.look(),
            Seen::Problem(ErrorCode::LoginExpired, Way::ServiceProvider),
            "{state}"
        );
        assert_eq!(stage.saved, Save::Yes);
    }
}

#[test]
fn no_state_prints_a_secret() {
    let (stage, _) = in_state("granted");
    let code = stage.code().unwrap().to_owned();
    assert!(!format!("{:?}", stage.login).contains(&code));
    let (stage, _) = in_state("away");
    let State::Away(away) = &stage.login.state else { panic!() };
    let verifier: &Secret<String> = &away.attempt.verifier;
    assert!(!format!("{:?}", stage.login).contains(verifier.reveal()));
}
