//! Tests of the canonical form against the standard and by properties; the forged responses of
//! [`crate::tests`] test everything else.

use proptest::prelude::*;

use super::canonical::canonicalize;
use super::*;

fn canonical(xml: &str, prefixes: &[&str]) -> String {
    let text = XmlText::read(xml.as_bytes(), Limits::RESPONSE).unwrap();
    let document = text.parse().unwrap();
    canonicalize(document.root().node, prefixes, None)
}

/// Canonicalizes the first element inside the outermost.
fn canonical_child(xml: &str, prefixes: &[&str]) -> String {
    let text = XmlText::read(xml.as_bytes(), Limits::RESPONSE).unwrap();
    let document = text.parse().unwrap();
    canonicalize(document.root().children().next().unwrap().node, prefixes, None)
}

#[test]
fn the_form_is_that_of_canonical_xml() {
    for (xml, expected) in [
        ("<a/>", "<a></a>"),
        ("<a   b = 'c'  ></a >", "<a b=\"c\"></a>"),
        ("<!-- x --><a><!-- y --><b/></a><!-- z -->", "<a><b></b></a>"),
        ("<a>\r\nb\rc\r&amp;</a>", "<a>\nb\nc\n&amp;</a>"),
        ("<a>&#13;&#10;&#9;&quot;&apos;&gt;&lt;</a>", "<a>&#xD;\n\t\"'&gt;&lt;</a>"),
        (
            "<a b='&#13;&#10;&#9;\n\t&quot;&apos;>&lt;'/>",
            "<a b=\"&#xD;&#xA;&#x9;  &quot;'>&lt;\"></a>",
        ),
        (
            "<a d='' xmlns:z='urn:y' xmlns:y='urn:z' z:b='' y:a='' c=''/>",
            "<a xmlns:y=\"urn:z\" xmlns:z=\"urn:y\" c=\"\" d=\"\" z:b=\"\" y:a=\"\"></a>",
        ),
        (
            "<a xmlns='urn:x'><b xmlns=''><c xmlns=''/></b></a>",
            "<a xmlns=\"urn:x\"><b xmlns=\"\"><c></c></b></a>",
        ),
        ("<a xmlns=''/>", "<a></a>"),
        (
            "<p:a xmlns:p='urn:p'><p:b xmlns:p='urn:p' xmlns:q='urn:q'><q:c/><q:c/></p:b></p:a>",
            "<p:a xmlns:p=\"urn:p\"><p:b><q:c xmlns:q=\"urn:q\"></q:c><q:c xmlns:q=\"urn:q\"></q:c></p:b></p:a>",
        ),
        ("<a xml:lang='fr'/>", "<a xml:lang=\"fr\"></a>"),
        (
            "<a xml:lang='fr' xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
            "<a xml:lang=\"fr\"></a>",
        ),
        ("<a>\u{e9}\u{1f5dd}&#233;</a>", "<a>\u{e9}\u{1f5dd}\u{e9}</a>"),
    ] {
        assert_eq!(canonical(xml, &[]), expected, "{xml}");
    }
}

/// The second example of Exclusive XML Canonicalization 1.0 §2.2 and its counterpart with a list.
#[test]
fn namespaces_around_the_element_are_rendered_only_if_used_or_listed() {
    let xml = "<n0:local xmlns:n0='foo:bar' xmlns:n3='ftp://example.org'><n1:elem2 xmlns:n1='http://example.net' xml:lang='en'><n3:stuff/></n1:elem2></n0:local>";
    assert_eq!(
        canonical_child(xml, &[]),
        "<n1:elem2 xmlns:n1=\"http://example.net\" xml:lang=\"en\"><n3:stuff xmlns:n3=\"ftp://example.org\"></n3:stuff></n1:elem2>"
    );
    assert_eq!(
        canonical_child(xml, &["n3", "absent", "xml"]),
        "<n1:elem2 xmlns:n1=\"http://example.net\" xmlns:n3=\"ftp://example.org\" xml:lang=\"en\"><n3:stuff></n3:stuff></n1:elem2>"
    );
    let default = "<a xmlns='urn:x'><p:b xmlns:p='urn:p'><c/></p:b></a>";
    assert_eq!(
        canonical_child(default, &[""]),
        "<p:b xmlns=\"urn:x\" xmlns:p=\"urn:p\"><c></c></p:b>"
    );
}

/// Documents with the parts that a canonicalizer must order, escape or leave out.
fn element(depth: u32) -> BoxedStrategy<String> {
    let name = prop_oneof!["a", "b:c", "b:d", "e:f"];
    let text = prop_oneof![
        "[ -~&&[^<&]]{0,6}",
        Just("&lt;&#13;\n".to_owned()),
        Just("<!--x-->".to_owned()),
        Just("é\t".to_owned())
    ];
    let attributes = prop_oneof![
        Just(String::new()),
        Just(" xmlns='urn:x'".to_owned()),
        Just(" xmlns=''".to_owned()),
        Just(" z='&#10;\n' b:y='\"'".to_owned()),
        Just(" e:k=\"'\" xml:lang='fr'".to_owned()),
    ];
    let leaf = (name.clone(), attributes.clone(), text.clone())
        .prop_map(|(name, attributes, text)| format!("<{name}{attributes}>{text}</{name}>"));
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = prop::collection::vec(
        prop_oneof![element(depth - 1), text.prop_map(|t| t.to_string())],
        0..3,
    );
    (name, attributes, inner)
        .prop_map(|(name, attributes, inner)| {
            format!("<{name}{attributes}>{}</{name}>", inner.concat())
        })
        .boxed()
}

proptest! {
    #[test]
    fn what_is_canonical_stays_the_same(inner in element(3)) {
        let xml = format!("<b:r xmlns:b='urn:b' xmlns:e='urn:e'>{inner}</b:r>");
        if let Ok(text) = XmlText::read(xml.as_bytes(), Limits::RESPONSE)
            && let Ok(document) = text.parse()
        {
            let once = canonicalize(document.root().node, &[], None);
            prop_assert_eq!(canonical(&once, &[]), once);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _read = XmlText::read(&bytes, Limits::RESPONSE).and_then(|text| text.parse().map(drop));
    }

    #[test]
    fn any_markup_is_read_or_refused(text in "[<>/!?&;='\"a-c:x \\n\\[\\]-]{0,80}") {
        let _read = XmlText::read(text.as_bytes(), Limits::RESPONSE).and_then(|text| text.parse().map(drop));
    }
}
