//! Reads the forms, links and texts of the hub's own pages.

/// A form of a page: its hidden fields and its buttons.
#[derive(Clone, Debug)]
pub struct Form {
    pub action: String,
    pub fields: Vec<(String, String)>,
    pub buttons: Vec<(String, String)>,
}

impl Form {
    pub fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found
            .map(|(_, value)| value.as_str())
            .unwrap_or_else(|| panic!("the form {} has no field {name}", self.action))
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(field, _)| field != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a field, even if it is present.
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field, _)| field != name);
        self
    }
}

pub fn forms(html: &str) -> Vec<Form> {
    between(html, "<form ", "</form>").into_iter().map(form).collect()
}

/// Returns the text of each `<tag …>text</tag>`, without `<bdi>`.
pub fn texts(html: &str, tag: &str) -> Vec<String> {
    let open = format!("<{tag}");
    let plain = |text: &str| {
        let mut parts = text.trim_ascii().split("<bdi");
        let first = parts.next().unwrap_or_default().to_owned();
        let rest = parts.filter_map(|part| Some(part.split_once('>')?.1));
        unescape(&rest.fold(first, |text, part| text + part)).replace("</bdi>", "")
    };
    let inside = |part: &str| part.split_once('>').map(|(_, text)| plain(text)).unwrap_or_default();
    between(html, &open, &format!("</{tag}>")).into_iter().map(inside).collect()
}

/// Returns the target of each link.
pub fn links(html: &str) -> Vec<String> {
    between(html, "<a ", ">").into_iter().filter_map(|tag| attribute(tag, "href")).collect()
}

fn form(text: &str) -> Form {
    let (head, inside) = text.split_once('>').unwrap();
    let pair =
        |tag: &str| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default()));
    let inputs = between(inside, "<input ", ">");
    let hidden =
        inputs.into_iter().filter(|tag| attribute(tag, "type").as_deref() == Some("hidden"));
    Form {
        action: attribute(head, "action").unwrap_or_default(),
        fields: hidden.filter_map(pair).collect(),
        buttons: between(inside, "<button ", ">").into_iter().filter_map(pair).collect(),
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open)
        .skip(1)
        .filter_map(|part| part.split_once(close).map(|(inside, _)| inside))
        .collect()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = format!(" {tag}")
        .split_once(&format!(" {name}=\""))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    rest.split_once('"').map(|(value, _)| unescape(value))
}

/// Decodes the character references that templates write, which are all decimal.
fn unescape(text: &str) -> String {
    let mut parts = text.split("&#");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(';').unwrap();
        plain.push(char::from_u32(number.parse().unwrap()).unwrap());
        plain.push_str(rest);
    }
    plain
}
