//! Tests of attributes with many values, which Active Directory sends in parts, and of entries that
//! are too large.

use super::*;

/// Returns the claims of a sign-in whose `givenName` has these values.
async fn claims_with_given_names(
    fixture: &Fixture,
    values: Vec<&'static [u8]>,
) -> Map<String, Value> {
    fixture.directory.script.lock().unwrap().entries[0].2[1].1 = values;
    let attempt = fixture.attempt("s1").await;
    let query = accepted(fixture.sign_in_to("s1", "ada", "right").await);
    fixture.connector.complete_login(attempt, callback(&query)).await.unwrap().claims
}

fn values(count: usize, length: usize) -> Vec<&'static [u8]> {
    let value = |number| {
        Box::leak(format!("{number:0length$}").into_boxed_str()).as_bytes() as &'static [u8]
    };
    (0..count).map(value).collect()
}

#[tokio::test]
async fn all_values_of_an_attribute_arrive_although_the_directory_sends_them_in_ranges() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().max_values_in_range = Some(1500);
    for count in [1, 1499, 1500, 1501, 3000, 3001] {
        let claims = claims_with_given_names(&fixture, values(count, 40)).await;
        let received = match &claims["givenName"] {
            Value::Array(list) => list.len(),
            _ => 1,
        };
        assert_eq!(received, count);
        assert_eq!(claims["mail"], "ada@example.org");
    }
    let ranges: Vec<String> = fixture
        .directory
        .take_requests()
        .into_iter()
        .filter_map(|request| match request {
            LdapRequest::Search { filter: 7, attributes, .. } => Some(attributes.concat()),
            _ => None,
        })
        .collect();
    let expected = [
        "givenName;range=1500-*",
        "givenName;range=1500-*",
        "givenName;range=1500-*",
        "givenName;range=3000-*",
    ];
    assert_eq!(ranges.len(), expected.len());
    assert!(
        ranges.iter().zip(expected).all(|(range, one)| range.eq_ignore_ascii_case(one)),
        "{ranges:?}"
    );
}

/// A person may be in more groups than the hub reads: a service that needs no groups does not end
/// the login.
#[tokio::test]
async fn an_attribute_that_is_too_large_is_left_out_and_the_login_goes_on() {
    for max in [None, Some(100)] {
        let fixture = Fixture::new().await;
        fixture.directory.script.lock().unwrap().max_values_in_range = max;
        let claims = claims_with_given_names(&fixture, values(500, 400)).await;
        assert_eq!(Value::Object(claims), json!({ "mail": "ada@example.org" }), "{max:?}");
        let claims = claims_with_given_names(&fixture, values(480, 400)).await;
        assert_eq!(claims["givenName"].as_array().unwrap().len(), 480, "{max:?}");
    }
}

/// The attack: a directory that announces further values for ever.
#[tokio::test]
async fn a_directory_that_sends_ranges_without_an_end_is_asked_a_bounded_number_of_times() {
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().max_values_in_range = Some(1);
    let claims = claims_with_given_names(&fixture, values(200, 10)).await;
    assert_eq!(Value::Object(claims), json!({ "mail": "ada@example.org" }));
    assert!(fixture.directory.take_requests().len() <= 70);
}
