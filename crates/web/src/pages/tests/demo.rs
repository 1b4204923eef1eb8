//! Tests of the demo's pages and of the sandbox form.

use super::*;
use passerelle_federation::assurance::amr::METHODS;

#[test]
fn every_authentication_method_has_a_name_beside_its_value() {
    for locale in Languages::built_in().locales() {
        let labels: BTreeSet<_> = METHODS.iter().map(|id| locale.method_label(id)).collect();
        assert_eq!(labels.len(), METHODS.len(), "{locale}: two methods have one name");
        assert!(!labels.contains(&None), "{locale}");
        assert_eq!(locale.method_label("passerelle"), None, "{locale}");
    }
    for RenderedPage { locale, name, html } in EVERY_PAGE.iter() {
        let label = |id| locale.method_label(id).unwrap();
        match name.as_str() {
            "sandbox" => {
                assert!(html.contains("value=\"otp\"") && html.contains("<code>otp</code>"));
            }
            "demo-signed-in" => {
                assert!(html.contains(&format!("{} <code>hwk</code>", label("hwk"))), "{html}");
                assert!(
                    html.contains(&format!(
                        "<li>{} <code>passerelle</code>",
                        locale.text("demo-method-mark")
                    )),
                    "{html}"
                );
            }
            _ => {}
        }
    }
}

#[test]
fn each_demo_page_says_what_to_look_at_next_and_names_a_page_that_exists() {
    let mut found = 0;
    for RenderedPage { locale, name, html } in EVERY_PAGE.iter() {
        if !name.starts_with("demo-") && name != "sandbox" {
            continue;
        }
        assert!(html.contains(&locale.text("demo-next")), "{locale} {name}");
        assert_eq!(html.contains("action=\"/console\""), name != "sandbox", "{locale} {name}");
        let (_, rest) = html.split_once("docs/").unwrap();
        let (page, _) = rest.split_once(".md").unwrap();
        let page = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
        assert!(Path::new(&page).is_file(), "{locale} {name}: {page}");
        found += 1;
    }
    assert_eq!(found, 8 * Languages::built_in().locales().count());
}

#[test]
fn a_page_after_a_sign_out_claims_no_more_than_the_service_knows() {
    for RenderedPage { locale, name, html } in EVERY_PAGE.iter() {
        let known = ["demo-out-hub", "demo-out-provider"].map(|key| locale.text(key));
        match name.as_str() {
            "demo-signed-out" => assert!(known.iter().all(|text| html.contains(text)), "{html}"),
            "demo-signed-out-unknown" => {
                assert!(!known.iter().any(|text| html.contains(text)), "{html}");
            }
            _ => continue,
        }
        assert!(html.contains(&locale.text("demo-out-service")), "{locale}");
    }
}
