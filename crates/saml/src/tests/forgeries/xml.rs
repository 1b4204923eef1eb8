//! XML that two readers read differently, or that costs more than its size.

use super::*;
use crate::xml::XmlError as X;

pub(super) fn forgeries() -> Vec<Forgery> {
    let good = response(&sign(ASSERTION));
    let change = |from: &str, to: &str| edit(&good, &[(from, to)]);
    let in_name_id = |text: &str| change(">angela-7<", &format!(">{text}<"));
    let root =
        |attributes: &str| change("<samlp:Response ", &format!("<samlp:Response {attributes} "));
    let deep = format!("{}{}", "<samlp:Extensions>".repeat(40), "</samlp:Extensions>".repeat(40));
    let attributes: String = (0..40).map(|n| format!("a{n}=\"\" ")).collect();
    let namespaces: String = (0..31).map(|n| format!("xmlns:n{n}=\"urn:{n}\" ")).collect();
    let namespaces = format!(
        "<samlp:Extensions {namespaces}><x {}/></samlp:Extensions>",
        namespaces.replace("xmlns:n", "xmlns:m")
    );
    let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;&a;\">]>";
    let many = "<samlp:Extensions/>".repeat(10_001);
    vec![
        Forgery::new("a billion laughs", format!("{laughs}{}", in_name_id("&b;")), X::DocumentType),
        Forgery::new(
            "an external entity",
            format!(
                "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>{}",
                in_name_id("&a;")
            ),
            X::DocumentType,
        ),
        Forgery::new(
            "an external document type",
            format!("<!DOCTYPE x SYSTEM \"https://evil.example/x.dtd\">{good}"),
            X::DocumentType,
        ),
        Forgery::new(
            "a document type after the response",
            format!("{good}<!DOCTYPE x>"),
            X::DocumentType,
        ),
        Forgery::new(
            "a default attribute ID",
            format!("<!DOCTYPE x [<!ATTLIST saml:Assertion ID CDATA \"_a1\">]>{good}"),
            X::DocumentType,
        ),
        Forgery::new("an undefined entity", in_name_id("angela&x;"), X::NotWellFormed),
        Forgery::new("an entity of HTML", in_name_id("angela&nbsp;"), X::NotWellFormed),
        Forgery::new(
            "a comment that cuts the NameID",
            in_name_id("angela<!-- -->-7"),
            X::CommentInText,
        ),
        Forgery::new("a comment after the NameID", in_name_id("angela-7<!---->"), X::CommentInText),
        Forgery::new(
            "a comment before the NameID",
            in_name_id("<!--x-->angela-7"),
            X::CommentInText,
        ),
        Forgery::new(
            "a processing instruction that cuts the NameID",
            in_name_id("angela<?x?>-7"),
            X::ProcessingInstruction,
        ),
        Forgery::new("a style sheet", format!("<?xml-stylesheet href=\"x\"?>{good}"), X::Encoding),
        Forgery::new(
            "a processing instruction at the end",
            format!("{good}<?x?>"),
            X::ProcessingInstruction,
        ),
        Forgery::new("CDATA in the NameID", in_name_id("<![CDATA[angela-7]]>"), X::Cdata),
        Forgery::new(
            "CDATA that hides markup",
            in_name_id("angela<![CDATA[</saml:NameID>]]>-7"),
            X::Cdata,
        ),
        Forgery::new("xml:base", root("xml:base=\"https://evil.example/\""), X::XmlAttribute),
        Forgery::new("xml:id with the assertion's ID", root("xml:id=\"_x\""), X::XmlAttribute),
        Forgery::new("xml:space", root("xml:space=\"preserve\""), X::XmlAttribute),
        Forgery::new(
            "XInclude",
            change(
                "<samlp:Status>",
                "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"file:///etc/passwd\"/><samlp:Status>",
            ),
            X::XInclude,
        ),
        Forgery::new(
            "XInclude of 2003 in the NameID",
            in_name_id("<xi:include xmlns:xi=\"http://www.w3.org/2003/XInclude\" href=\"x\"/>"),
            X::XInclude,
        ),
        Forgery::new("the ID twice", root("Id=\"_a1\""), X::DuplicateId),
        Forgery::new(
            "the ID of the assertion on an attribute's value",
            change("<saml:AttributeValue>baker", "<saml:AttributeValue id=\"_a1\">baker"),
            X::DuplicateId,
        ),
        Forgery::new(
            "an attribute twice",
            change("Name=\"role\"", "Name=\"role\" Name=\"admin\""),
            X::NotWellFormed,
        ),
        Forgery::new(
            "an attribute twice by two prefixes",
            root("xmlns:a=\"urn:x\" xmlns:b=\"urn:x\" a:c=\"\" b:c=\"\""),
            X::NotWellFormed,
        ),
        Forgery::new(
            "a namespace twice",
            change(
                "<saml:Assertion xmlns:saml=",
                "<saml:Assertion xmlns:saml=\"urn:x\" xmlns:saml=",
            ),
            X::NamespaceDeclaration,
        ),
        Forgery::new(
            "the default namespace twice",
            root("xmlns=\"urn:x\" xmlns=\"urn:y\""),
            X::NamespaceDeclaration,
        ),
        Forgery::new(
            "a prefixed xmlns",
            root("xmlns:p=\"urn:p\" p:xmlns=\"urn:x\""),
            X::NamespaceDeclaration,
        ),
        Forgery::new("a relative namespace", root("xmlns:p=\"../x\""), X::NamespaceDeclaration),
        Forgery::new(
            "an empty namespace of a prefix",
            root("xmlns:p=\"\""),
            X::NamespaceDeclaration,
        ),
        Forgery::new(
            "a namespace with references",
            root("xmlns:p=\"urn:&#120;\""),
            X::NamespaceDeclaration,
        ),
        Forgery::new(
            "another namespace for xml",
            root("xmlns:xml=\"urn:x\""),
            X::NamespaceDeclaration,
        ),
        Forgery::new(
            "a prefix with two meanings",
            change("<saml:Subject>", "<saml:Subject xmlns:saml=\"urn:x\">"),
            X::PrefixRebound,
        ),
        Forgery::new(
            "the prefix of the protocol with another meaning",
            change("<samlp:Status>", "<x xmlns:samlp=\"urn:x\"/><samlp:Status>"),
            X::PrefixRebound,
        ),
        Forgery::new(
            "an unbound prefix",
            change("<samlp:Status>", "<p:x/><samlp:Status>"),
            X::NotWellFormed,
        ),
        Forgery::new("two roots", format!("{good}{good}"), X::NotWellFormed),
        Forgery::new(
            "no end",
            good.strip_suffix("</samlp:Response>").unwrap().into(),
            X::NotWellFormed,
        ),
        Forgery::new("no document", String::new(), X::NotWellFormed),
        Forgery::new("a NUL", in_name_id("angela\0"), X::NotWellFormed),
        Forgery::new("a reference to a NUL", in_name_id("angela&#0;"), X::NotWellFormed),
        Forgery::new(
            "UTF-16 declared",
            format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{good}"),
            X::Encoding,
        ),
        Forgery::new(
            "XML 1.1, where other characters end lines",
            format!("<?xml version=\"1.1\"?>{good}"),
            X::Encoding,
        ),
        Forgery::new(
            "a second declaration",
            format!("<?xml version=\"1.0\"?><?xml version=\"1.0\"?>{good}"),
            X::ProcessingInstruction,
        ),
        Forgery::new(
            "deep nesting",
            change("<samlp:Status>", &format!("{deep}<samlp:Status>")),
            X::TooDeep,
        ),
        Forgery::new("nesting without end", "<a>".repeat(80_000), X::TooDeep),
        Forgery::new("many attributes", root(&attributes), X::TooManyAttributes),
        Forgery::new(
            "many namespaces",
            change("<samlp:Status>", &format!("{namespaces}<samlp:Status>")),
            X::TooManyAttributes,
        ),
        Forgery::new(
            "many elements",
            change("<samlp:Status>", &format!("{many}<samlp:Status>")),
            X::TooManyNodes,
        ),
        Forgery::new(
            "many comments",
            change("<samlp:Status>", &format!("{}<samlp:Status>", "<!---->".repeat(10_001))),
            X::TooManyNodes,
        ),
        Forgery::new("a huge response", in_name_id(&"x".repeat(300_000)), X::TooLarge),
        Forgery::new(
            "huge base64",
            change("<ds:SignatureValue>", &format!("<ds:SignatureValue>{}", "A".repeat(300_000))),
            X::TooLarge,
        ),
        Forgery::new(
            "a long name",
            change("<samlp:Status>", &format!("<{}/><samlp:Status>", "n".repeat(300))),
            X::NotWellFormed,
        ),
    ]
}
