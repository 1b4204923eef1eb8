//! The provider list of the choice page.

use super::*;

#[test]
fn the_first_form_is_the_first_available_provider_s() {
    let html = in_french(|chrome| gallery::choice_page(20).render(chrome));
    let first = html.split("<form").nth(1).unwrap();
    assert!(first.starts_with(" method=\"post\"") && first.contains("/provider\""), "{first}");
    assert!(
        first.contains("name=\"provider\" value=\"idp-0\"")
            && first.contains("name=\"csrf\" value=\"ccc"),
        "{first}"
    );
    let last = html.split("</main>").next().unwrap().split("<form").last().unwrap();
    assert!(last.contains("/cancel\"") && last.contains("name=\"csrf\" value=\"ddd"), "{last}");
}

#[test]
fn search_forgives_case_and_accents_and_appears_from_eight_up() {
    let found = |query: &str| {
        let arrangement =
            ProviderFixture::with_available(20).list(None, &gallery::search_query(query));
        let page = ChoicePage { list: arrangement, ..gallery::choice_page(20) };
        in_french(|chrome| page.render(chrome)).matches("name=\"provider\"").count()
    };
    assert_eq!(
        [found("impots"), found("  IMPÔTS "), found("de l"), found("zzz"), found(" ")],
        [1, 1, 3, 0, 20]
    );
    assert_eq!(
        [found("inpots"), found("bretange"), found("lyon"), found("lyom")],
        [1, 1, 2, 2],
        "a wrong letter is forgiven"
    );
    let has_search = |count| {
        in_french(|chrome| gallery::choice_page(count).render(chrome)).contains("type=\"search\"")
    };
    assert!(!has_search(7) && has_search(8));
}

#[test]
fn each_of_three_hundred_can_be_reached_and_is_listed_once() {
    let offered = |page: &ProviderList| -> Vec<String> {
        let grouped = page.groups.iter().flat_map(|group| &group.providers);
        page.last_used.iter().chain(grouped).map(|provider| provider.id.clone()).collect()
    };
    let list = ProviderFixture::with_available(300);
    for last_used in [None, Some("idp-299"), Some("idp-0"), Some("unknown")] {
        let page_at = |page| list.list(last_used, &ListQuery { page, ..ListQuery::default() });
        let mut all: Vec<String> = (1..=page_at(0).list_page.unwrap().pages)
            .flat_map(|page| offered(&page_at(page)))
            .collect();
        assert_eq!(
            all.first().map(String::as_str),
            Some(if last_used == Some("idp-299") { "idp-299" } else { "idp-0" })
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 300);
        assert_eq!(offered(&page_at(99)), offered(&page_at(13)), "beyond the end is the end");
    }
    let many = ProviderFixture::with_available(300).in_categories();
    let overview = many.list(None, &ListQuery::default());
    assert!(overview.is_overview && offered(&overview).len() <= 26);
    let more: Vec<_> = overview.groups.iter().map(|group| group.more.clone().unwrap()).collect();
    assert_eq!(more.iter().map(|(_, count)| count).sum::<usize>(), 300);
    let remembering = many.list(Some("idp-7"), &ListQuery::default());
    assert!(
        remembering.groups.iter().zip(&more).all(|(group, more)| group.more.as_ref() == Some(more)),
        "its category still counts it"
    );
    let mut all = Vec::new();
    for (category, count) in more {
        for page in 1..=count.div_ceil(24) {
            all.extend(offered(&many.list(
                Some("idp-0"),
                &ListQuery { category: Some(category.clone()), page, ..ListQuery::default() },
            )));
        }
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 300, "by the categories' pages too");
}

#[test]
fn each_of_three_hundred_is_under_one_letter() {
    let list = ProviderFixture::with_available(300);
    let at = |letter, page| {
        list.list(None, &ListQuery { letter: Some(letter), page, ..ListQuery::default() })
    };
    let letters = list.list(None, &ListQuery::default()).letters;
    assert_eq!(letters.iter().collect::<String>(), "ABCDEHILMORUV");
    let mut all = Vec::new();
    for letter in letters {
        for page in 1..=at(letter, 1).list_page.map_or(1, |position| position.pages) {
            let groups = at(letter, page).groups;
            let shown = groups.iter().flat_map(|group| &group.providers);
            all.extend(shown.map(|provider| provider.id.clone()));
        }
    }
    assert_eq!(all.len(), 300);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 300);
    let page = ChoicePage { list: at('C', 2), ..gallery::choice_page(0) };
    let html = in_french(|chrome| page.render(chrome));
    assert!(html.contains("letter=C&#38;page=1") || html.contains("letter=C&amp;page=1"), "{html}");
    assert!(html.contains("aria-current=\"true\">C<"), "{html}");
    assert!(
        ProviderFixture::with_available(24).list(None, &ListQuery::default()).letters.is_empty()
    );
}

#[test]
fn invalid_query_values_are_ignored() {
    let providers = ProviderFixture::with_available(12).in_categories();
    let plain = providers.list(None, &ListQuery::default());
    for query in [
        ListQuery { category: Some("<script>".into()), ..ListQuery::default() },
        ListQuery { page: usize::MAX, ..ListQuery::default() },
        ListQuery { letter: Some('\u{0}'), ..ListQuery::default() },
        gallery::search_query(" ’ "),
    ] {
        let page = providers.list(None, &query);
        assert_eq!(
            (&page.groups, &page.query, &page.category),
            (&plain.groups, &None, &None),
            "{query:?}"
        );
    }
}

#[test]
fn unavailable_ones_come_last_with_their_reasons_and_their_number_is_limited() {
    let providers = (0..40).fold(ProviderFixture::with_available(1), |providers, n| {
        providers
            .with_unavailable(&format!("Fermé {n}"), UnavailableReason::ExcludedByServiceProvider)
    });
    let page = providers
        .with_unavailable("En panne", UnavailableReason::Down)
        .list(None, &ListQuery::default());
    assert_eq!((page.unavailable.len(), page.more_unavailable), (6, 35));
    assert_eq!(page.unavailable[0].name.as_str(), "En panne", "a temporary reason comes first");
    // An unavailable one is not shown as the last used.
    let unavailable = ProviderFixture::with_available(1)
        .with_unavailable("Fermé", UnavailableReason::ConnectorDisabled);
    assert_eq!(unavailable.list(Some("not-1"), &ListQuery::default()).last_used, None);
}
