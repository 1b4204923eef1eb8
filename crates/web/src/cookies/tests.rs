use super::*;
use actix_web::test::TestRequest;

#[test]
fn another_logins_interaction_hash_is_no_proof() {
    let cookies = Cookies::new("hub", true);
    let (mine, other) = ("a".repeat(43), "b".repeat(43));
    let (my_hash, other_hash) =
        (InteractionHash::from_cookie(&mine), InteractionHash::from_cookie(&other));
    let set = cookies.login_cookie(
        &my_hash,
        &Secret::new(mine),
        Timestamp::default(),
        Timestamp::from_seconds(60),
    );
    let request = TestRequest::default().cookie(set).to_http_request();
    assert!(cookies.login_proof(&request, &my_hash).is_some());
    assert!(cookies.login_proof(&request, &other_hash).is_none());
    // The name of the other login with this login's value: the preimage does not match.
    let forged = Cookie::new(cookies.login_name(&other_hash), "a".repeat(43));
    let request = TestRequest::default().cookie(forged).to_http_request();
    assert!(cookies.login_proof(&request, &other_hash).is_none());
}

fn held(
    cookies: &Cookies,
    request: &HttpRequest,
    named: Option<&InteractionHash>,
) -> Vec<InteractionHash> {
    cookies.held_logins(request, named).logins.into_iter().map(|login| login.hash).collect()
}

#[test]
fn only_16_of_5000_forged_login_cookies_are_read_and_expired() {
    let cookies = Cookies::new("hub", true);
    let values: Vec<String> = (0..5000).map(|n| format!("{n:043}")).collect();
    let hash = |n: usize| InteractionHash::from_cookie(&values[n]);
    let header: Vec<String> =
        (0..5000).map(|n| format!("{}={}", cookies.login_name(&hash(n)), values[n])).collect();
    let request =
        TestRequest::default().insert_header((COOKIE, header.join("; "))).to_http_request();
    let newest: Vec<InteractionHash> = (4984..5000).rev().map(hash).collect();
    assert_eq!(held(&cookies, &request, None), newest);
    // The login that the URL names comes first, however old it is.
    let named = hash(7);
    let expected: Vec<InteractionHash> =
        std::iter::once(hash(7)).chain((4985..5000).rev().map(hash)).collect();
    assert_eq!(held(&cookies, &request, Some(&named)), expected);
    let surplus = cookies.held_logins(&request, Some(&named)).surplus_names;
    assert_eq!(surplus.len(), MAX_EXPIRED_COOKIES);
    assert_eq!(surplus[0], cookies.login_name(&hash(0)), "the oldest first");
    assert!(!surplus.contains(&cookies.login_name(&named)));
}

#[test]
fn cookies_whose_value_does_not_match_their_name_are_expired_without_a_store_call() {
    let cookies = Cookies::new("hub", true);
    let forged = "__Host-hub-login-AAAAAAAAAAAA=x; __Host-hub-login-short=y; __Host-hub-login-<script>AAAA=z";
    let request = TestRequest::default().insert_header((COOKIE, forged)).to_http_request();
    let HeldLogins { logins: read, surplus_names: surplus } = cookies.held_logins(&request, None);
    assert!(read.is_empty());
    assert_eq!(
        surplus,
        ["__Host-hub-login-AAAAAAAAAAAA"],
        "a name that the hub never sets is ignored"
    );
}

#[test]
fn a_browser_that_starts_many_logins_holds_no_more_than_16_cookies() {
    let cookies = Cookies::new("hub", true);
    let mut jar: Vec<(String, String)> = Vec::new();
    for n in 0..130 {
        let header: Vec<String> =
            jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request =
            TestRequest::default().insert_header((COOKIE, header.join("; "))).to_http_request();
        for gone in cookies.surplus_logins(&request) {
            jar.retain(|(name, _)| *name != gone);
        }
        let value = format!("{n:043}");
        jar.push((cookies.login_name(&InteractionHash::from_cookie(&value)), value));
        assert!(jar.len() <= MAX_LOGIN_COOKIES, "{} cookies after {n} logins", jar.len());
    }
    assert_eq!(jar.len(), MAX_LOGIN_COOKIES);
}

#[test]
fn cookies_are_host_bound_secure_lax_and_hidden_from_script() {
    let cookie = Cookies::new("hub", true).session_cookie(&Secret::new("v".into())).to_string();
    for part in ["__Host-hub-session=v", "HttpOnly", "SameSite=Lax", "Secure", "Path=/"] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    assert!(!cookie.contains("Domain"));
    let plain = Cookies::new("hub", false).session_cookie(&Secret::new("v".into())).to_string();
    assert!(!plain.contains("Secure") && !plain.contains("__Host-"));
}

#[test]
fn a_last_choice_is_a_well_formed_id_or_nothing() {
    let cookies = Cookies::new("hub", true);
    let set = cookies.last_choice_cookie(&"amandier".into(), Duration::from_secs(60)).to_string();
    for part in
        ["__Host-hub-last=amandier", "HttpOnly", "SameSite=Lax", "Secure", "Path=/", "Max-Age=60"]
    {
        assert!(set.contains(part), "{part} in {set}");
    }
    for (value, read) in
        [("amandier", true), ("<script>", false), ("../x", false), ("", false), ("confirm", false)]
    {
        let request = TestRequest::default()
            .insert_header((COOKIE, format!("__Host-hub-last={value}")))
            .to_http_request();
        assert_eq!(cookies.last_choice(&request).is_some(), read, "{value}");
        assert!(cookies.has_last_choice(&request));
    }
}

