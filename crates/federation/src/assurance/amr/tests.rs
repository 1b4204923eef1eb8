use std::collections::BTreeMap;

use super::*;
use proptest::prelude::*;

/// RFC 8176, section 2, in its order.
const RFC_8176: [&str; 21] = [
    "face", "fpt", "geo", "hwk", "iris", "kba", "mca", "mfa", "otp", "pin", "pop", "pwd", "rba",
    "retina", "sc", "sms", "swk", "tel", "user", "vbm", "wia",
];

fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}

fn split_words(text: &str) -> Vec<String> {
    words(text).into_iter().map(str::to_owned).collect()
}

fn gathered(sent: &str, mfa_means: &str) -> GatheredEvidence {
    AmrEvidence::gather(&UpstreamAmr::from_methods(&words(sent)), &[], &split_words(mfa_means), &[])
}

fn out(sent: &str, mfa_means: &str) -> String {
    gathered(sent, mfa_means).evidence.amr_claim("hub").join(" ")
}

// R060 to R064
#[test]
fn the_examples_of_the_specification() {
    assert_eq!(out("pwd", ""), "pwd hub");
    assert_eq!(out("pwd mail", ""), "pwd mail hub");
    assert_eq!(out("pin pop", ""), "pin pop mfa hub");
}

// R065, R067
#[test]
fn every_registered_name_alone() {
    for name in RFC_8176.into_iter().chain(["mail"]) {
        assert!(is_known_method(name), "{name}");
        let expected = match name {
            "hwk" | "swk" | "sc" => format!("{name} pop hub"),
            "mfa" => "hub".into(),
            _ => format!("{name} hub"),
        };
        assert_eq!(out(name, ""), expected);
    }
    assert!(!is_known_method("hub") && !is_known_method("PWD") && !is_known_method(""));
}

/// R065: a name of the identity provider's own is dropped and counted, unless the connector's file
/// passes it on. It proves no factor.
#[test]
fn a_name_beyond_rfc_8176_is_passed_on_only_if_the_connector_file_lists_it() {
    let gathered = |passed: &str| {
        let reported = UpstreamAmr::from_methods(&["pwd", "eid", "hub", "bankid"]);
        AmrEvidence::gather(&reported, &[], &[], &split_words(passed))
    };
    for (passed, expected, dropped) in [
        ("", "pwd hub", 3),
        ("eid", "pwd eid hub", 2),
        ("eid bankid unused", "pwd bankid eid hub", 1),
        // The identity provider sends the marker of the hub itself.
        ("hub", "pwd hub", 2),
    ] {
        let GatheredEvidence { evidence, dropped: counts, unknown } = gathered(passed);
        assert_eq!(evidence.amr_claim("hub").join(" "), expected, "{passed}");
        assert_eq!(counts, BTreeMap::from([(DropReason::Unknown, dropped)]), "{passed}");
        assert_eq!(unknown.len(), dropped, "{passed}");
        assert!(!evidence.acr_proof(Level::Eidas1).multi_factor);
    }
}

#[test]
fn categories_by_method() {
    let categories = [
        ("pwd pin kba", Some(Category::Knowledge)),
        ("pop hwk swk sc otp sms tel", Some(Category::Possession)),
        ("face fpt iris retina vbm", Some(Category::Inherence)),
        ("mail geo mca rba user wia mfa", None),
    ];
    let mut seen = 0;
    for (names, category) in categories {
        for name in words(names) {
            assert_eq!(Method::from_name(name).unwrap().category(), category, "{name}");
            assert_eq!(Method::from_name(name).unwrap().as_str(), name);
            seen += 1;
        }
        assert!(!out(names, "").contains("mfa"), "one category is not multi-factor: {names}");
    }
    assert_eq!(seen, METHODS.len());
}

