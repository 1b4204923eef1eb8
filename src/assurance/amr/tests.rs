use super::*;
use proptest::prelude::*;

/// RFC 8176, section 2, in its order.
const RFC_8176: [&str; 21] = [
    "face", "fpt", "geo", "hwk", "iris", "kba", "mca", "mfa", "otp", "pin", "pop", "pwd", "rba",
    "retina", "sc", "sms", "swk", "tel", "user", "vbm", "wia",
];

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn owned(text: &str) -> Vec<String> {
    words(text).into_iter().map(str::to_owned).collect()
}

fn gathered(sent: &str, mfa_means: &str) -> Gathered {
    Evidence::gather(&Told::these(&words(sent)), &[], &owned(mfa_means))
}

fn out(sent: &str, mfa_means: &str) -> String {
    gathered(sent, mfa_means).evidence.outgoing("hub").join(" ")
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
        assert!(registered(name), "{name}");
        let expected = match name {
            "hwk" | "swk" | "sc" => format!("{name} pop hub"),
            "mfa" => "hub".into(),
            _ => format!("{name} hub"),
        };
        assert_eq!(out(name, ""), expected);
    }
    assert!(!registered("hub") && !registered("PWD") && !registered(""));
}

#[test]
fn categories_by_decisions_9() {
    let categories = [
        ("pwd pin kba", Some(Category::Knowledge)),
        ("pop hwk swk sc otp sms tel", Some(Category::Possession)),
        ("face fpt iris retina vbm", Some(Category::Inherence)),
        ("mail geo mca rba user wia mfa", None),
    ];
    let mut seen = 0;
    for (names, category) in categories {
        for name in words(names) {
            assert_eq!(Method::named(name).unwrap().category(), category, "{name}");
            assert_eq!(Method::named(name).unwrap().as_str(), name);
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
        // The identity provider's own conclusion is not evidence…
        ("mfa", "", "hub"),
        ("pwd mfa", "", "pwd hub"),
        ("pwd mfa mail", "", "pwd mail hub"),
        // …unless the connector's file says what stands behind it.
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
fn what_is_not_believed_is_dropped_and_counted_by_reason() {
    let many = "pwd ".repeat(MOST) + "otp otp otp";
    for (sent, mfa_means, expected) in [
        ("pwd otp", "", vec![]),
        ("pwd hub Pwd eidas3 otp", "", vec![(Dropped::Unknown, 3)]),
        // The identity provider contradicts itself: `mfa`, and proof of one category or of none.
        ("mfa", "", vec![(Dropped::MfaUnproven, 1)]),
        ("mfa pwd mail", "", vec![(Dropped::MfaUnproven, 1)]),
        ("mfa otp sms magic", "", vec![(Dropped::Unknown, 1), (Dropped::MfaUnproven, 1)]),
        ("mfa pwd", "pin", vec![(Dropped::MfaUnproven, 1)]),
        // Proven by the rest, or explained by the file.
        ("mfa pwd otp", "", vec![]),
        ("mfa", "pwd otp", vec![]),
        (&many, "", vec![(Dropped::TooMany, 3)]),
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
fn each_value_says_whose_word_it_is() {
    let stated = |told: &Told, list: &str, mfa: &str| {
        let evidence = Evidence::gather(told, &owned(list), &owned(mfa)).evidence;
        evidence.stated("hub").iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for (told, list, mfa, expected) in [
        (Told::these(&["pwd"]), "otp", "", "pwd (identity provider), hub (hub)"),
        (
            Told::Nothing,
            "pwd otp",
            "",
            "pwd (static list), otp (static list), mfa (hub), hub (hub)",
        ),
        (
            Told::these(&["pin", "sc"]),
            "",
            "",
            "pin (identity provider), sc (identity provider), pop (hub), mfa (hub), hub (hub)",
        ),
        (
            Told::these(&["pop", "sc"]),
            "",
            "",
            "sc (identity provider), pop (identity provider), hub (hub)",
        ),
        (Told::these(&["mfa"]), "", "pwd otp", "mfa (hub), hub (hub)"),
        (Told::these::<&str>(&[]), "pwd", "", "hub (hub)"),
    ] {
        assert_eq!(stated(&told, list, mfa), expected);
    }
}

#[test]
fn only_an_absent_claim_is_nothing_told() {
    let unreadable = |unreadable| Told::Methods { names: Vec::new(), unreadable };
    for (claim, told) in [
        (None, Told::Nothing),
        (Some(serde_json::json!(null)), Told::Nothing),
        (Some(serde_json::json!([])), unreadable(0)),
        (Some(serde_json::json!("pwd")), unreadable(1)),
        (Some(serde_json::json!([1, {}])), unreadable(2)),
        (Some(serde_json::json!(["pwd", "otp"])), Told::these(&["pwd", "otp"])),
    ] {
        assert_eq!(Told::by_claim(claim.as_ref()), told, "{claim:?}");
    }
    let gathered = Evidence::gather(&unreadable(2), &owned("pwd"), &[]);
    assert_eq!(gathered.dropped, BTreeMap::from([(Dropped::Unreadable, 2)]));
    assert_eq!(
        gathered.evidence.outgoing("hub"),
        ["hub"],
        "the static list is for identity providers that say nothing"
    );
}

#[test]
fn evidence_survives_being_stored() {
    let evidence = Evidence::gather(&Told::these(&["sc", "mfa"]), &[], &owned("pin sc")).evidence;
    let stored = serde_json::to_string(&evidence).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&stored).unwrap(), evidence);
}

proptest! {
    #[test]
    fn mfa_if_and_only_if_two_categories(picked in proptest::sample::subsequence(&RFC_8176[..], 0..=21)) {
        let gathered = Evidence::gather(&Told::these(&picked), &[], &[]);
        let outgoing = gathered.evidence.outgoing("hub");
        let categories: BTreeSet<Category> =
            outgoing.iter().filter_map(|name| Method::named(name)).filter_map(Method::category).collect();
        prop_assert_eq!(outgoing.contains(&"mfa".to_owned()), categories.len() >= 2);
        prop_assert_eq!(outgoing.last().map(String::as_str), Some("hub"));
        let contradicts = picked.contains(&"mfa") && categories.len() < 2;
        let expected = if contradicts { BTreeMap::from([(Dropped::MfaUnproven, 1)]) } else { BTreeMap::new() };
        prop_assert_eq!(gathered.dropped, expected);
        prop_assert_eq!(outgoing.iter().collect::<BTreeSet<_>>().len(), outgoing.len());
    }
}
