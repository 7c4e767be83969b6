//! The head that pages of results share.

const HEAD: &str = include_str!("page_head.html");
const PLACE: &str = "{{HEAD}}";

/// A template with the shared head: its icon, colours and styles, in the place of `{{HEAD}}`.
pub fn with_head(template: &str) -> String {
    template.replacen(PLACE, HEAD.trim_end(), 1)
}