#[test]
fn outgoing_by_table() {
    for (sent, mfa_means, expected) in [
        ("", "", "hub"),
        ("otp pwd", "", "pwd otp mfa hub"),
        ("pwd pwd", "", "pwd hub"),
        ("pin hwk", "", "pin hwk pop mfa hub"),
        ("face hwk user", "", "hwk pop face user mfa hub"),
        ("hwk otp sms", "", "otp sms hwk pop hub"),
        ("iris pwd", "", "pwd iris mfa hub"),
        ("mail geo rba", "", "mail geo rba hub"),
        // The identity provider's own `mfa` is not evidence…
        ("mfa", "", "hub"),
        ("pwd mfa", "", "pwd hub"),
        ("pwd mfa mail", "", "pwd mail hub"),
        // …unless the connector's file says what it stands for.
        ("mfa", "pwd otp", "mfa hub"),
        ("pwd mfa", "pwd otp", "pwd mfa hub"),
        ("pwd mfa", "otp", "pwd mfa hub"),
        ("mfa", "pwd", "hub"),
        ("mfa", "pwd pin", "hub"),
        ("mfa", "mfa", "hub"),
        ("pwd", "pwd otp", "pwd hub"),
        ("unheard hub HWK pwd ", "", "pwd hub"),
    ] {
        assert_eq!(out(sent, mfa_means), expected, "{sent:?} with mfa = {mfa_means:?}");
    }
}

#[test]
fn unaccepted_methods_are_dropped_and_counted_by_reason() {
    let many = "pwd ".repeat(MAX_METHODS) + "otp otp otp";
    for (sent, mfa_means, expected) in [
        ("pwd otp", "", vec![]),
        ("pwd hub Pwd eidas3 otp", "", vec![(DropReason::Unknown, 3)]),
        // The identity provider contradicts itself: `mfa`, but proof of at most one category.
        ("mfa", "", vec![(DropReason::MfaUnproven, 1)]),
        ("mfa pwd mail", "", vec![(DropReason::MfaUnproven, 1)]),
        ("mfa otp sms magic", "", vec![(DropReason::Unknown, 1), (DropReason::MfaUnproven, 1)]),
        ("mfa pwd", "pin", vec![(DropReason::MfaUnproven, 1)]),
        // Proven by the other methods, or explained by the file.
        ("mfa pwd otp", "", vec![]),
        ("mfa", "pwd otp", vec![]),
        (&many, "", vec![(DropReason::TooMany, 3)]),
    ] {
        assert_eq!(
            gathered(sent, mfa_means).dropped.into_iter().collect::<Vec<_>>(),
            expected,
            "{sent}"
        );
    }
    assert_eq!(out("pwd hub Pwd eidas3 otp", ""), "pwd otp mfa hub");
    assert_eq!(out(&many, ""), "pwd hub", "a method beyond the limit proves nothing");
}

