const HEAD: &str = include_str!("page_head.html");
const PLACE: &str = "{{HEAD}}";

/// Replaces `{{HEAD}}` in an HTML template with the shared icon, colours and styles.
pub fn with_head(template: &str) -> String {
    template.replacen(PLACE, HEAD.trim_end(), 1)
}