#[test]
fn a_foreign_cookie_of_invalid_bytes_hides_no_other() {
    let cookies = Cookies::new("hub", false);
    let value = "a".repeat(43);
    let hash = InteractionHash::from_cookie(&value);
    let header = [
        b"strange=\xff\xfe; ".as_slice(),
        cookies.login_name(&hash).as_bytes(),
        b"=",
        value.as_bytes(),
    ]
    .concat();
    let header = actix_web::http::header::HeaderValue::from_bytes(&header).unwrap();
    let request = TestRequest::default().insert_header((COOKIE, header)).to_http_request();
    assert!(cookies.login_proof(&request, &hash).is_some());
    assert_eq!(held(&cookies, &request, None), [hash]);
}

/// What a browser sends besides `name=value`: names that end in one of the hub's cookies, and that
/// any host of the same domain can set.
fn lookalikes(name: &str, value: &str) -> Vec<String> {
    let unicode_spaces = [
        "\u{85}", "\u{a0}", "\u{1680}", "\u{2000}", "\u{2003}", "\u{2009}", "\u{2028}", "\u{2029}",
        "\u{202f}", "\u{205f}", "\u{3000}", "\u{feff}", "\u{200b}",
    ];
    let around = unicode_spaces
        .into_iter()
        .flat_map(|space| [format!("{space}{name}={value}"), format!("{name}{space}={value}")]);
    let others =
        [format!("x {name}={value}"), format!("={name}={value}"), format!("\"{name}={value}")];
    around.chain(others).collect()
}

fn sent(header: &str) -> HttpRequest {
    let header = actix_web::http::header::HeaderValue::from_bytes(header.as_bytes()).unwrap();
    TestRequest::default().insert_header((COOKIE, header)).to_http_request()
}

#[test]
fn a_sibling_hosts_cookie_behind_a_unicode_space_is_not_the_hubs_own() {
    let cookies = Cookies::new("hub", true);
    let value = "a".repeat(43);
    let hash = InteractionHash::from_cookie(&value);
    for header in lookalikes(&cookies.login_name(&hash), &value) {
        let request = sent(&header);
        assert!(cookies.login_proof(&request, &hash).is_none(), "{header:?}");
        assert!(held(&cookies, &request, Some(&hash)).is_empty(), "{header:?}");
        assert!(cookies.surplus_logins(&request).is_empty(), "{header:?}");
    }
    for (name, value) in [
        ("__Host-hub-session", "v"),
        ("__Host-hub-last", "amandier"),
        ("__Host-hub-language", "fr"),
    ] {
        for header in lookalikes(name, value) {
            let request = sent(&header);
            assert!(cookies.session(&request).is_none(), "{header:?}");
            assert!(cookies.last_choice(&request).is_none(), "{header:?}");
            assert!(!cookies.has_last_choice(&request), "{header:?}");
            assert!(cookies.language(&request).is_none(), "{header:?}");
        }
    }
    let request = sent(" \t__Host-hub-session=v\t ;a=b");
    assert_eq!(cookies.session(&request).unwrap().reveal(), "v", "space and tab are separators");
}

#[test]
fn a_second_session_or_login_cookie_of_the_same_name_is_noticed() {
    let cookies = Cookies::new("hub", true);
    let value = "a".repeat(43);
    let login = cookies.login_name(&InteractionHash::from_cookie(&value));
    let other = cookies.login_name(&InteractionHash::from_cookie("b"));
    for (header, is_repeated) in [
        (format!("__Host-hub-session=a; {login}={value}; {other}=b"), false),
        ("__Host-hub-session=a; __Host-hub-session=b".to_owned(), true),
        ("__Host-hub-session=a; x=y; __Host-hub-session=a".to_owned(), true),
        (format!("{login}={value}; {login}={value}"), true),
        (format!("{login}={value}; {other}=b; {login}="), true),
        // Cookies that decide nothing, and of other programs.
        ("__Host-hub-language=fr; __Host-hub-language=de; x=1; x=2".to_owned(), false),
        ("__Host-hub-session=a; \u{2000}__Host-hub-session=b".to_owned(), false),
    ] {
        assert_eq!(cookies.has_repeated_cookie(&sent(&header)), is_repeated, "{header}");
    }
    let two_lines = TestRequest::default()
        .append_header((COOKIE, "__Host-hub-session=a"))
        .append_header((COOKIE, "__Host-hub-session=b"));
    assert!(cookies.has_repeated_cookie(&two_lines.to_http_request()), "in two header lines");
}

/// Attack: another host plants a logout cookie, so that a browser whose identity provider returns
/// without state continues at the attacker's service.
#[test]
fn a_planted_second_logout_cookie_names_no_logout() {
    let cookies = Cookies::new("hub", true);
    let (own, planted) = ("a".repeat(43), "b".repeat(43));
    let header = |value: &str| format!("__Host-hub-logout={value}");
    let one = cookies.running_logouts(&sent(&header(&own)));
    assert_eq!(one, std::slice::from_ref(&own));
    for both in [
        format!("{}; {}", header(&own), header(&planted)),
        format!("{}; {}", header(&planted), header(&own)),
    ] {
        assert_eq!(cookies.running_logouts(&sent(&both)), [""; 0], "{both}");
        assert!(!cookies.has_repeated_cookie(&sent(&both)), "no login needs it");
    }
}