#[test]
fn each_value_has_its_origin() {
    let stated = |reported: &UpstreamAmr, list: &str, mfa: &str| {
        let evidence =
            AmrEvidence::gather(reported, &split_words(list), &split_words(mfa), &[]).evidence;
        evidence.amr_values("hub").iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for (reported, list, mfa, expected) in [
        (UpstreamAmr::from_methods(&["pwd"]), "otp", "", "pwd (identity provider), hub (hub)"),
        (
            UpstreamAmr::Absent,
            "pwd otp",
            "",
            "pwd (static list), otp (static list), mfa (hub), hub (hub)",
        ),
        (
            UpstreamAmr::from_methods(&["pin", "sc"]),
            "",
            "",
            "pin (identity provider), sc (identity provider), pop (hub), mfa (hub), hub (hub)",
        ),
        (
            UpstreamAmr::from_methods(&["pop", "sc"]),
            "",
            "",
            "sc (identity provider), pop (identity provider), hub (hub)",
        ),
        (UpstreamAmr::from_methods(&["mfa"]), "", "pwd otp", "mfa (hub), hub (hub)"),
        (UpstreamAmr::from_methods::<&str>(&[]), "pwd", "", "hub (hub)"),
    ] {
        assert_eq!(stated(&reported, list, mfa), expected);
    }
}

#[test]
fn only_an_absent_claim_counts_as_absent() {
    let unreadable = |unreadable| UpstreamAmr::Methods { names: Vec::new(), unreadable };
    for (claim, reported) in [
        (None, UpstreamAmr::Absent),
        (Some(serde_json::json!(null)), UpstreamAmr::Absent),
        (Some(serde_json::json!([])), unreadable(0)),
        (Some(serde_json::json!("pwd")), UpstreamAmr::from_methods(&["pwd"])),
        (Some(serde_json::json!({ "pwd": true })), unreadable(1)),
        (Some(serde_json::json!([1, {}])), unreadable(2)),
        (Some(serde_json::json!(["pwd", "otp"])), UpstreamAmr::from_methods(&["pwd", "otp"])),
    ] {
        assert_eq!(UpstreamAmr::from_claim(claim.as_ref()), reported, "{claim:?}");
    }
    let gathered = AmrEvidence::gather(&unreadable(2), &split_words("pwd"), &[], &[]);
    assert_eq!(gathered.dropped, BTreeMap::from([(DropReason::Unreadable, 2)]));
    assert_eq!(
        gathered.evidence.amr_claim("hub"),
        ["hub"],
        "the static list applies only without an amr"
    );
}

#[test]
fn a_returned_acr_proves_the_names_that_list_it_and_no_method() {
    let names = BTreeMap::from([
        ("mfa".to_owned(), vec!["low-2fa".to_owned(), "high".to_owned()]),
        ("gold".to_owned(), vec!["high".to_owned()]),
    ]);
    for (returned, proven) in [
        (Some("low-2fa"), &["mfa"][..]),
        (Some("high"), &["gold", "mfa"]),
        (Some("LOW-2FA"), &[]),
        (Some("mfa"), &[]),
        (None, &[]),
    ] {
        let evidence = gathered("pwd", "").evidence.with_returned_acr(returned, &names);
        let proof = evidence.acr_proof(Level::Eidas1);
        assert!(proof.names.iter().map(|name| &**name).eq(proven.iter().copied()), "{returned:?}");
        assert!(!proof.multi_factor && !evidence.amr_claim("hub").contains(&"mfa".to_owned()));
        let stored = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<AmrEvidence>(&stored).unwrap(), evidence);
    }
}

#[test]
fn evidence_survives_being_stored() {
    let evidence = AmrEvidence::gather(
        &UpstreamAmr::from_methods(&["sc", "mfa", "eid"]),
        &[],
        &split_words("pin sc"),
        &split_words("eid"),
    )
    .evidence;
    let stored = serde_json::to_string(&evidence).unwrap();
    assert_eq!(serde_json::from_str::<AmrEvidence>(&stored).unwrap(), evidence);
}

proptest! {
    #[test]
    fn mfa_if_and_only_if_two_categories(picked in proptest::sample::subsequence(&RFC_8176[..], 0..=21)) {
        let gathered = AmrEvidence::gather(&UpstreamAmr::from_methods(&picked), &[], &[], &[]);
        let outgoing = gathered.evidence.amr_claim("hub");
        let categories: BTreeSet<Category> =
            outgoing.iter().filter_map(|name| Method::from_name(name)).filter_map(Method::category).collect();
        prop_assert_eq!(outgoing.contains(&"mfa".to_owned()), categories.len() >= 2);
        prop_assert_eq!(outgoing.last().map(String::as_str), Some("hub"));
        let contradicts = picked.contains(&"mfa") && categories.len() < 2;
        let expected = if contradicts { BTreeMap::from([(DropReason::MfaUnproven, 1)]) } else { BTreeMap::new() };
        prop_assert_eq!(gathered.dropped, expected);
        prop_assert_eq!(outgoing.iter().collect::<BTreeSet<_>>().len(), outgoing.len());
    }
}
