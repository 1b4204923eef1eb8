//! Date patterns of identity providers.

use crate::identity::rules::is_birthdate;

/// A date pattern, for example `DD/MM/YYYY`, `D.M.YYYY`, `YYYYMMDD`, `MM/YYYY`, `YYYY`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatePattern(Vec<Token>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token {
    Year,
    Month(Digits),
    Day(Digits),
    Literal(char),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Digits {
    Two,
    OneOrTwo,
}

/// Why a text is not a pattern.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatePatternError {
    #[error("has a letter or digit beside YYYY, MM, M, DD and D")]
    Letter,
    #[error("has a year of other than four digits, which leaves the century open")]
    Year,
    #[error("has no year, a repeated part, or a day without a month")]
    Parts,
    #[error("has M or D directly before other digits, so that its end is ambiguous")]
    Ambiguous,
    #[error("is longer than 32 characters")]
    TooLong,
}

impl DatePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// The first rule that the text breaks.
    #[expect(clippy::disallowed_methods, reason = "a letter of any script is refused")]
    pub fn parse(written: &str) -> Result<Self, DatePatternError> {
        if written.chars().count() > 32 {
            return Err(DatePatternError::TooLong);
        }
        let mut tokens = Vec::new();
        let mut rest = written;
        while let Some(c) = rest.chars().next() {
            let run = rest.len() - rest.trim_start_matches(c).len();
            let (token, length) = match (c, run) {
                ('Y', 4) => (Token::Year, run),
                ('Y', _) => return Err(DatePatternError::Year),
                ('M', 2) => (Token::Month(Digits::Two), run),
                ('M', 1) => (Token::Month(Digits::OneOrTwo), run),
                ('D', 2) => (Token::Day(Digits::Two), run),
                ('D', 1) => (Token::Day(Digits::OneOrTwo), run),
                _ if c.is_alphanumeric() => return Err(DatePatternError::Letter),
                _ => (Token::Literal(c), c.len_utf8()),
            };
            tokens.push(token);
            rest = rest.get(length..).unwrap_or_default();
        }
        let count = |kind: fn(&Token) -> bool| tokens.iter().filter(|token| kind(token)).count();
        let years = count(|token| matches!(token, Token::Year));
        let (months, days) = (
            count(|token| matches!(token, Token::Month(_))),
            count(|token| matches!(token, Token::Day(_))),
        );
        if years != 1 || months > 1 || days > months {
            return Err(DatePatternError::Parts);
        }
        let is_variable_length = |token: &Token| {
            matches!(token, Token::Month(Digits::OneOrTwo) | Token::Day(Digits::OneOrTwo))
        };
        if tokens
            .iter()
            .zip(tokens.iter().skip(1))
            .any(|(token, next)| is_variable_length(token) && !matches!(next, Token::Literal(_)))
        {
            return Err(DatePatternError::Ambiguous);
        }
        Ok(Self(tokens))
    }

    /// Parses a date; returns it as `YYYY-MM-DD`. A part that the pattern lacks, or that is zero in
    /// the text, is unknown, as in `YYYY-MM-00`. `None` if the text does not match the pattern, or
    /// is not a calendar day.
    pub fn parse_date(&self, text: &str) -> Option<String> {
        let (mut year, mut month, mut day) = (0, 0, 0);
        let mut rest = text;
        for token in &self.0 {
            match token {
                Token::Year => year = take_number(&mut rest, 4)?,
                Token::Month(digits) => month = digits.read(&mut rest)?,
                Token::Day(digits) => day = digits.read(&mut rest)?,
                Token::Literal(c) => rest = rest.strip_prefix(*c)?,
            }
        }
        let date = format!("{year:04}-{month:02}-{day:02}");
        (rest.is_empty() && is_birthdate(&date)).then_some(date)
    }
}

impl Digits {
    fn read(self, rest: &mut &str) -> Option<u16> {
        let one = || rest.bytes().take_while(u8::is_ascii_digit).count() < 2;
        let digits = match self {
            Self::OneOrTwo if one() => 1,
            Self::OneOrTwo | Self::Two => 2,
        };
        take_number(rest, digits)
    }
}

/// Takes exactly this many digits from the front.
fn take_number(rest: &mut &str, digits: usize) -> Option<u16> {
    let (taken, left) = rest.split_at_checked(digits)?;
    if !taken.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    *rest = left;
    taken.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_table() {
        for (pattern, text, date) in [
            ("DD/MM/YYYY", "24/08/1962", Some("1962-08-24")),
            ("DD/MM/YYYY", "00/08/1962", Some("1962-08-00")),
            ("DD/MM/YYYY", "00/00/1962", Some("1962-00-00")),
            ("DD/MM/YYYY", "08/24/1962", None),
            ("DD/MM/YYYY", "29/02/1900", None),
            ("DD/MM/YYYY", "29/02/2000", Some("2000-02-29")),
            ("DD/MM/YYYY", "05/00/1962", None),
            ("DD/MM/YYYY", "4/8/1962", None),
            ("DD/MM/YYYY", "24-08-1962", None),
            ("DD/MM/YYYY", "24/08/62", None),
            ("DD/MM/YYYY", "24/08/1962 ", None),
            ("DD/MM/YYYY", "24/08/19620", None),
            ("DD/MM/YYYY", "24/08/0000", None),
            ("DD/MM/YYYY", "+4/08/1962", None),
            ("DD/MM/YYYY", "٢٤/08/1962", None),
            ("DD/MM/YYYY", "", None),
            ("MM/DD/YYYY", "08/24/1962", Some("1962-08-24")),
            ("D.M.YYYY", "4.8.1962", Some("1962-08-04")),
            ("D.M.YYYY", "24.12.1962", Some("1962-12-24")),
            ("D.M.YYYY", "124.12.1962", None),
            ("D. M. YYYY", "4. 8. 1962", Some("1962-08-04")),
            ("YYYYMMDD", "19620824", Some("1962-08-24")),
            ("YYYYMMDD", "1962082", None),
            ("YYYY-MM-DD", "1962-08-24", Some("1962-08-24")),
            ("YYYY-MM-DD", "1962-08-24T00:00:00Z", None),
            ("YYYY年M月D日", "1962年8月24日", None),
            ("MM/YYYY", "08/1962", Some("1962-08-00")),
            ("YYYY", "1962", Some("1962-00-00")),
        ] {
            let read =
                DatePattern::parse(pattern).ok().and_then(|pattern| pattern.parse_date(text));
            assert_eq!(read.as_deref(), date, "{pattern} {text:?}");
        }
    }

    #[test]
    fn an_invalid_pattern_is_rejected_with_the_reason() {
        for (pattern, error) in [
            ("DD/MM/YY", DatePatternError::Year),
            ("DD/MM/YYYYY", DatePatternError::Year),
            ("DD/MMM/YYYY", DatePatternError::Letter),
            ("%d/%m/%Y", DatePatternError::Letter),
            ("dd/mm/yyyy", DatePatternError::Letter),
            ("YYYY-MM-DDTHH:mm", DatePatternError::Letter),
            ("", DatePatternError::Parts),
            ("DD/MM", DatePatternError::Parts),
            ("DD/YYYY", DatePatternError::Parts),
            ("MM/MM/YYYY", DatePatternError::Parts),
            ("DMYYYY", DatePatternError::Ambiguous),
            ("YYYY-----------------------------", DatePatternError::TooLong),
        ] {
            assert_eq!(DatePattern::parse(pattern), Err(error), "{pattern}");
        }
    }
}
