use super::*;

#[test]
fn an_altered_disclosure_is_refused() {
    assert_lie(UnreferencedDisclosure, |p| {
        p.disclosures[0] = disclosure("s1", Some("family_name"), &json!("Other"));
    });
}

#[test]
fn an_added_disclosure_is_refused() {
    assert_lie(UnreferencedDisclosure, |p| {
        p.disclosures.push(disclosure("x", Some("family_name"), &json!("Other")));
    });
}

#[test]
fn a_disclosure_presented_twice_is_refused() {
    assert_lie(RepeatedDisclosure, |p| p.disclosures.push(p.disclosures[0].clone()));
}

#[test]
fn a_digest_that_occurs_twice_is_refused() {
    let double = |p: &mut SdJwtPresentation| {
        let digest = p.payload["_sd"][0].clone();
        p.payload["address"]["_sd"].as_array_mut().unwrap().push(digest);
    };
    assert_lie(RepeatedDigest, double);
    // Also where nothing is disclosed for it.
    assert_lie(RepeatedDigest, |p| {
        let hidden = p.payload["_sd"][1].clone();
        p.payload["_sd"].as_array_mut().unwrap().push(hidden);
    });
}

#[test]
fn a_disclosure_that_overwrites_a_claim_is_refused() {
    assert_lie(RepeatedClaim, |p| p.disclose("issuing_country", &json!("FR")));
    assert_lie(RepeatedClaim, |p| p.disclose("family_name", &json!("Other")));
}

#[test]
fn a_disclosure_with_a_reserved_name_is_refused() {
    assert_lie(ReservedClaimName, |p| p.disclose("_sd", &json!(["x"])));
    assert_lie(ReservedClaimName, |p| p.disclose("...", &json!("x")));
}

#[test]
fn a_disclosure_of_a_claim_that_all_must_see_is_refused() {
    for name in ["nbf", "vct#integrity"] {
        assert_lie(ProtectedClaimDisclosed, |p| p.disclose(name, &json!(1)));
    }
    // Hiding the status or the expiry behind a digest, and disclosing a better one.
    for name in ["status", "exp", "cnf", "vct", "iss"] {
        assert_lie(ProtectedClaimDisclosed, |p| {
            let value = p.payload[name].clone();
            remove(&mut p.payload, name);
            p.disclose(name, &value);
        });
    }
}

#[test]
fn malformed_disclosures_are_refused() {
    for text in [
        "{}",
        "[]",
        r#"["s"]"#,
        r#"["s",1,"v"]"#,
        r#"["s","n","v","x"]"#,
        r#"[1,"n","v"]"#,
        r#"["s","n",{"a":1,"a":2}]"#,
        "x",
        "",
    ] {
        assert_lie(MalformedDisclosure, |p| p.disclosures[0] = digest::base64url(text.as_bytes()));
    }
    assert_lie(MalformedDisclosure, |p| p.disclosures[0].push('='));
}

#[test]
fn a_claim_disclosed_in_the_place_of_an_array_element_is_refused() {
    assert_lie(MalformedDigest, |p| {
        p.payload["nationalities"][1]["..."] = p.payload["_sd"][0].clone();
        p.payload["_sd"].as_array_mut().unwrap().remove(0);
    });
    assert_lie(MalformedDigest, |p| {
        let element = p.payload["nationalities"][1]["..."].clone();
        p.payload["_sd"].as_array_mut().unwrap().push(element);
        p.payload["nationalities"] = json!([]);
    });
}

#[test]
fn malformed_digests_are_refused() {
    assert_lie(MalformedDigest, |p| p.payload["_sd"] = json!("x"));
    assert_lie(MalformedDigest, |p| p.payload["_sd"] = json!([1]));
    assert_lie(MalformedDigest, |p| p.payload["address"]["..."] = json!("x"));
    assert_lie(MalformedDigest, |p| p.payload["nationalities"][0] = json!({ "...": 1 }));
    assert_lie(MalformedDigest, |p| p.payload["nationalities"][0]["other"] = json!(1));
}

#[test]
fn an_unknown_digest_algorithm_is_refused() {
    for alg in [json!("sha-1"), json!("md5"), json!("SHA-256"), json!(null)] {
        assert_lie(DigestAlgorithm, |p| p.payload["_sd_alg"] = alg);
    }
    assert!(verify_changed(&Bench::sd_jwt(), |p| remove(&mut p.payload, "_sd_alg")).is_ok());
}

#[test]
fn a_chain_of_disclosures_deeper_than_the_limit_is_refused() {
    let chain = |levels: usize| {
        move |p: &mut SdJwtPresentation| {
            let mut value = json!("end");
            for _ in 0..levels {
                let inner = disclosure("s", Some("a"), &value);
                value = json!({ "_sd": [digest::sha256_base64url(&inner)] });
                p.disclosures.push(inner);
            }
            p.payload["address"]["deep"] = value;
        }
    };
    let mut bench = Bench::sd_jwt();
    bench.credential.claims =
        serde_json::from_value(json!([["family_name"], ["address"], ["nationalities"]])).unwrap();
    assert!(verify_changed(&bench, chain(10)).is_ok());
    assert_eq!(verify_changed(&bench, chain(60)).map(|_| ()), Err(NestedTooDeep));
}

#[test]
fn a_flood_of_disclosures_is_refused() {
    assert_lie(TooManyDisclosures, |p| {
        p.disclosures.extend((0..200).map(|n| disclosure(&n.to_string(), None, &json!(n))));
    });
}

#[test]
fn an_oversized_presentation_is_refused() {
    assert_lie(TooLarge, |p| p.disclosures.push("a".repeat(64 * 1024)));
}

#[test]
fn unrequested_attributes_are_refused() {
    assert_lie(UnrequestedClaim, |p| p.disclose("birthdate", &json!("1964-08-12")));
    assert_lie(UnrequestedClaim, |p| {
        let street = disclosure("s8", Some("street"), &json!("Heidestraße"));
        p.payload["address"]["_sd"]
            .as_array_mut()
            .unwrap()
            .push(json!(digest::sha256_base64url(&street)));
        p.disclosures.push(street);
    });
}

#[test]
fn a_presentation_without_a_requested_attribute_is_refused() {
    for index in 0..3 {
        assert_lie(MissingClaim, |p| drop(p.disclosures.remove(index)));
    }
    let mut bench = Bench::sd_jwt();
    bench.credential.claim_sets = vec![vec![0, 1, 2], vec![0, 1]];
    assert!(verify_changed(&bench, |p| drop(p.disclosures.pop())).is_ok());
    assert_eq!(
        verify_changed(&bench, |p| drop(p.disclosures.remove(0))).map(|_| ()),
        Err(MissingClaim)
    );
}

#[test]
fn a_status_without_a_list_is_refused() {
    for status in [
        json!({}),
        json!("ok"),
        json!({ "status_list": { "uri": "https://s" } }),
        json!({ "status_list": { "uri": 1, "idx": 1 } }),
        json!({ "status_list": { "uri": "u", "idx": -1 } }),
    ] {
        assert_lie(InvalidStatusReference, |p| p.payload["status"] = status);
    }
}
