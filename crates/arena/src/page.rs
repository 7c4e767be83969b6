const HEAD: &str = include_str!("page_head.html");
const PLACE: &str = "{{HEAD}}";

/// Replaces `{{HEAD}}` in a template with the shared head: icon, colours and styles.
pub fn with_head(template: &str) -> String {
    template.replacen(PLACE, HEAD.trim_end(), 1)
}
