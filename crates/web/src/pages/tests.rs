//! Tests of every page in every language.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use self::languages::keys;
use super::provider_list::{GroupTitle, ProviderGroup, ProviderListPage};
use super::*;
use crate::testing::page_checks::{
    RenderedPage, attribute_values, check_pages, chrome, render_in_every_language, sample_theme,
};
use crate::testing::page_gallery::{self as gallery, ProviderFixture};
use passerelle_connector::persona::SimulatedFailure;
use passerelle_federation::identity::Claim;
use passerelle_federation::notices::NoticeSeverity;
use passerelle_federation::session::gate::UnavailableReason;
use passerelle_localization::{Languages, OperatorText};
use passerelle_protocol::acr::Level;
use passerelle_protocol::catalogue::ErrorCode;

mod demo;
mod languages;
mod provider_list;

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pages");

/// The whole gallery in every language.
static EVERY_PAGE: LazyLock<Vec<RenderedPage>> = LazyLock::new(|| {
    render_in_every_language(&Languages::built_in(), &sample_theme(), gallery::all_pages)
});

fn in_french<T>(render: impl FnOnce(&PageChrome<'_>) -> T) -> T {
    let languages = Languages::built_in();
    render(&chrome(languages.default_locale(), &sample_theme(), &languages))
}

#[test]
fn no_page_shows_a_key_or_an_unfilled_value() {
    let keys: BTreeSet<String> = keys("fr").into_iter().filter(|key| key.contains('-')).collect();
    for RenderedPage { locale, name, html } in EVERY_PAGE.iter() {
        let body = html.split("</style>").nth(1).unwrap();
        let shown = body.split('>').filter_map(|part| part.split_once('<')).map(|(text, _)| text);
        for text in shown {
            assert!(!keys.contains(text), "{locale} {name}: {text}");
        }
        assert!(!body.contains("{$") && !body.contains("{ $"), "{locale} {name}");
    }
}

#[test]
fn every_page_is_complete_accessible_small_and_needs_no_more_than_its_policy_allows() {
    check_pages(&EVERY_PAGE);
}

#[test]
fn script_in_names_and_values_stays_inert() {
    const EVIL: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";
    let evil = || EVIL.to_owned();
    let evil_text = || OperatorText::from(EVIL);
    let pages = in_french(|chrome| {
        let provider = ProviderOption {
            id: evil(),
            name: evil_text(),
            logo: Some(evil()),
            failed_recently: true,
        };
        let unavailable = UnavailableProvider {
            name: evil_text(),
            reason: UnavailableReason::ConnectorBlocked,
            block_message: Some(evil_text()),
        };
        let group = ProviderGroup {
            title: GroupTitle::Category(evil_text()),
            providers: vec![provider.clone(); 9],
            more: Some((evil(), 99)),
        };
        let page = Some(ProviderListPage { page: 2, pages: 3, first: 25, last: 48 });
        let list = ProviderList {
            last_used: Some(provider),
            groups: vec![group],
            unavailable: vec![unavailable],
            total: 9,
            list_page: page,
            has_search: true,
            query: Some(evil()),
            category: Some(evil()),
            ..ProviderList::default()
        };
        let banner = Some(FailureBanner {
            provider: evil_text(),
            code: ErrorCode::IdpTimeout,
            message: Some(evil_text()),
            support_id: evil(),
        });
        let claims = Claim::all()
            .filter(|claim| consent::has_label(*claim))
            .map(|name| ConsentClaim {
                name: name.into(),
                value: Some(evil()),
                place: Some(evil()),
            })
            .chain([ConsentClaim {
                name: ClaimLabel::Declared(evil_text()),
                value: Some(evil()),
                place: None,
            }])
            .collect();
        let action = PageAction::BackToService(ServiceReturn::Post(PostForm {
            action: evil(),
            fields: vec![HiddenField::new(EVIL, EVIL)],
        }));
        let link = PageAction::ServiceHome { href: evil() };
        let notices = [DisplayedNotice {
            text: evil_text(),
            severity: NoticeSeverity::Warning,
            link: Some(evil()),
        }];
        let chrome = &PageChrome { notices: &notices, ..*chrome };
        vec![
            ChoicePage {
                interaction: evil(),
                choose_csrf: evil(),
                cancel_csrf: evil(),
                service: evil_text(),
                service_logo: Some(evil()),
                forget_csrf: Some(evil()),
                list,
                banner,
                email: Some(EmailSearch::Unknown { domain: evil() }),
                no_account: Some(NoAccountAdvice { text: evil_text(), link: Some(evil()) }),
                ..gallery::choice_page(0)
            }
            .render(chrome),
            ChoicePage {
                interaction: evil(),
                email: Some(EmailSearch::Question { csrf: evil(), is_malformed: true }),
                ..gallery::choice_page(0)
            }
            .render(chrome),
            ChoicePage {
                email: Some(EmailSearch::Found { domain: evil() }),
                ..gallery::choice_page(2)
            }
            .render(chrome),
            ChoicePage {
                list: ProviderFixture::with_available(9).list(None, &gallery::search_query(EVIL)),
                ..gallery::choice_page(9)
            }
            .render(chrome),
            ConsentPage {
                service: evil_text(),
                provider: evil_text(),
                csrf: evil(),
                not_me_csrf: evil(),
                person: Some(evil()),
                claims,
                ..gallery::consent_page(ConsentMode::Consent)
            }
            .render(chrome),
            ErrorPage {
                detail: Some(ErrorDetail { code: evil(), description: evil() }),
                service: Some(evil_text()),
                provider: Some(evil_text()),
                message: Some(evil_text()),
                support_id: evil(),
                actions: vec![action.clone(), link],
                ..gallery::error_page(ErrorCode::BadRequest)
            }
            .render(chrome),
            FormPostPage {
                action: evil(),
                fields: vec![HiddenField::new(EVIL, EVIL)],
                service: evil_text(),
            }
            .render(chrome),
            LoggedOutPage {
                service: Some(evil_text()),
                action: Some(action),
                ended_provider: Some(evil_text()),
                unreached_provider: Some(evil_text()),
                services: vec![(evil_text(), "https://sp.example/".into())],
            }
            .render(chrome),
            DemoSignedIn {
                introspection: Some(evil()),
                sign_in: DemoSignIn::at_level(Level::Eidas2),
                methods: vec![evil()],
                claims: vec![NamedValue { name: evil(), value: evil() }],
                id_token: TokenParts { jwe_header: Some(evil()), header: evil(), payload: evil() },
                userinfo: TokenParts { jwe_header: None, header: evil(), payload: evil() },
                token_response: evil(),
            }
            .render(chrome),
            DemoError::Returned { error: evil(), description: Some(evil()) }.render(chrome),
            DemoError::Refused { reason: evil() }.render(chrome),
        ]
    });
    for html in pages {
        assert!(
            html.contains("&#60;script&#62;") || html.contains("&lt;script&gt;"),
            "the value is missing"
        );
        assert!(
            !html.contains("<script>") && !html.contains("<img src=x") && !html.contains("\"'>"),
            "{html}"
        );
    }
}

#[test]
fn the_consent_form_s_first_button_says_yes() {
    for question in [ConsentMode::Information, ConsentMode::Consent] {
        let html = in_french(|chrome| gallery::consent_page(question).render(chrome));
        let form = html.split("<form").nth(1).unwrap();
        assert!(form.contains("/consent\"") && form.contains("name=\"csrf\""), "{form}");
        let answers: Vec<&str> = form
            .split("name=\"answer\" value=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert_eq!(answers, ["yes", "no"]);
    }
}

#[test]
fn deceased_and_refused_look_like_any_other_rejection() {
    let page = |code| in_french(|chrome| gallery::error_page(code).render(chrome));
    assert_eq!(page(ErrorCode::RegisterDeceased), page(ErrorCode::RegisterAnswer));
    assert_eq!(page(ErrorCode::RegisterRefused), page(ErrorCode::RegisterAnswer));
}

#[test]
fn an_error_begins_the_title_and_has_the_focus() {
    for RenderedPage { locale, name, html } in EVERY_PAGE.iter() {
        let Some((_, note)) = html.split_once(" tabindex=\"-1\" autofocus>") else { continue };
        let error = note.split("<strong>").nth(1).and_then(|rest| rest.split("</strong>").next());
        let error = error.unwrap().replace("<bdi>", "").replace("</bdi>", "");
        assert!(html.contains(&format!("<title>{error} – ")), "{locale} {name}: {error}");
        assert_eq!(html.matches(" autofocus").count(), 1, "{locale} {name}");
    }
    let page = in_french(|chrome| gallery::error_page(ErrorCode::Busy).render(chrome));
    let id = attribute_values(&page, "data-reference")[0];
    let shown = format!("<dd class=\"code\">{} {} {}</dd>", &id[..4], &id[4..8], &id[8..]);
    assert!(id.len() == 12 && page.matches(&shown).count() == 1, "{page}");
}

#[test]
fn names_by_language_reach_the_page() {
    let names = |fr: &str, en: &str| {
        BTreeMap::from([("fr".to_owned(), fr.to_owned()), ("en".to_owned(), en.to_owned())])
    };
    let theme = PageTheme {
        name: names("Mon Guichet", "My Desk"),
        logo: Some(LOGO_PATH),
        ..PageTheme::default()
    };
    let languages = Languages::built_in();
    let locale = &languages.negotiate(None, &["en".to_owned()], None);
    let html = gallery::choice_page(1).render(&chrome(locale, &theme, &languages));
    assert!(
        html.contains("<title>Sign in to “Mairie de Saint-Étienne” – My Desk</title>")
            && html.contains("src=\"/assets/logo\"")
    );
}

/// Writes `target/pages/{language}/{page}.html`, for visual inspection.
#[test]
fn the_gallery_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pages");
    for RenderedPage { locale, name, html } in EVERY_PAGE.iter() {
        let folder = folder.join(locale.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.html")), html).unwrap();
    }
    assert!(folder.join("fr/choice-3.html").exists());
}
